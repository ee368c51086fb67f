"""The command `memstore`: the store for a person at a terminal, and for scripts."""

import sys

MORE_PACKAGES = "the command needs more packages: pip install 'pg-memstore[cli]'"


def main() -> None:
    """Runs the command."""
    try:
        from memstore.cli.commands import app
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        sys.exit(f"memstore: {MORE_PACKAGES}")
    except KeyboardInterrupt:
        sys.exit(130)
    app(prog_name="memstore")
