"""Which embedder `memstore embed` uses, and how many memories it has to embed."""

import sys
from importlib import import_module
from typing import Any

import psycopg

from memstore.cli.errors import REFUSED, Exit, UsageError
from memstore.cli.output import complain
from memstore.embedders import Embedder, ready


def find_embedder(named: str | None) -> Embedder:
    """Finds the ready embedder, or one of the user's own.

    Args:
        named: The ready one's model, or MODULE:VARIABLE.

    Raises:
        UsageError: There is no such embedder.
    """
    if named and ":" in named:
        return _own(named)
    embedder = ready()
    if embedder is None:
        complain("the ready model needs more packages: pip install 'pg-memstore[embed]'")
        raise Exit(REFUSED)
    if named not in (None, embedder.model):
        raise UsageError(f"the ready model is {embedder.model}; one of your own is named MODULE:VARIABLE")
    return embedder


def _own(named: str) -> Embedder:
    module, _, variable = named.partition(":")
    sys.path.insert(0, "")  # the current directory, as for python -m
    try:
        found = getattr(import_module(module), variable)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise UsageError(f"{named}: {error}") from None
    if not isinstance(found, Embedder):
        raise UsageError(f"{named} is no memstore.Embedder")
    return found


def require_working(embedder: Embedder) -> None:
    """Tries an embedder on a text that isn't private, so that its exception can be printed.

    Raises:
        Exit: It fails.
    """
    try:
        embedder.vectors(["one text"])
    except Exception as error:
        problem = f"{embedder.model} fails: {type(error).__name__}: {error}"
    else:
        return
    complain(problem)
    raise Exit(REFUSED)


def count_unembedded(connection: psycopg.Connection[Any], model: str) -> int:
    """Counts the memories that `memstore.embedders.fill` would embed."""
    query = (
        "select count(*) from memstore.memories"
        " where superseded_at is null and not promoted and embedding_model is distinct from %s"
    )
    (count,) = connection.execute(query, [model]).fetchone() or (0,)
    return int(count)
