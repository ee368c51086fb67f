"""The command `memstore`: the store for a person at a terminal, and for scripts."""

import sys


def main() -> None:
    """Runs the command."""
    try:
        from memstore.cli.commands import app
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        from memstore.cli.output import MORE_PACKAGES, complain

        complain(MORE_PACKAGES)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
    app(prog_name="memstore")
