"""Digests alone reach PostgreSQL: where it logs all statements with parameters, its log has no secret."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from memstore import schema
from tests.databases import dump, empty_database
from tests.serve.sites import serving
from tests.servers import private_server
from tests.sql.support import call_one

pytestmark = pytest.mark.long


def test_no_secret_reaches_the_database(tmp_path: Path) -> None:
    logging = {"log_statement": "all", "log_min_duration_statement": "0", "log_parameter_max_length": "-1"}
    with private_server(None, **logging) as server, empty_database(server) as conninfo:
        schema.migrate(conninfo)
        with serving(conninfo, tmp_path / "log") as site:
            account = site.account()
            login = call_one(site.db, "create_login", actor=account)["token"]
            answer = site.post("/login", "", {"code": login})
            session = answer.headers["set-cookie"].partition("=")[2].partition(";")[0]
            fields = [("name", "laptop"), ("lifetime", "1"), ("scopes", "recall")]
            page = site.post("/access", session, fields).text
            (token,) = re.findall(r"mst_[0-9a-f]{64}", page)
            assert site.rpc("tools/list", token=token).status == 200
            secrets = [login, session, token]
            assert len(set(secrets)) == 3
            assert not [secret for secret in secrets if secret in dump(conninfo)]
        assert server.log
        logged = server.log.read_text(errors="replace")
        assert "authorize_call" in logged
        assert not re.findall(r"mst_[0-9a-f]{8}", logged + (tmp_path / "log").read_text())
