"""Standard streams that the caller has closed, as by `>&-`."""

import os
import sys
from contextlib import suppress
from typing import NoReturn

missing: set[str] = set()
"""The names of those that were closed."""


def open_missing() -> None:
    """Opens them as the null device. Else the next file or socket would take the number of one of them."""
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            missing.add(name)
            null = os.open(os.devnull, os.O_RDWR)
            if null != number:
                os.dup2(null, number)
                os.close(null)
            setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115


def leave(code: int) -> NoReturn:
    """Ends the process without the interpreter's clean-up, which takes longer than a recall."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):  # which was reported, if anybody could be told
            stream.flush()
    os._exit(code)
