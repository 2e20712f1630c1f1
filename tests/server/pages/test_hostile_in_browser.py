"""Pages of a catalog that is all markup, where scripts have worked on them: in a real browser."""

from pathlib import Path

import httpx
from selenium import webdriver
from selenium.webdriver.common.by import By

from server.settings import Settings
from tests.server.browsers import wait_for
from tests.server.pages.hostile import BREAKS, published
from tests.server.pages.tour import tour
from tests.server.servers import application

_FAULTS = """
return [...document.querySelectorAll('*')].flatMap((it) => [
  ...(it.localName.startsWith('evil') ? [it.localName] : []),
  ...[...it.attributes].map((one) => one.name).filter((name) => /^(on|evil|hx-on)/.test(name)),
])
"""
_FOREIGN = """
return performance.getEntriesByType('resource').map((it) => it.name)
  .filter((it) => !it.startsWith(location.origin))
"""
_UNFOLDED = """
const all = [...document.querySelectorAll('details')].slice(0, 4);
all.forEach((it) => { it.open = true; });
"""
_HAS_LOADED = "return !document.querySelector('.htmx-request')"


def test_scripts_make_no_markup_of_texts(browser: webdriver.Chrome, tmp_path: Path) -> None:
    """Where parts are loaded, buttons are added, and lists follow what somebody writes."""
    with application(Settings(catalog=published(tmp_path))) as client:
        for address in _addresses(client):
            browser.get(str(client.base_url.join(address)))
            browser.execute_script(_UNFOLDED)
            for box in browser.find_elements(By.CSS_SELECTOR, "form.narrow input[type=search]"):
                box.send_keys("<evil-1")
            wait_for(browser, lambda: browser.execute_script(_HAS_LOADED))
            assert browser.execute_script(_FAULTS) == [], address
            assert browser.execute_script(_FOREIGN) == [], address


def _addresses(client: httpx.Client) -> list[str]:
    found = tour(client)
    names = ("series", "revision", "package", "spec", "stack", "compare", "compare-specs")
    search = httpx.URL("/search", params={"q": BREAKS[1]})
    return [*(found[it] for it in names), found["compare-notes"], found["cause"], str(search)]
