"""Each defence of `memstore serve` taken out, in a copy of it or in the database: its threat test fails."""

from __future__ import annotations

import inspect
import os
import shutil
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from selenium.common.exceptions import WebDriverException

import memstore
from tests.databases import LONG
from tests.serve import test_agents, test_browser
from tests.serve import test_threats as threats
from tests.serve.sites import Site, serving
from tests.servers import Server
from tests.sql.support import SECRET, rows

pytestmark = pytest.mark.long

PACKAGE = Path(memstore.__file__).parent
Edit = tuple[
    str, str, str
]  # a file of the package or a function of the database; what goes; what takes its place


def case(test: Callable[..., None], *edits: Edit, named: str = "", **given: object) -> Any:
    """A defence and its test, with the test's own parameters."""
    return pytest.param(test, edits, given, id=f"{test.__name__}{f' {named}' if named else ''}")


def header(name: str, worth: str) -> Edit:
    return "serve/guards.py", f'    "{name}": "{worth}",\n', ""


def policy(part: str) -> Edit:
    return "serve/guards.py", part, ""


FORWARDED = ("serve/server.py", "proxy_headers=False", "proxy_headers=True")
UNESCAPED = ("serve/pages.py", "autoescape=True", "autoescape=False")
BARE = (
    "serve/texts.py",
    'return Markup("").join(map(_shown, text or ""))',
    'return Markup(text or "")',
)

