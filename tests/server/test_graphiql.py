"""GraphiQL, in a real browser against a real server."""

import json
import os
import shutil
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from server.graphiql import ASSETS, EXAMPLES, graphiql_page, json_in_script
from snapshots.history import History
from tests.server.servers import serving

SECONDS = 30
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",  # containers have little of it
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1400,900",
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve the demo, as the first command of the README does."""
    folder = tmp_path_factory.mktemp("server")
    with serving(folder / "catalog", folder / "log", "--demo") as running:
        yield running.url


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[webdriver.Chrome]:
    """Return a headless Chromium with a profile of its own."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not (chromium and driver) and not os.environ.get("CI"):
        pytest.skip("chromium and chromedriver are not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = str(chromium)
    for flag in (*FLAGS, f"--user-data-dir={tmp_path / 'profile'}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    chrome = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    try:
        yield chrome
    finally:
        chrome.quit()


def run_tab(browser: webdriver.Chrome, title: str) -> dict[str, Any]:
    """Open a tab, press the button that runs it and return the data that the page then shows."""
    browser.find_element(By.CSS_SELECTOR, f'[role=tab] button[title="{title}"]').click()
    # GraphiQL takes a moment to see which operation the tab has, and no person is that fast.
    script = "return localStorage.getItem('graphiql:operationName')"
    WebDriverWait(browser, SECONDS).until(lambda _: browser.execute_script(script) == title)
    browser.find_element(By.CSS_SELECTOR, ".graphiql-execute-button").click()
    text = WebDriverWait(browser, SECONDS).until(lambda _: shown_response(browser))
    answer = json.loads(text)
    assert "errors" not in answer
    data: dict[str, Any] = answer["data"]
    return data


def shown_response(browser: webdriver.Chrome) -> str:
    """Return the whole text of the response, of which the page draws only what is in view."""
    script = "return document.querySelector('.result-window .CodeMirror').CodeMirror.getValue()"
    text: str = browser.execute_script(script)
    return text


def test_the_examples_run_in_a_browser(server: str, browser: webdriver.Chrome) -> None:
    """GraphiQL appears with a tab for each example; each runs on a click, without any error."""
    browser.get(server)
    WebDriverWait(browser, SECONDS).until(
        lambda _: browser.find_elements(By.CSS_SELECTOR, ".graphiql-execute-button")
    )
    assert browser.title == "cachelog · GraphiQL"
    tabs = browser.find_elements(By.CSS_SELECTOR, "[role=tab] button[title]")
    titles = [tab.get_dom_attribute("title") for tab in tabs]
    assert titles == [name.capitalize() for name in EXAMPLES]

    tags = httpx.post(f"{server}/graphql", json={"query": "{ tags { name } }"}).json()
    assert run_tab(browser, "Explore")["tags"][0]["name"] == tags["data"]["tags"][0]["name"]
    assert run_tab(browser, "Search")["revision"]["specs"]["totalCount"] > 0
    assert run_tab(browser, "Compare")["compare"]["summary"]["specsAdded"] > 0
    assert browser.get_log("browser") == []  # type: ignore[no-untyped-call]


def test_the_page_says_so_where_scripts_cannot_be_loaded(
    server: str, browser: webdriver.Chrome
) -> None:
    """Without its scripts the page shows what happened, and how the API is asked without it."""
    browser.execute_cdp_cmd("Network.enable", {})
    browser.execute_cdp_cmd("Network.setBlockedURLs", {"urls": ["*/graphiql.js*"]})
    browser.get(f"{server}/graphql")
    message = browser.find_element(By.ID, "message").text
    assert message.startswith("GraphiQL could not be loaded.")
    assert f"{server}/graphql" in message


def test_the_page_is_served_from_what_the_build_brought(server: str) -> None:
    """Scripts come from this server, may be kept for a year, and change their address if new."""
    page = httpx.get(f"{server}/graphql", headers={"accept": "text/html"}).text
    assert "//unpkg" not in page
    for name in ASSETS:
        path = f"static/vendor/{name}"
        asset = httpx.get(f"{server}/{path}", headers={"accept-encoding": "gzip"})
        digest = sha256(asset.content).hexdigest()
        assert f"{path}?v={digest[:12]}" in page
        assert asset.headers["content-encoding"] == "gzip"
        assert asset.headers["cache-control"] == "no-cache"
        versioned = httpx.head(f"{server}/{path}", params={"v": digest[:12]})
        assert versioned.headers["cache-control"] == "public, max-age=31536000, immutable"


def test_the_page_asks_a_cdn_for_what_the_build_could_not_bring(tmp_path: Path) -> None:
    """Where files are missing the page names them on a CDN, pinned to their content."""
    page = graphiql_page(History(), tmp_path).decode()
    assert 'src="https://unpkg.com/graphiql@4.1.2/graphiql.min.js" integrity="sha256-' in page
    assert "static/vendor" not in page


def test_json_cannot_end_the_script_that_it_stands_in() -> None:
    """No text in the examples is taken for markup, and scripts still read the same value."""
    value = [{"query": "</script><!-- <script>"}]
    text = json_in_script(value)
    assert "<" not in text
    assert json.loads(text) == value
