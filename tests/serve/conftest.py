"""One server for the tests of a worker: each makes accounts of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from memstore import schema
from tests.databases import empty_database
from tests.serve.sites import Site, serving
from tests.servers import private_server


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """On a PostgreSQL of its own, whose whole log is looked at."""
    log = tmp_path_factory.mktemp("serve") / "stderr"
    with ExitStack() as opened:
        server = opened.enter_context(private_server())
        conninfo = opened.enter_context(empty_database(server))
        schema.migrate(conninfo)
        made = opened.enter_context(serving(conninfo, log))
        yield made
        made.process.terminate()
        assert made.process.wait(20) in (0, -15)
        made.check_log(*filter(None, [server.log]))
