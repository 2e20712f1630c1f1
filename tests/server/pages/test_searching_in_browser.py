"""Lists that narrow down while somebody writes, in a real browser."""

from collections.abc import Callable

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

from tests.server.browsers import SECONDS
from tests.server.pages.seeing import settle, violations
from tests.server.servers import Server


def until(browser: webdriver.Chrome, is_so: Callable[[], bool]) -> None:
    """Wait for something to become so."""
    WebDriverWait(browser, SECONDS).until(lambda _: is_so())


def test_a_list_follows_what_is_written(browser: webdriver.Chrome, demo_server: Server) -> None:
    """The address follows, too: back and forward lead through it, and other filters stay."""

    def names() -> list[str]:
        script = (
            "return [...document.querySelectorAll('.packages tbody th')].map(it => it.innerText)"
        )
        return list(browser.execute_script(script))

    browser.get(f"{demo_server.url}/r/develop?order=NUM_SPECS")
    everything = names()
    part = everything[0][:3]
    browser.find_element(By.CSS_SELECTOR, "form.narrow input[name=search]").send_keys(part)
    until(browser, lambda: f"search={part}" in browser.current_url)
    assert "order=NUM_SPECS" in browser.current_url
    assert names() == [it for it in names() if part in it] != everything
    assert browser.find_element(By.ID, "count").text.startswith(f"{len(names())} package")
    browser.back()
    until(browser, lambda: names() == everything)
    browser.forward()
    until(browser, lambda: f"search={part}" in browser.current_url and names() != everything)

    browser.get(f"{demo_server.url}/search")
    box = browser.find_element(By.CSS_SELECTOR, "form.find input[name=q]")
    box.send_keys(f"{everything[0]}@")
    until(browser, lambda: bool(browser.find_elements(By.CSS_SELECTOR, "pre.query mark")))
    box.send_keys(":")
    until(browser, lambda: bool(browser.find_elements(By.CSS_SELECTOR, "table.specs")))
    assert browser.get_log("browser") == []  # type: ignore[no-untyped-call]


_OPTIONS = """
return [...document.querySelectorAll(".suggestions [role=option] span")].map((it) => it.innerText)
"""
_ACTIVE = "return document.getElementById(arguments[0])?.querySelector('span').innerText ?? ''"


@pytest.mark.parametrize("page", ["/", "/r/develop"])
def test_the_search_suggests(
    browser: webdriver.Chrome, demo_server: Server, axe: str, page: str
) -> None:
    """A combobox: arrows choose, Escape closes, Enter opens; readers of screens are told."""
    browser.get(demo_server.url + page)
    settle(browser)
    box = browser.find_element(By.CSS_SELECTOR, ".search [name=q]")
    box.send_keys("hdf")
    until(browser, lambda: bool(browser.execute_script(_OPTIONS)))
    values = browser.execute_script(_OPTIONS)
    assert [value for value in values if "hdf" in value] == values
    assert box.get_attribute("aria-expanded") == "true"
    (status,) = browser.find_elements(By.CSS_SELECTOR, "body > [role=status]")
    assert f"{len(values)} suggestion" in (status.get_attribute("textContent") or "")
    assert violations(browser, axe) == []

    def active() -> str:
        script = (
            "return document.getElementById(arguments[0])?.querySelector('span').innerText ?? ''"
        )
        named = box.get_attribute("aria-activedescendant")
        return str(browser.execute_script(script, named))

    box.send_keys(Keys.ARROW_DOWN)
    assert active() == values[0]
    box.send_keys(Keys.ARROW_UP)
    assert active() == ""
    box.send_keys(Keys.ARROW_UP)
    assert active() == values[-1]
    box.send_keys(Keys.ESCAPE)
    assert (box.get_attribute("aria-expanded"), box.get_attribute("value")) == ("false", "hdf")
    box.send_keys(Keys.ARROW_DOWN)
    until(browser, lambda: bool(browser.execute_script(_OPTIONS)))
    box.send_keys(Keys.ARROW_DOWN, Keys.ENTER)
    until(browser, lambda: browser.current_url.endswith(f"/packages/{values[0]}"))
    assert browser.get_log("browser") == []  # type: ignore[no-untyped-call]


def test_a_click_opens_what_is_suggested(
    browser: webdriver.Chrome, told_server: Server, pages: dict[str, str]
) -> None:
    """In the revision that the page is about; to leave the box takes the list away."""
    name = pages["package"].rpartition("/")[2]
    browser.get(f"{told_server.url}/r/develop~1")
    settle(browser)
    box = browser.find_element(By.CSS_SELECTOR, ".search [name=q]")
    box.send_keys(name)
    until(browser, lambda: bool(browser.execute_script(_OPTIONS)))
    box.send_keys(Keys.TAB)
    assert browser.execute_script(_OPTIONS) == []
    box.send_keys(Keys.ARROW_DOWN)
    until(browser, lambda: bool(browser.execute_script(_OPTIONS)))
    browser.find_element(By.CSS_SELECTOR, ".suggestions [role=option]").click()
    until(browser, lambda: browser.current_url.endswith(f"/r/develop~1/packages/{name}"))
