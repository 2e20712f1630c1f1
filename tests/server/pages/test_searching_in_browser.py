"""Lists and suggestions that follow the text in a search field, in a real browser."""

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement

from tests.server.browsers import wait_for
from tests.server.pages.browser import settle, violations

_OPTIONS = """
return [...document.querySelectorAll(".suggestions [role=option] span")].map((it) => it.innerText)
"""
_ACTIVE = "return document.getElementById(arguments[0])?.querySelector('span').innerText ?? ''"
_NAMES = "return [...document.querySelectorAll('.packages tbody th')].map((it) => it.innerText)"


def searched(browser: webdriver.Chrome, address: str, text: str) -> WebElement:
    """Open a page, type into its search field, and return the field."""
    browser.get(address)
    settle(browser)
    box = browser.find_element(By.CSS_SELECTOR, ".search [name=q]")
    box.send_keys(text)
    wait_for(browser, lambda: bool(browser.execute_script(_OPTIONS)))
    return box


def test_list_is_filtered_while_typing(browser: webdriver.Chrome, pages: dict[str, str]) -> None:
    """The URL follows as well: back and forward work, and other filters stay."""

    def names() -> list[str]:
        return list(browser.execute_script(_NAMES))

    browser.get(f"{pages['revision']}?order=NUM_SPECS")
    everything = names()
    part = everything[0][:3]
    browser.find_element(By.CSS_SELECTOR, "form.narrow input[name=search]").send_keys(part)
    wait_for(browser, lambda: f"search={part}" in browser.current_url)
    assert "order=NUM_SPECS" in browser.current_url
    assert names() == [name for name in names() if part in name] != everything
    assert browser.find_element(By.ID, "count").text.startswith(f"{len(names())} package")
    browser.back()
    wait_for(browser, lambda: names() == everything)
    browser.forward()
    wait_for(browser, lambda: f"search={part}" in browser.current_url and names() != everything)


def test_results_are_updated_while_typing(browser: webdriver.Chrome, pages: dict[str, str]) -> None:
    """Results of a query, the error of an incomplete one, and an empty list."""

    def appears(selector: str) -> None:
        wait_for(browser, lambda: bool(browser.find_elements(By.CSS_SELECTOR, selector)))

    browser.get(pages["search-empty"])
    box = browser.find_element(By.CSS_SELECTOR, "form.find input[name=q]")
    box.send_keys(f"{pages['package'].rpartition('/')[2]}@")
    appears("pre.query mark")
    box.send_keys(":")
    appears("table.specs")
    browser.get(pages["compare-packages"])
    browser.find_element(By.CSS_SELECTOR, "#tab input[type=search]").send_keys("no-such-package")
    appears("#results .none")


def test_search_suggestions(browser: webdriver.Chrome, pages: dict[str, str], axe: str) -> None:
    """A combobox: arrows select, Escape closes, Enter opens; screen readers hear the number."""
    name = pages["package"].rpartition("/")[2]
    box = searched(browser, pages["home"], name[:3])
    values = browser.execute_script(_OPTIONS)
    assert [value for value in values if name[:3] in value] == values
    assert box.get_attribute("aria-expanded") == "true"
    (status,) = browser.find_elements(By.CSS_SELECTOR, "body > [role=status]")
    assert f"{len(values)} suggestion" in (status.get_attribute("textContent") or "")
    assert violations(browser, axe) == []

    def active() -> str:
        return str(browser.execute_script(_ACTIVE, box.get_attribute("aria-activedescendant")))

    box.send_keys(Keys.ARROW_DOWN)
    assert active() == values[0]
    box.send_keys(Keys.ARROW_UP)
    assert active() == ""
    box.send_keys(Keys.ARROW_UP)
    assert active() == values[-1]
    box.send_keys(Keys.ESCAPE)
    assert (box.get_attribute("aria-expanded"), box.get_attribute("value")) == ("false", name[:3])
    box.send_keys(Keys.ARROW_DOWN)
    wait_for(browser, lambda: bool(browser.execute_script(_OPTIONS)))
    box.send_keys(Keys.ARROW_DOWN, Keys.ENTER)
    wait_for(browser, lambda: browser.current_url.endswith(f"/packages/{values[0]}"))


def test_click_opens_a_suggestion(browser: webdriver.Chrome, pages: dict[str, str]) -> None:
    """It opens in the revision of the page; the list closes when the field loses the focus."""
    name = pages["package"].rpartition("/")[2]
    box = searched(browser, f"{pages['revision']}~1", name)
    box.send_keys(Keys.TAB)
    assert browser.execute_script(_OPTIONS) == []
    box.send_keys(Keys.ARROW_DOWN)
    wait_for(browser, lambda: bool(browser.execute_script(_OPTIONS)))
    browser.find_element(By.CSS_SELECTOR, ".suggestions [role=option]").click()
    wait_for(browser, lambda: browser.current_url.endswith(f"/r/develop~1/packages/{name}"))
