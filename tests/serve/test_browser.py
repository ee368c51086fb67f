"""The pages in a real browser: their looks, by keyboard alone, with and without scripts, beside other sites.

Debian's chromium and its driver; axe-core comes from npm. Pictures go where MEMSTORE_TEST_PICTURES says.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from uuid import UUID

import pytest
from selenium import webdriver
from selenium.webdriver import ActionChains, Keys
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from tests.databases import skip_without
from tests.serve.sites import SCOPES, Site
from tests.sql.support import SYSTEM, call_one, insert, rows, supersede, value

pytestmark = pytest.mark.long

BODIES = [
    "I use pnpm, not npm.",
    "Deploys happen on Tuesdays, after the review.",
    "أفضل الاجتماعات في الصباح الباكر",
    "李明在上海工作，喜欢乒乓球。",
    "A" * 400 + " is one word",
    "https://example.org/a/path/without/an/end/" + "0123456789" * 12,
    "<script>document.title = 'run'</script> {{ 7 * 7 }} \u202eevil\u202c \x1b[31m",
]


@contextmanager
def browser(*, scripts: bool = True) -> Iterator[webdriver.Chrome]:
    if os.environ.get("MEMSTORE_PG_BINDIR"):
        pytest.skip("pages are the same on each PostgreSQL: the usual run has them")
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not chromium or not driver:
        skip_without("chromium")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    if not scripts:
        content = {"profile.managed_default_content_settings.javascript": 2}
        options.add_experimental_option("prefs", content)
    opened = webdriver.Chrome(options=options, service=Service(driver))
    try:
        yield opened
    finally:
        opened.quit()


@pytest.fixture(scope="module")
def chrome() -> Iterator[webdriver.Chrome]:
    with browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    npm = shutil.which("npm")
    if not npm:
        pytest.skip("no npm")
    folder = tmp_path_factory.mktemp("axe")
    quiet = ["--no-audit", "--no-fund", "--no-package-lock", "--no-update-notifier"]
    if subprocess.run([npm, "install", "axe-core@4", *quiet], cwd=folder, capture_output=True).returncode:
        pytest.skip("no package registry")
    return Path(folder, "node_modules/axe-core/axe.min.js").read_text()


@pytest.fixture(scope="module")
def filled(site: Site) -> tuple[UUID, dict[str, str]]:
    """As fill makes it."""
    return fill(site)


def fill(site: Site) -> tuple[UUID, dict[str, str]]:
    """A steward with memories and claims of all kinds, and the pages that show them."""
    account, other = site.account("steward", steward=True), site.account("other")
    for body in BODIES:
        insert(site.db, account, body)
    insert(
        site.db, account, "Short commit messages.", bucket="learned", source_ref="retro", scope="project:x"
    )
    first = insert(site.db, account, "I live in Berlin.")["id"]
    memory = supersede(site.db, account, first, "I live in Kiel.")["id"]
    evidence = SYSTEM["evidence_refs"]
    claims = [site.claim(other if number % 2 else account, f"Claim {number} holds.") for number in range(6)]
    for claim in claims[:4]:
        rows(site.db, "select memstore.record_admission(%s, %s, 'admitted', 'It does.')", account, claim)
    challenge = partial(call_one, site.db, "challenge_memory", actor=other, memory_id=claims[0])
    challenge(ground="It is about another version.", evidence_refs=evidence)
    answered = challenge(ground="It was renamed.", evidence_refs=evidence)["id"]
    rows(site.db, "select memstore.refute_challenge(%s, %s, 'The old name works.')", account, answered)
    for number in range(50):
        challenge(memory_id=claims[2], ground=f"Doubt {number}.")
    site.token(account)
    return account, {
        "memories": "/memories",
        "memory": f"/memories/{memory}",
        "recall": "/recall?turn=Install+the+deps+with+npm",
        "claims": "/claims",
        "queue": "/claims/queue",
        "claim": f"/claims/{claims[0]}",
        "argument": f"/claims/{claims[2]}",
        "access": "/access",
        "store": "/store",
        "nothing": "/memories?q=nothing",
        "refused": "/memories/x",
    }


def log_in(site: Site, chrome: webdriver.Chrome, account: UUID, *scopes: str) -> None:
    """By the link, as people do."""
    chrome.delete_all_cookies()
    chrome.get(f"{site.url}/login?code={site.token(account, *scopes, kind='login')}")
    press(chrome, chrome.find_element(By.CSS_SELECTOR, "button.main"))
    assert chrome.current_url == f"{site.url}/memories"


def press(chrome: webdriver.Chrome, element: Any) -> None:
    """Presses what leads to another page, and waits for it."""
    before = chrome.find_element(By.TAG_NAME, "html")
    element.perform() if isinstance(element, ActionChains) else element.click()
    wait_until_gone(chrome, before)


def wait_until_gone(chrome: webdriver.Chrome, element: Any) -> None:
    WebDriverWait(chrome, 20).until(lambda _: _is_gone(element))


def _is_gone(element: Any) -> bool:
    try:
        element.is_enabled()
    except Exception:
        return True
    return False


def logged(chrome: webdriver.Chrome) -> list[str]:
    """What the browser has logged since it was last asked."""
    entries: list[dict[str, str]] = chrome.get_log("browser")  # type: ignore[no-untyped-call]
    return [entry["message"] for entry in entries]


def look(chrome: webdriver.Chrome, width: int, dark: bool) -> None:
    size = {"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
    chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})


def keep(chrome: webdriver.Chrome, name: str) -> None:
    """Keeps a picture of the whole page."""
    if folder := os.environ.get("MEMSTORE_TEST_PICTURES"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        size = chrome.execute_cdp_cmd("Page.getLayoutMetrics", {})["cssContentSize"]
        shown = {
            "width": max(size["width"], 390),
            "height": min(int(size["height"]), 3000),
            "deviceScaleFactor": 1,
        }
        chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {**shown, "mobile": False})
        chrome.save_screenshot(f"{folder}/{name}.png")


def test_every_page_is_accessible_and_fits(
    site: Site, chrome: webdriver.Chrome, axe: str, filled: tuple[UUID, dict[str, str]]
) -> None:
    account, pages = filled
    log_in(site, chrome, account, *SCOPES)
    rules = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
    check = f"const done = arguments[0]; axe.run(document, {{runOnly: {json.dumps(rules)}}}).then(done)"
    for name, path in pages.items():
        for width, dark in ((1100, False), (1100, True), (390, False)):
            look(chrome, width, dark)
            chrome.get(site.url + path)
            keep(chrome, f"{name}-{width}{'-dark' if dark else ''}")
            look(chrome, width, dark)
            for summary in chrome.find_elements(By.CSS_SELECTOR, "details:not([open]) > summary")[:6]:
                summary.click()
            where = f"{name}, {width} px{', dark' if dark else ''}"
            size = chrome.execute_cdp_cmd("Page.getLayoutMetrics", {})["cssContentSize"]
            assert size["width"] <= width, where
            chrome.execute_script(axe)
            found = chrome.execute_async_script(check)
            assert len(found["passes"]) > 10, where
            problems = [(each["id"], each["nodes"][0]["html"][:200]) for each in found["violations"]]
            assert problems == [], where
    assert [entry for entry in logged(chrome) if "favicon" not in entry and " 404 " not in entry] == []


def test_bodies_run_nothing(
    site: Site, chrome: webdriver.Chrome, filled: tuple[UUID, dict[str, str]]
) -> None:
    account, pages = filled
    log_in(site, chrome, account, *SCOPES)
    chrome.get(site.url + pages["memories"])
    assert chrome.title == "Memories · memstore"
    assert chrome.find_elements(By.CSS_SELECTOR, "main script, main img") == []
    text = chrome.find_element(By.TAG_NAME, "main").text
    assert "{{ 7 * 7 }}" in text
    assert "U+202E" in text
    # Should one get in all the same, the policy stops it.
    chrome.execute_script(
        "const it = document.createElement('script'); it.textContent = 'window.ran = 1';"
        "document.body.append(it)"
    )
    assert chrome.execute_script("return window.ran || null") is None


def test_by_keyboard_alone(site: Site, chrome: webdriver.Chrome) -> None:
    """A steward works through the queue; each claim takes a link, a choice, a ground and Enter."""
    account, other = site.account("keys", steward=True), site.account("author")
    mine = {site.claim(other, f"Key claim {number}.") for number in range(10)}
    log_in(site, chrome, account, *SCOPES)
    look(chrome, 1100, False)
    ActionChains(chrome).send_keys(Keys.TAB).perform()
    assert chrome.switch_to.active_element.text == "Skip to the content"
    judged: set[UUID] = set()
    while judged != mine:
        chrome.get(f"{site.url}/claims/queue?status=candidate")
        press(chrome, _keys(chrome, "Read and judge: Key claim", Keys.ENTER))
        judged.add(UUID(chrome.current_url.rpartition("/")[2].partition("?")[0]))
        tab_to(chrome, lambda element: element.get_attribute("name") == "verdict")
        ActionChains(chrome).send_keys(Keys.SPACE, Keys.TAB, "It holds.", Keys.TAB).perform()
        press(chrome, ActionChains(chrome).send_keys(Keys.ENTER))
        assert chrome.current_url == f"{site.url}/claims/queue?status=candidate"
    verdicts = "select count(*) from memstore.memory_admissions where user_id = %s and verdict = 'admitted'"
    assert value(site.db, verdicts, account) == 10


def tab_to(chrome: webdriver.Chrome, found: Any) -> Any:
    for _ in range(200):
        ActionChains(chrome).send_keys(Keys.TAB).perform()
        element = chrome.switch_to.active_element
        if found(element):
            return element
    raise AssertionError("no such element")


def _keys(chrome: webdriver.Chrome, text: str, key: str) -> ActionChains:
    tab_to(chrome, lambda element: (element.get_attribute("textContent") or "").startswith(text))
    return ActionChains(chrome).send_keys(key)


def test_without_scripts(site: Site) -> None:
    account = site.account("plain")
    with browser(scripts=False) as chrome:
        log_in(site, chrome, account)
        chrome.find_element(By.TAG_NAME, "summary").click()
        chrome.find_element(By.CSS_SELECTOR, "textarea[name=body]").send_keys("I use pnpm, not npm.")
        press(chrome, chrome.find_element(By.CSS_SELECTOR, "details button.main"))
        press(chrome, chrome.find_element(By.PARTIAL_LINK_TEXT, "Correct or forget"))
        text = chrome.find_element(By.CSS_SELECTOR, "textarea[name=body]")
        text.clear()
        text.send_keys("I use bun.")
        press(chrome, chrome.find_element(By.CSS_SELECTOR, "form[action$=correct] button"))
        chrome.back()
        press(chrome, chrome.find_element(By.CSS_SELECTOR, "form[action$=correct] button"))
        press(chrome, chrome.find_element(By.LINK_TEXT, "Recall"))
        chrome.find_element(By.NAME, "turn").send_keys("Install the deps", Keys.ENTER)
        WebDriverWait(chrome, 20).until(lambda _: "I use bun." in chrome.page_source)
        press(chrome, chrome.find_element(By.XPATH, "//button[.='Log out']"))
        chrome.get(f"{site.url}/memories")
        assert "not logged in" in chrome.find_element(By.TAG_NAME, "main").text
    bodies = "select body from memstore.memories where user_id = %s order by inserted_at"
    assert rows(site.db, bodies, account) == [("I use pnpm, not npm.",), ("I use bun.",)]


def test_forget_several(site: Site, chrome: webdriver.Chrome, axe: str) -> None:
    account = site.account("several")
    for number in range(3):
        insert(site.db, account, f"Number {number}.")
    log_in(site, chrome, account)
    look(chrome, 390, False)
    for box in chrome.find_elements(By.NAME, "chosen")[:2]:
        box.click()
    press(chrome, chrome.find_element(By.XPATH, "//button[starts-with(., 'Forget the chosen')]"))
    keep(chrome, "forget-390")
    assert "this can't be undone" in chrome.find_element(By.TAG_NAME, "main").text
    chrome.execute_script(axe)
    found = chrome.execute_async_script("const done = arguments[0]; axe.run(document).then(done)")
    assert [each["id"] for each in found["violations"]] == []
    press(chrome, chrome.find_element(By.XPATH, "//button[.='Forget for good']"))
    assert rows(site.db, "select body from memstore.memories where user_id = %s", account) == [("Number 0.",)]


def test_pages_of_other_sites(site: Site, chrome: webdriver.Chrome) -> None:
    """On another port of this host, which is the same site, and on another host: no form, no frame."""
    account = site.account("target")

    class Hostile(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            page = f"""<form method=post action="{site.url}/memories"><input name=body value=forged></form>
                <iframe src="{site.url}/memories"></iframe>"""
            self.wfile.write(page.encode())

        def log_message(self, format: str, *args: object) -> None:
            pass

    hostile = HTTPServer(("127.0.0.1", 0), Hostile)
    Thread(target=hostile.serve_forever, daemon=True).start()
    try:
        for host in ("127.0.0.1", "localhost"):
            log_in(site, chrome, account)
            logged(chrome)
            chrome.get(f"http://{host}:{hostile.server_port}/")
            WebDriverWait(chrome, 20).until(
                lambda _: any("frame-ancestors" in entry for entry in logged(chrome))
            )
            before = chrome.find_element(By.TAG_NAME, "html")
            chrome.execute_script("document.forms[0].submit()")
            wait_until_gone(chrome, before)
            assert chrome.find_element(By.TAG_NAME, "body").text == "This form is of another page."
    finally:
        hostile.shutdown()
        hostile.server_close()
    assert value(site.db, "select count(*) from memstore.memories where user_id = %s", account) == 0
