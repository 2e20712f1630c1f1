"""What scripts add to comparisons."""

import httpx
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait

from tests.server.browsers import SECONDS
from tests.server.pages.comparing import BASE, PAIR, told
from tests.server.servers import Server


def test_comparisons_in_a_browser(
    browser: webdriver.Chrome, demo_server: Server, client: httpx.Client
) -> None:
    """A cause unfolds to its specs in its place, and its links lead there; notes can be copied."""

    def until(selector: str) -> WebElement:
        wait = WebDriverWait(browser, SECONDS)
        return wait.until(lambda it: it.find_element(By.CSS_SELECTOR, selector))

    browser.get(demo_server.url + PAIR)
    causes = told(client, "compare")["causes"]["nodes"]
    until(".causes summary").click()
    link = until(".causes details[open] table.changes tbody .hash a")
    assert link.is_displayed()
    address = str(link.get_property("href"))
    assert "/specs/" in address
    assert client.get(address).status_code == 200
    caption = until(".causes details[open] table.changes caption").get_property("textContent")
    assert causes[0]["title"] in str(caption)
    assert "rebuilt" in until("[aria-label=Reasons]").text
    assert len(browser.find_elements(By.ID, "cause")) == 0

    browser.get(f"{demo_server.url}{PAIR}/packages")
    search = until("#tab input[type=search]")
    search.send_keys("no-such-package")
    WebDriverWait(browser, SECONDS).until(lambda it: "search=no-such-package" in it.current_url)
    assert "No package" in until("#results .none").text

    browser.get(f"{demo_server.url}{PAIR}/notes")
    until("button[data-copy-from]:not([hidden])").click()
    WebDriverWait(browser, SECONDS).until(lambda _: until(".notes-tools .status").text)
    assert until(".notes-tools .status").text == "Copied."
    field = until("input[name=base]")
    field.clear()
    field.send_keys(Keys.CONTROL, "v")
    assert BASE in str(field.get_property("value"))
    assert "What caused the rebuilds" in str(field.get_property("value"))
    assert browser.get_log("browser") == []  # type: ignore[no-untyped-call]
