"""What the tests of upgrades share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.upgrades.released import Release


@pytest.fixture(scope="session")
def code_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Release], Path]:
    """The folder with the code of an earlier commit."""
    place = tmp_path_factory.mktemp("code")
    unpacked: dict[Release, Path] = {}

    def unpack(release: Release) -> Path:
        if release not in unpacked:
            unpacked[release] = place / str(release)
            unpacked[release].mkdir()
            release.unpack(unpacked[release])
        return unpacked[release]

    return unpack