IN_PYTHON = [
    # Who is meant.
    case(
        threats.TestWhoIsMeant.test_no_tool_names_an_account,
        ("mcp_server/tools.py", "id: _NewId = None,\n    ) -> Remembered:",
         "id: _NewId = None,\n        account: _Language = None,\n    ) -> Remembered:"),
    ),
    case(
        threats.TestWhoIsMeant.test_a_secret_in_the_query_is_none,
        ("serve/pages.py", 'request.cookies.get(self._address.cookie, "")',
         'request.cookies.get(self._address.cookie, request.query_params.get(self._address.cookie, ""))'),
        named="of a session",
    ),
    case(
        threats.TestWhoIsMeant.test_a_secret_in_the_query_is_none,
        ("serve/agents.py", "visitor = await bearer_of(self._store, headers)",
         "visitor = await bearer_of(self._store, headers) or await visitor_of("
         'self._store, scope["query_string"].decode().rpartition("=")[2], "agent")'),
        named="of an agent",
    ),
    case(
        threats.TestWhoIsMeant.test_another_scheme,
        ("serve/agents.py", ' if scheme.lower() == "bearer" else None', ""),
        scheme="Basic {}",
    ),
    case(
        threats.TestWhoIsMeant.test_two_tokens,
        ("serve/agents.py", "if len(given) == 1 else", "if given else"),
    ),
    case(
        threats.TestWhoIsMeant.test_a_session_that_was_there_before,
        ("serve/pages.py", "secret = new_secret()",
         "secret = request.cookies.get(self._address.cookie) or new_secret()"),
    ),
    case(
        threats.TestWhoIsMeant.test_no_text_of_what_is_no_message,
        ("serve/agents.py", " or _unread(body)", ""),
        sent=f'{{"jsonrpc": "2.0", "id": 7, "params": {{"query": "{SECRET}"}}}}', code=-32600, id=7,
    ),
    # Scopes.
    case(
        threats.TestScopes.test_the_tools_that_are_there,
        ("serve/agents.py", "any(visitor.may(*called) for called in _CALLED[name])", "True"),
        scope="recall",
    ),
    case(
        threats.TestScopes.test_metrics,
        ("serve/figures.py", "await ActingStore(self._store).store_statistics()",
         "await self._store.store_statistics()"),
    ),
    case(
        threats.TestScopes.test_pages,
        ("serve/acting.py", """        await self._store.run(
            calls.authorize_call(digest=visitor.digest, function=call.function, kind=visitor.kind)
        )
""", ""),
        path="/store", scope="operator",
    ),
    # Other sites.
    case(
        threats.TestOtherSites.test_a_host_that_is_rebound,
        ("serve/guards.py", 'if headers.get("host", "").lower() not in self._hosts:', "if False:"),
    ),
    case(
        threats.TestOtherSites.test_a_foreign_origin,
        ("serve/agents.py", 'origin.lower() not in self._address.origins(headers["host"])', "False"),
    ),
    *(
        case(
            threats.TestOtherSites.test_a_form_of_another_page,
            ("serve/pages.py", 'origin.lower() in self._address.origins(headers["host"])', "True"),
            named=origin, headers={"Origin": origin},
        )
        for origin in ("https://evil.example", "null", "http://127.0.0.1:1")
    ),
    *(
        case(
            threats.TestOtherSites.test_a_form_of_another_page,
            ("serve/pages.py", 'if site not in (None, "same-origin"):', "if False:"),
            named=site, headers={"Sec_Fetch_Site": site},
        )
        for site in ("same-site", "cross-site", "none")
    ),
    case(
        threats.TestOtherSites.test_a_form_of_nobody,
        ("serve/pages.py", 'return site == "same-origin"', "return True"),
    ),
    *(
        case(threats.TestOtherSites.test_framing_sniffing_and_scripts, edit, named=edit[1].strip(" \n\"'"))
        for edit in (
            header("X-Content-Type-Options", "nosniff"),
            header("Referrer-Policy", "same-origin"),
            header("Cross-Origin-Opener-Policy", "same-origin"),
            header("Cross-Origin-Resource-Policy", "same-origin"),
            policy("default-src 'none'; "),
            policy(" form-action 'self';"),
            policy(" frame-ancestors 'none';"),
            policy(" base-uri 'none'"),
            ("serve/guards.py", """headers["Cache-Control"] = "no-store\"""", "pass"),
        )
    ),
    case(
        threats.TestOtherSites.test_the_cookie,
        ("serve/pages.py", "expires=made.expires_at,\n                httponly=True,",
         "expires=made.expires_at,\n                httponly=False,"),
        named="httponly",
    ),
    case(
        threats.TestOtherSites.test_the_cookie,
        ("serve/pages.py", 'httponly=True,\n                samesite="strict",',
         'httponly=True,\n                samesite="lax",'),
        named="samesite",
    ),
    case(
        threats.TestOtherSites.test_behind_https,
        ("serve/pages.py", 'samesite="strict",\n                secure=self._address.secure,',
         'samesite="strict",\n                secure=False,'),
        named="secure",
    ),
    case(
        threats.TestOtherSites.test_behind_https,
        ("serve/pages_access.py", "url=self._address.url,", 'url=str(page.request.base_url).rstrip("/"),'),
        named="URL",
    ),
    case(threats.TestOtherSites.test_forwarded_headers_are_not_believed, FORWARDED,
         ("serve/pages_access.py", "url=self._address.url,", 'url=str(page.request.base_url).rstrip("/"),')),
    # Texts.
    case(threats.TestTexts.test_what_is_typed_comes_back_as_text, UNESCAPED),
    case(
        threats.TestTexts.test_a_body_is_text, BARE, named="HTML",
        body="<script>alert(1)</script>", shown="&lt;script&gt;", never="<script",
    ),
    case(
        threats.TestTexts.test_a_body_is_text, UNESCAPED, named="a form's value",
        body="</textarea><script>1</script>", shown="&lt;/textarea&gt;", never="</textarea><script",
    ),
    *(
        case(
            threats.TestTexts.test_a_body_is_text,
            ("serve/texts.py", f'"{kind}"', '"none"'),
            named=kind, body=body, shown=shown, never=never,
        )
        for kind, body, shown, never in (
            ("Cf", "\u202eevil\u202c", "U+202E", "\u202e"),
            ("Cc", "\x1b[31mred", "U+001B", "\x1b"),
            ("Zl", "a\u2028b", "U+2028", "\u2028"),
        )
    ),
    case(
        threats.TestTexts.test_a_body_is_text,
        ("serve/pages.py", "_ENVIRONMENT.get_template(template).render(values), code",
         "_ENVIRONMENT.from_string(_ENVIRONMENT.get_template(template).render(values)).render(values), code"),
        named="template", body="{{ 8765 * 4321 }}", shown="{{ 8765 * 4321 }}", never="37873565",
    ),
    # Redirects and requests.
    case(
        threats.TestRedirects.test_none_leads_elsewhere,
        ("serve/application.py", ", redirect_slashes=False", ""),
        path="/memories/",
    ),
    case(
        threats.TestRedirects.test_no_header_is_made_of_a_text,
        ("serve/pages_claims.py", "{urlencode({'status': status})}", "status={status}"),
        ("serve/pages.py", "RedirectResponse(path, 303)",
         'Response(status_code=303, headers={"location": path})'),
    ),
    case(
        threats.TestRequests.test_a_get_changes_nothing,
        ("serve/application.py", "methods=[method])", 'methods=[method, "GET"])'),
        named="forms",
    ),
    case(
        threats.TestRequests.test_a_get_changes_nothing,
        ("serve/application.py", 'logins.ask, methods=["GET"]', 'logins.enter, methods=["GET"]'),
        ("serve/pages.py", 'form.get("code", "")', 'request.query_params.get("code", form.get("code", ""))'),
        named="logins",
    ),
    case(
        threats.TestRequests.test_methods_of_mcp,
        ("serve/agents.py", 'if scope["method"] != "POST":', 'if scope["method"] == "PUT":'),
    ),
    case(
        threats.TestRequests.test_too_large,
        ("serve/guards.py", "int(declared[:20]) > self._maximum", "False"),
        named="as it says",
    ),
    case(
        threats.TestRequests.test_too_large,
        ("serve/guards.py", "if len(body) > self._maximum:", "if False:"),
        ("serve/agents.py", ", max_request_body_size=MAXIMUM_BODY", ""),
        named="as it comes",
    ),
    case(
        threats.TestRequests.test_too_large,
        ("serve/pages.py", ", max_fields=200)\n        return {", ")\n        return {"),
        named="fields",
    ),
    case(
        threats.TestRequests.test_a_length_told_twice,
        ("serve/guards.py", '"transfer-encoding" in headers and "content-length" in headers', "False"),
    ),
    case(
        threats.TestRequests.test_half_a_request,
        ("serve/server.py", "HEAD_SECONDS, self._look)\n\n    def", "99, self._look)\n\n    def"),
        named="head",
    ),
    case(
        threats.TestRequests.test_half_a_request,
        ("serve/guards.py", "anyio.move_on_after(BODY_SECONDS)", "anyio.move_on_after(99)"),
        named="body",
    ),
    case(
        threats.TestRequests.test_traversal,
        ("serve/application.py", '"/static/style.css", _style', '"/static/{path:path}", _style'),
        ("serve/application.py", "async def _style(_: Request)", "async def _style(request: Request)"),
        ("serve/application.py", "Response(_STYLE,", 'Response(_STYLE.parent / request.path_params["path"],'),
    ),
    case(
        threats.TestRequests.test_ids_that_are_none,
        ("serve/pages.py", "return UUID(int=0)", "raise"),
        id="x",
    ),
    # Logs.
    case(
        threats.TestLogs.test_what_is_asked_is_in_none,
        ("serve/server.py", "            log_config=None,\n            access_log=False,\n", ""),
        ("serve/server.py", 'for name in ("mcp", "uvicorn", "psycopg"):', "for name in ():"),
    ),
    case(
        test_agents.test_the_store_is_away,
        ("serve/guards.py", "except StoreUnavailable as error:", "except ZeroDivisionError as error:"),
    ),
]  # fmt: skip

