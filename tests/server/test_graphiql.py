"""GraphiQL, in a real browser against a real server."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from server.graphiql.editor import ASSETS, EXAMPLES, graphiql_page, json_in_script
from snapshots.history import History
from tests.server.browsers import SECONDS
from tests.server.servers import Server


@pytest.fixture
def server(demo_server: Server, browser: webdriver.Chrome) -> str:
    """Return the address of a server of the demo, of which the browser has stored no tabs."""
    stored = {"origin": demo_server.url, "storageTypes": "local_storage"}
    browser.execute_cdp_cmd("Storage.clearDataForOrigin", stored)
    return demo_server.url


def opened(browser: webdriver.Chrome, address: str) -> None:
    """Open an address and wait until GraphiQL is loaded."""
    browser.get(address)
    WebDriverWait(browser, SECONDS).until(
        lambda _: browser.find_elements(By.CSS_SELECTOR, ".graphiql-execute-button")
    )


def run(browser: webdriver.Chrome) -> dict[str, Any]:
    """Click the button that runs the query, and return the data that the page shows."""
    browser.find_element(By.CSS_SELECTOR, ".graphiql-execute-button").click()
    text = WebDriverWait(browser, SECONDS).until(lambda _: shown(browser, ".result-window"))
    answer: dict[str, Any] = json.loads(text)
    assert "errors" not in answer
    return dict(answer["data"])


def run_tab(browser: webdriver.Chrome, title: str) -> dict[str, Any]:
    """Open a tab, run its query, and return the data that the page shows."""
    browser.find_element(By.CSS_SELECTOR, f'[role=tab] button[title="{title}"]').click()
    # GraphiQL selects the operation of the tab with a delay that no user would notice.
    script = "return localStorage.getItem('graphiql:operationName')"
    WebDriverWait(browser, SECONDS).until(lambda _: browser.execute_script(script) == title)
    return run(browser)


def titles(browser: webdriver.Chrome) -> list[str | None]:
    """Return the titles of the tabs."""
    tabs = browser.find_elements(By.CSS_SELECTOR, "[role=tab] button[title]")
    return [tab.get_dom_attribute("title") for tab in tabs]


def shown(browser: webdriver.Chrome, where: str) -> str:
    """Return the entire text of an editor, of which the page renders only the visible part."""
    script = f"return document.querySelector('{where} .CodeMirror').CodeMirror.getValue()"
    text: str = browser.execute_script(script)
    return text


QUERY, VARIABLES = ".graphiql-query-editor", '[aria-label="Variables"]'
EXAMPLE_TITLES = [name.capitalize() for name in EXAMPLES]


def test_examples_run_in_a_browser(server: str, browser: webdriver.Chrome) -> None:
    """GraphiQL has a tab for each example, which runs on a click without errors."""
    opened(browser, f"{server}/graphql")
    assert browser.title == "cachelog · GraphiQL"
    assert titles(browser) == EXAMPLE_TITLES

    tags = httpx.post(f"{server}/graphql", json={"query": "{ tags { name } }"}).json()
    assert run_tab(browser, "Explore")["tags"][0]["name"] == tags["data"]["tags"][0]["name"]
    assert run_tab(browser, "Notes")["compare"]["releaseNotes"].startswith("# ")
    assert browser.get_log("browser") == []  # type: ignore[no-untyped-call]


SHARED = {
    "query": "query A($t: String!) { tag(name: $t) { name } } query B { tags { name } }",
    "variables": '{"t": "develop"}',
}


def test_link_fills_the_editor(server: str, browser: webdriver.Chrome) -> None:
    """It opens a tab beside earlier ones, again and again, and does not run the query."""
    for _ in range(2):
        opened(browser, f"{server}/graphql?{urlencode(SHARED | {'operationName': 'B'})}")
        assert shown(browser, QUERY) == SHARED["query"]
        assert shown(browser, VARIABLES) == SHARED["variables"]
        assert shown(browser, ".result-window") == ""
        assert titles(browser)[1:] == EXAMPLE_TITLES
    assert run(browser)["tags"]
    # The operation of the link is not selected in the other tabs.
    assert run_tab(browser, "Explore")["revision"]
    opened(browser, f"{server}/graphql?query=%7Btags%7Bname%7D%7D")
    assert (shown(browser, QUERY), shown(browser, VARIABLES)) == ("{tags{name}}", "")
    assert run(browser)["tags"]
    assert browser.get_log("browser") == []  # type: ignore[no-untyped-call]


def test_address_is_a_link_to_the_query(server: str, browser: webdriver.Chrome) -> None:
    """The URL in the browser contains the query in the editor, so it can be shared."""
    opened(browser, f"{server}/graphql")
    browser.find_element(By.CSS_SELECTOR, '[role=tab] button[title="Notes"]').click()
    WebDriverWait(browser, SECONDS).until(lambda _: "query=" in browser.current_url)
    notes = shown(browser, QUERY)
    link = browser.current_url
    assert parse_qs(urlsplit(link).query) == {"query": [notes]}
    browser.execute_script("localStorage.clear()")
    opened(browser, link)
    assert shown(browser, QUERY) == notes
    assert run(browser)["compare"]["releaseNotes"]


def test_stored_examples_follow_the_catalog(server: str, browser: webdriver.Chrome) -> None:
    """A tab of an earlier visit names the current revisions, unless the user has edited it."""
    opened(browser, f"{server}/graphql")
    stored = "return localStorage.getItem('graphiql:tabState')"
    WebDriverWait(browser, SECONDS).until(lambda _: browser.execute_script(stored))
    # The stored tabs are edited on a page without the editor, which would overwrite them: it saves
    # its tabs with a delay.
    browser.get(f"{server}/health/live")
    browser.execute_script(
        """
        const old = (text) => text.replaceAll(/= "[^"]+"/g, `= "gone"`);
        const tabs = JSON.parse(localStorage.getItem("graphiql:tabState"));
        for (const tab of tabs.tabs) tab.query = old(tab.query);
        tabs.tabs.at(-1).query += "# mine";
        localStorage.setItem("graphiql:tabState", JSON.stringify(tabs));
        const examples = JSON.parse(localStorage.getItem("cachelog:examples"));
        for (const example of examples) example.query = old(example.query);
        localStorage.setItem("cachelog:examples", JSON.stringify(examples));
        """
    )
    opened(browser, f"{server}/graphql")
    assert titles(browser) == EXAMPLE_TITLES
    assert run_tab(browser, "Compare")["compare"]["summary"]["numSpecsAdded"] > 0
    browser.find_element(By.CSS_SELECTOR, '[role=tab] button[title="Notes"]').click()
    WebDriverWait(browser, SECONDS).until(lambda _: "# mine" in shown(browser, QUERY))
    assert '"gone' in shown(browser, QUERY)


def test_page_without_scripts_explains_itself(server: str, browser: webdriver.Chrome) -> None:
    """If the scripts cannot be loaded, the page says so, and how to send queries without it."""
    browser.execute_cdp_cmd("Network.enable", {})
    browser.execute_cdp_cmd("Network.setBlockedURLs", {"urls": ["*/graphiql.js*"]})
    browser.get(f"{server}/graphql")
    browser.execute_cdp_cmd("Network.setBlockedURLs", {"urls": []})
    message = browser.find_element(By.ID, "message").text
    assert message.startswith("GraphiQL could not be loaded.")
    assert f"{server}/graphql" in message


def test_assets_of_the_build_are_served(client: httpx.Client) -> None:
    """From this server; their versioned addresses may be cached for a year."""
    page = client.get("/graphql", headers={"accept": "text/html"}).text
    for name in ASSETS:
        address = f"/static/vendor/{name}"
        version = sha256(client.get(address).content).hexdigest()[:12]
        assert f"static/vendor/{name}?v={version}" in page
        for v, lifetime in ((version, "public, max-age=31536000, immutable"), ("0", "no-cache")):
            assert client.head(address, params={"v": v}).headers["cache-control"] == lifetime


def test_build_without_assets(tmp_path: Path) -> None:
    """The page is made nevertheless; it says that GraphiQL could not be loaded."""
    page = graphiql_page(History(), tmp_path).decode()
    assert 'src="static/vendor/graphiql.js"' in page


def test_json_cannot_end_its_script() -> None:
    """No text in the examples is parsed as markup, and scripts read the same value."""
    value = [{"query": "</script><!-- <script>"}]
    text = json_in_script(value)
    assert "<" not in text
    assert json.loads(text) == value
