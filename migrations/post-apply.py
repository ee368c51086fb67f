"""After yoyo has applied migrations: load the code layer, in yoyo's own transaction."""

import sys
from pathlib import Path

from yoyo import step

try:
    from memstore.schema import load_code
except ModuleNotFoundError:  # yoyo in a checkout where memstore is not installed
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    from memstore.schema import load_code

steps = [step(load_code)]