IN_BROWSER = [
    case(test_browser.test_pages_of_other_sites, policy(" frame-ancestors 'none';"), named="frames"),
    case(
        test_browser.test_pages_of_other_sites,
        ("serve/pages.py", 'origin.lower() in self._address.origins(headers["host"])', "True"),
        ("serve/pages.py", 'if site not in (None, "same-origin"):', "if False:"),
        named="forms",
    ),
    case(
        test_browser.test_bodies_run_nothing,
        ("serve/guards.py", "default-src 'none';", "default-src 'none'; script-src 'unsafe-inline';"),
        named="scripts",
    ),
    case(test_browser.test_bodies_run_nothing, BARE, named="HTML"),
]

IN_SQL = [
    case(
        threats.TestWhoIsMeant.test_a_token_and_a_session_are_not_each_other,
        ("live_token", "and t.kind = live_token.kind", ""),
    ),
    case(threats.TestWhoIsMeant.test_a_login_is_no_session,
         ("live_token", "and t.kind = live_token.kind", "")),
    case(threats.TestWhoIsMeant.test_a_token_that_has_ended,
         ("live_token", "and t.revoked_at is null", ""), named="revoked",
         end="select memstore.revoke_token(user_id, id) from memstore.tokens where user_id = %s"),
    case(threats.TestWhoIsMeant.test_a_token_that_has_ended,
         ("live_token", "and t.expires_at > clock_timestamp()", ""),
         named="expired",
         end="update memstore.tokens set inserted_at = now() - interval '20 minutes',"
             " expires_at = now() - interval '1 second' where user_id = %s returning id"),
    case(threats.TestWhoIsMeant.test_others_tokens,
         ("revoke_token", "and (t.user_id = revoke_token.actor) is true", "")),
    *(
        case(threats.TestWhoIsMeant.test_others_memories_by_id_and_path, (name, old, ""), named=name)
        for name, old in (
            ("get_memory", "and (m.user_id = get_memory.actor) is true"),
            ("delete_memory", "and (m.user_id = v_user.id) is true"),
            ("delete_history", "and (m.user_id = v_user.id) is true"),
        )
    ),
    *(
        case(
            threats.TestScopes.test_pages,
            ("authorize_call", "v_needed.scope = any (v_token.scopes)", "true"),
            named=path, path=path, scope=scope,
        )
        for path, scope in (("/memories", "recall"), ("/claims/queue", "steward"), ("/export", "recall"))
    ),
    case(
        threats.TestScopes.test_forms,
        ("authorize_call", "v_needed.scope = any (v_token.scopes)", "true"),
        path="/memories", fields={"body": "x"}, scope="remember",
    ),
    case(
        threats.TestScopes.test_remember_writes_no_claim,
        ("authorize_call", "if v_owner is not null or v_is_claim then", "if false then"),
    ),
    case(
        threats.TestScopes.test_a_session_delegates_no_more_than_it_has,
        ("delegate_token", "'{recall,remember}') <@ v_session.scopes", "'{}') is not null"),
    ),
    case(
        threats.TestOtherSites.test_the_cookie,
        ("redeem_login", "delete from memstore.tokens t", "update memstore.tokens t set name = t.name"),
        named="once",
    ),
    case(
        threats.TestWhoIsMeant.test_a_token_that_has_ended,
        ("delete_user", "delete from memstore.tokens t\n  where t.user_id = delete_user.actor;", ""),
        ("live_token", "and u.erased_at is null", ""),
        ("delete_user", "delete from memstore.users u", "update memstore.users u set erased_at = now()"),
        named="erased", end="select memstore.delete_user(%s)",
    ),
]  # fmt: skip

