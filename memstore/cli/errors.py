"""How the command reports errors: a line on stderr for each, and an exit code.

psycopg is imported in functions alone, since help texts and completion import this module too.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from memstore.cli.output import MORE_PACKAGES, complain

if TYPE_CHECKING:
    import psycopg

    from memstore.errors import MemstoreError

REFUSED, USAGE, UNREACHABLE, INTERRUPTED, PIPE_CLOSED = 1, 2, 3, 130, 141

# Hints in terms of the command, where the database's are in terms of its functions.
_HINTS = {
    "argument_invalid": None,
    "challenge_not_found": "See memstore records, of the claim that it is about.",
    "id_ambiguous": "Give more of the id.",
    "memory_not_found": "See memstore list --all.",
    "quota_reached": "Of memories, correct or forget some, or raise the ceiling: "
    "memstore configure --account NAME maximum_live_memories=NUMBER; of items, delete some, or set"
    " maximum_items; of challenges, wait for answers.",
    "record_target_not_found": "See memstore claims; an account that is no steward needs the full id.",
    "steward_required": "The database's owner marks stewards: memstore steward NAME.",
}


class UsageError(Exception):
    """The command line is wrong; the message says how."""


class Exit(Exception):
    """The command ends with this exit code; what there was to say is said."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class _Complaints(logging.Handler):
    """Prints the library's warnings as the command's own."""

    def emit(self, record: logging.LogRecord) -> None:
        complain(record.getMessage())


def reported(work: Callable[[], object]) -> int:
    """Does the work of a command, and reports what goes wrong, also with its output.

    Returns:
        The exit code.
    """
    logger, complaints = logging.getLogger("memstore"), _Complaints(logging.WARNING)
    logger.addHandler(complaints)
    try:
        code = work()
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except Exit as end:
        return end.code
    except KeyboardInterrupt:
        return INTERRUPTED
    except UsageError as error:
        complain(str(error))
        return USAGE
    except BrokenPipeError:
        return output_closed()
    except OSError as error:
        complain(": ".join(str(part) for part in (error.filename, error.strerror) if part))
        return REFUSED
    except Exception as error:
        return _report_any(error)
    finally:
        logger.removeHandler(complaints)


def output_closed() -> int:
    """Leaves an output that was closed early, as by `head`.

    Returns:
        The exit code.
    """
    # Else Python would fail again when it flushes at exit.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return PIPE_CLOSED


def _report_any(error: Exception) -> int:
    try:
        import psycopg
    except ImportError:  # of psycopg itself, or of libpq
        complain(MORE_PACKAGES)
        return REFUSED

    from memstore.embedded import EmbeddedServerError
    from memstore.errors import MemstoreError, translate

    if isinstance(error, psycopg.Error):
        return report(translate(error))
    if isinstance(error, MemstoreError):
        return report(error)
    if isinstance(error, EmbeddedServerError):
        complain(str(error))
        return UNREACHABLE
    raise error


def with_hint(said: str, hint: str | None) -> str:
    """Puts a hint behind a sentence, which PostgreSQL and typer end without a stop."""
    if not hint:
        return said
    return f"{said} {hint}" if said.endswith((".", "?", "!")) else f"{said}. {hint}"


def report(error: MemstoreError | psycopg.Error, where: str = "") -> int:
    """Prints a refusal: a line for each broken rule, or one line with a hint.

    Args:
        error: The refusal.
        where: The beginning of each line.

    Returns:
        The exit code.
    """
    from memstore.errors import MemstoreError, StoreUnavailable

    broken = error.violations if isinstance(error, MemstoreError) else ()
    if len(broken) > 1:
        for violation in broken:
            complain(f"{where}{violation.message}")
    elif isinstance(error, MemstoreError) and not broken:
        hint = _HINTS.get(error.name, error.hint)
        complain(f"{where}{with_hint(str(error), hint)}")
    else:
        complain(f"{where}{error}")
    return UNREACHABLE if isinstance(error, StoreUnavailable) else REFUSED
