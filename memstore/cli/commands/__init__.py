"""The commands of `memstore`, one function each."""

from memstore.cli.application import app

# isort: off
from memstore.cli.commands import memories  # in the order of the help text
from memstore.cli.commands import transfer
from memstore.cli.commands import mcp
from memstore.cli.commands import claims
from memstore.cli.commands import operator

__all__ = ["app", "claims", "mcp", "memories", "operator", "transfer"]
