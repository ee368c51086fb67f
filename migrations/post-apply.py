"""After yoyo has applied migrations: load the code layer, in yoyo's own transaction."""

import sys
from pathlib import Path
from typing import Any

from yoyo import step

try:
    from memstore.schema import load_code
except ModuleNotFoundError:  # yoyo in a checkout where memstore is not installed
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    from memstore.schema import load_code


def load(connection: Any) -> None:
    """Loads the code, or tells what to do: yoyo runs no hook where nothing is left to apply."""
    try:
        load_code(connection)
    except Exception as error:
        error.add_note(
            "The migrations are applied, and the code is that of before. When the cause is gone, run"
            " psql -f sql/install.sql or memstore migrate: yoyo apply doesn't load it again."
        )
        raise


steps = [step(load)]