IN_PROCESS = [
    *(
        case(
            threats.TestAddress.test_beyond_loopback_it_needs_https,
            ("serve/address.py", old, new),
            named=named, host=host, url=url,
        )
        for named, old, new, host, url in (
            ("alone", "if not is_loopback(self.host) and not self.secure:", "if False:", "0.0.0.0", None),
            ("without https", "and not self.secure:", "and self.public_url is None:",
             "192.168.1.5", "http://memory.example.org"),
            ("another scheme", 'parts.scheme not in ("http", "https")', "False", "127.0.0.1", "ftp://x.example.org"),
            ("a path", 'or parts.path.strip("/")', "", "127.0.0.1", "https://memory.example.org/path"),
            ("a name", 'or "@" in parts.netloc', "", "127.0.0.1", "https://somebody@memory.example.org"),
            ("a port", "or parts.port == 0", "", "127.0.0.1", "https://memory.example.org:99999"),
        )
    ),
    case(threats.TestOtherSites.test_a_cookie_behind_https, ("serve/address.py", "__Host-", "")),
    case(threats.TestAddress.test_its_names,
         ("serve/address.py", "own if is_loopback(self.host) else ()", "own")),
    case(threats.TestLogs.test_a_failure_that_quotes_a_text,
         ("serve/guards.py", "else type(error).__name__", "else str(error)")),
]  # fmt: skip


def edited(text: str, old: str, new: str) -> str:
    """A text without a defence, which is there once: the list follows what it names."""
    assert text.count(old) >= 1, f"no longer there: {old}"
    return text.replace(old, new)


