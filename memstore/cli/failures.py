"""How the command's failures are told: one line for each thing that goes wrong, and an exit code.

Imported for every run, also one that only prints a help text, so psycopg is imported where it is needed.
"""

from __future__ import annotations

import logging
import os
import sys
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperGroup

from memstore.cli import MORE_PACKAGES
from memstore.cli.output import complain

if TYPE_CHECKING:
    import psycopg

    from memstore.errors import MemstoreError

REFUSED, USAGE, UNREACHABLE, INTERRUPTED, PIPE_CLOSED = 1, 2, 3, 130, 141

# Where there is more to say than the database's hint, in the words of the command.
_HINTS = {
    "argument_invalid": "See --help.",
    "challenge_not_found": "See memstore records, of the claim that it is about.",
    "id_ambiguous": "Give more of the id.",
    "memory_not_found": "See memstore list --all.",
    "quota_reached": "Of memories, correct or forget some, or raise the ceiling: "
    "memstore configure --account NAME maximum_live_memories=NUMBER; of challenges, wait for answers.",
    "record_target_not_found": "See memstore claims; who is no steward needs a claim's whole id.",
    "steward_required": "The database's owner marks stewards: memstore steward NAME.",
}


class UsageError(Exception):
    """The command line can't be followed; the message says why."""


class _Complaints(logging.Handler):
    """Prints what the library logs as the command prints its own complaints."""

    def emit(self, record: logging.LogRecord) -> None:
        complain(record.getMessage())


class Commands(TyperGroup):
    """The commands, with one line for each thing that goes wrong, and the exit code that tells which."""

    def main(self, *args: Any, **options: Any) -> Any:
        """Runs a command and ends the process."""
        options["standalone_mode"] = False
        logger, complaints = logging.getLogger("memstore"), _Complaints(logging.WARNING)
        logger.addHandler(complaints)
        try:
            code = super().main(*args, **options)
        except (KeyboardInterrupt, typer.Abort):
            code = INTERRUPTED
        except UsageError as error:
            complain(str(error))
            code = USAGE
        except OSError as error:
            complain(": ".join(str(part) for part in (error.filename, error.strerror) if part))
            code = REFUSED
        except Exception as error:
            code = _tell_any(error)
        finally:
            logger.removeHandler(complaints)
        sys.exit(code or 0)

    def invoke(self, ctx: Any) -> Any:
        """Runs a command whose reader may leave before the end."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except BrokenPipeError:
            # What is still buffered has nowhere to go.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(PIPE_CLOSED) from None


def _tell_any(error: Exception) -> int:
    # What typer says of a command line; it has no public class for that.
    if hasattr(error, "format_message"):
        if any(map(str.isspace, getattr(error, "option_name", ""))):  # a text that was taken for an option
            complain("There is no such option; a text that begins with - goes behind --.")
        else:
            complain(error.format_message())
        return USAGE
    try:
        import psycopg
    except ImportError:  # also where there is no libpq
        complain(MORE_PACKAGES)
        return REFUSED

    from memstore.embedded import EmbeddedServerError
    from memstore.errors import MemstoreError, translate

    if isinstance(error, psycopg.Error):
        return tell(translate(error))
    if isinstance(error, MemstoreError):
        return tell(error)
    if isinstance(error, EmbeddedServerError):
        complain(str(error))
        return UNREACHABLE
    raise error


def tell(error: MemstoreError | psycopg.Error, where: str = "") -> int:
    """Prints a refusal: a line for each broken rule, or one line with what to do about it.

    Args:
        error: The refusal.
        where: What each line begins with.

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
        if error.name == "argument_invalid" and error.field:
            where += f"{error.field}: "
        complain(f"{where}{error} {hint}" if hint else f"{where}{error}")
    else:
        complain(f"{where}{error}")
    return UNREACHABLE if isinstance(error, StoreUnavailable) else REFUSED
