"""Lists that narrow down while somebody writes, in a real browser."""

from collections.abc import Callable

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from tests.server.browsers import SECONDS
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
