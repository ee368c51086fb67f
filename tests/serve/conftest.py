"""One server for the tests of a worker: each makes accounts of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.databases import empty_database
from tests.serve.sites import Site, serving
from tests.servers import Server
from tests.sql.support import SECRET


@pytest.fixture(scope="session")
def site(server: Server, installed: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    log = tmp_path_factory.mktemp("serve") / "stderr"
    with empty_database(server, like=installed) as conninfo, serving(conninfo, log) as made:
        yield made
        made.process.terminate()
        assert made.process.wait(20) in (0, -15)
        # No token, text or URL is in any log: neither in the server's, nor in PostgreSQL's.
        for written in filter(None, (log, server.log)):
            text = written.read_text(errors="replace")
            assert not [secret for secret in made.secrets if secret in text]
            if written is log:  # PostgreSQL's is of other tests, too
                assert SECRET not in text
                assert "/login" not in text
