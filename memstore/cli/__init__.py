"""The command `memstore`: the store for a person at a terminal, and for scripts."""

import sys


def main() -> None:
    """Runs the command."""
    try:
        from memstore.cli.streams import open_missing

        open_missing()
        code = _run()
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)


def _run() -> int:
    from importlib.util import find_spec

    try:
        complete = all(map(find_spec, ("typer", "rich")))
    except ValueError:
        complete = False
    if not complete:
        from memstore.cli.output import MORE_PACKAGES, complain

        complain(MORE_PACKAGES)
        return 1
    from memstore.cli.plain import run
    from memstore.cli.streams import leave

    code = run(sys.argv[1:])
    if code is not None:
        leave(code)
    from memstore.cli.interface import app

    app(prog_name="memstore")
    return 0