@contextmanager
def without(site: Site, edits: tuple[Edit, ...]) -> Iterator[None]:
    """The database without a defence."""
    found = (
        "select p.oid::regprocedure::text, pg_get_functiondef(p.oid) from pg_proc p"
        " where p.pronamespace = 'memstore'::regnamespace and p.proname = %s"
    )
    before: dict[str, str] = {}
    try:
        for name, old, new in edits:
            ((_, definition),) = rows(site.db, found, name)
            before.setdefault(name, definition)
            site.db.execute(edited(definition, old, new).encode())
        yield
    finally:
        for definition in before.values():
            site.db.execute(definition.encode())


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the package, whose process finds the rest where it was."""
    shutil.copytree(PACKAGE, tmp_path / "memstore", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("sql", "migrations"):
        (tmp_path / name).symlink_to(PACKAGE.parent / name)
    return tmp_path


def fails(test: Callable[..., None], site: Site, given: dict[str, Any], **fixtures: object) -> None:
    """The test fails on a server that answers all the same."""
    account = site.account("own")
    token, session = site.token(account), site.session(account)
    assert site.rpc("tools/list", token=token).status == 200
    assert site.get("/memories", session).status == 200
    known = {"site": site, "account": account, "token": token, "session": session} | fixtures
    asked = inspect.signature(test).parameters
    with pytest.raises((AssertionError, OSError, KeyError, ValueError, WebDriverException)):
        test(*of_class(test), **{name: known[name] for name in asked if name in known}, **given)


def of_class(test: Callable[..., None]) -> list[object]:
    """The instance that a test of a class is called on."""
    group = test.__qualname__.rpartition(".")[0]
    return [getattr(threats, group)()] if group else []


SAMPLE = slice(None, None, None if LONG else 4)
"""Of those that need a server each."""


@pytest.mark.parametrize(("test", "edits", "given"), [*IN_PYTHON[SAMPLE], *IN_BROWSER[SAMPLE]])
def test_without_its_defence(
    site: Site, server: Server, installed: str, copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    test: Callable[..., None], edits: tuple[Edit, ...], given: dict[str, Any],
) -> None:  # fmt: skip
    if os.environ.get("MEMSTORE_PG_BINDIR"):
        pytest.skip("the package is the same on each PostgreSQL: the usual run has them")
    for name, old, new in edits:
        path = copy / "memstore" / name
        path.write_text(edited(path.read_text(encoding="utf-8"), old, new), encoding="utf-8")
    served = partial(serving, PYTHONPATH=str(copy), PYTHONSAFEPATH="1")
    for module in (test_agents, threats):  # of tests that start a server themselves
        monkeypatch.setattr(module, "serving", served)
    with ExitStack() as opened:
        mutant = opened.enter_context(served(site.conninfo, tmp_path / "log"))
        more: dict[str, object] = {"server": server, "installed": installed, "tmp_path": tmp_path}
        if "chrome" in inspect.signature(test).parameters:
            more["chrome"] = opened.enter_context(test_browser.browser())
        if "filled" in inspect.signature(test).parameters:
            more["filled"] = test_browser.fill(mutant)
        fails(test, mutant, given, **more)


@pytest.mark.parametrize(("test", "edits", "given"), IN_SQL)
def test_without_its_rule(
    site: Site, test: Callable[..., None], edits: tuple[Edit, ...], given: dict[str, Any]
) -> None:
    try:
        with without(site, edits):
            fails(test, site, given)
    finally:
        # The store is that of other tests: what an erasure that isn't whole has left goes.
        rows(site.db, "delete from memstore.tokens t using memstore.users u where u.id = t.user_id"
             " and u.erased_at is not null")  # fmt: skip


@pytest.mark.parametrize(("test", "edits", "given"), IN_PROCESS)
def test_without_its_check(
    site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture,
    test: Callable[..., None], edits: tuple[Edit, ...], given: dict[str, Any],
) -> None:  # fmt: skip
    ((name, old, new),) = edits
    stem = Path(name).stem
    module = types.ModuleType(f"memstore.serve.{stem}")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(edited((PACKAGE / name).read_text(encoding="utf-8"), old, new), module.__dict__)
    if stem == "guards":
        monkeypatch.setattr(threats, "guards", module)
    else:
        monkeypatch.setattr(threats, "Address", module.Address)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        asked = inspect.signature(test).parameters
        test(*of_class(test), **({"caplog": caplog} if "caplog" in asked else {}), **given)


def test_each_threat_has_a_mutant_or_needs_none() -> None:
    """What isn't listed here tries what a server may stumble over, or is a sum of others."""
    listed = {each.values[0].__qualname__ for each in (*IN_PYTHON, *IN_SQL, *IN_PROCESS)}
    needless = {
        "TestWhoIsMeant.test_no_token", "TestWhoIsMeant.test_a_form_of_another_session",
        "TestRequests.test_arguments_that_are_none", "TestRequests.test_what_is_no_message",
        "TestRequests.test_what_is_no_message_either", "TestRequests.test_arguments_of_tools",
        "TestAddress.test_on_ipv6",
        "TestRequests.test_compressed", "TestRequests.test_half_an_emoji_fails_no_turn",
        "TestRequests.test_nobody_guesses_a_path",
    }  # fmt: skip
    tried = {
        f"{name}.{test}"
        for name, group in vars(threats).items()
        if name.startswith("Test")
        for test in vars(group)
        if test.startswith("test_")
    }
    assert tried - listed == needless
