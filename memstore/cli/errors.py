"""How the command reports errors: a line on stderr for each, and an exit code.

psycopg is imported in functions alone, since help texts and completion import this module too.
"""

from __future__ import annotations

import logging
import os
import sys
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperGroup

from memstore.cli.output import MORE_PACKAGES, complain

if TYPE_CHECKING:
    import psycopg

    from memstore.errors import MemstoreError

REFUSED, USAGE, UNREACHABLE, INTERRUPTED, PIPE_CLOSED = 1, 2, 3, 130, 141

# Hints in terms of the command, where the database's are in terms of its functions.
_HINTS = {
    "argument_invalid": "See --help.",
    "challenge_not_found": "See memstore records, of the claim that it is about.",
    "id_ambiguous": "Give more of the id.",
    "memory_not_found": "See memstore list --all.",
    "quota_reached": "Of memories, correct or forget some, or raise the ceiling: "
    "memstore configure --account NAME maximum_live_memories=NUMBER; of challenges, wait for answers.",
    "record_target_not_found": "See memstore claims; an account that is no steward needs the full id.",
    "steward_required": "The database's owner marks stewards: memstore steward NAME.",
}


class UsageError(Exception):
    """The command line is wrong; the message says how."""


class _Complaints(logging.Handler):
    """Prints the library's warnings as the command's own."""

    def emit(self, record: logging.LogRecord) -> None:
        complain(record.getMessage())


class ErrorReportingGroup(TyperGroup):
    """A group of commands that reports each error in a line, and exits with a code for its kind."""

    def main(self, *args: Any, **options: Any) -> Any:
        """Runs a command and exits."""
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
            code = _report_any(error)
        finally:
            logger.removeHandler(complaints)
        sys.exit(code or 0)

    def invoke(self, ctx: Any) -> Any:
        """Runs a command whose output may be a pipe that is closed early, as by `head`."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except BrokenPipeError:
            # Else Python would fail again when it flushes at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(PIPE_CLOSED) from None


def _report_any(error: Exception) -> int:
    # An error of typer's in the command line, for which it has no public class.
    if hasattr(error, "format_message"):
        if any(map(str.isspace, getattr(error, "option_name", ""))):  # it would quote a text
            complain("There is no such option; put -- before a text that begins with -.")
        else:
            complain(error.format_message())
        return USAGE
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
        if error.name == "argument_invalid" and error.field:
            where += f"{error.field}: "
        complain(f"{where}{error} {hint}" if hint else f"{where}{error}")
    else:
        complain(f"{where}{error}")
    return UNREACHABLE if isinstance(error, StoreUnavailable) else REFUSED
