"""All pages in a real browser: they load, and everybody can read and reach what they show."""

from collections.abc import Sequence

import httpx
import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait
from starlette.routing import compile_path

from server.pages.routes import PAGES
from tests.expensive import IS_QUICK
from tests.server.browsers import SECONDS
from tests.server.pages.seeing import (
    complaints,
    loaded,
    seen_as,
    settle,
    sideways,
    violations,
)

OF_LOOKS = ("color-contrast", "target-size", "link-in-text-block", "scrollable-region-focusable")
"""What colours and widths change of a page; the rest is the same however it is seen."""

LOOKS: dict[tuple[str, int], Sequence[str]] = {
    ("light", 1600): (),
    ("dark", 360): (),
    **({} if IS_QUICK else {("light", 360): OF_LOOKS, ("dark", 1600): OF_LOOKS}),
}
"""Colours and widths, with the rules that count there: all where none is named."""


def test_the_tour_shows_all_pages(pages: dict[str, str]) -> None:
    """A page that is added to the routes is tested here, too."""
    visited = [httpx.URL(it).path for it in pages.values()]
    for page in PAGES:
        if page.template_name.endswith(".html"):
            assert any(_is_at(page.path, it) for it in visited), page.path


def test_rows_are_cards_on_a_telephone(browser: webdriver.Chrome, pages: dict[str, str]) -> None:
    """No cell is off the screen, and each says what it is; a matrix alone scrolls."""
    for name in ("series", "revision", "package", "compare-specs", "compare-packages", "hash"):
        seen_as(browser, "light", 390)
        browser.get(pages[name])
        settle(browser)
        boxes = ".table:not(.places, :has(.matrix))"
        script = f"return [...document.querySelectorAll('{boxes}')].map("
        wider = "(it) => it.scrollWidth - it.clientWidth)"
        assert max(browser.execute_script(script + wider)) <= 1, name  # what is rounded
        unsaid = (
            "(it) => it.querySelectorAll('table:not(.log) td:not([data-label], :empty)').length)"
        )
        assert set(browser.execute_script(script + unsaid)) == {0}, name


def test_heads_of_long_tables_stay(browser: webdriver.Chrome, pages: dict[str, str]) -> None:
    """However far down a reader is in the table, on a screen that its columns fit."""
    seen_as(browser, "light", 1600, 500)
    browser.get(pages["compare-specs"])
    settle(browser)
    browser.execute_script("document.querySelector('tbody tr:nth-child(20)').scrollIntoView()")
    script = "return document.querySelector('thead th').getBoundingClientRect().top"
    assert browser.execute_script(script) == 0


@pytest.mark.long
def test_everybody_can_read_pages(
    browser: webdriver.Chrome, pages: dict[str, str], axe: str
) -> None:
    """Without a complaint in the console, without a foreign request, no wider than the window.

    axe-core finds nothing on any page: light and dark, narrow and wide.
    """
    found = {}
    for name, address in pages.items():
        seen_as(browser, "light", 1600)
        browser.get(address)
        settle(browser)
        if name != "missing":  # whose status the console tells
            assert complaints(browser) == []
        origin = str(httpx.URL(address).join("/"))
        assert [it for it in loaded(browser) if not it.startswith((origin, "data:"))] == []
        for look, rules in LOOKS.items():
            seen_as(browser, *look)
            assert (name, look, sideways(browser)) == (name, look, 0)
            if wrong := violations(browser, axe, *rules):
                found[name, look] = wrong
    assert found == {}


def test_the_parts_of_a_comparison_are_seen_at_once(
    browser: webdriver.Chrome, pages: dict[str, str]
) -> None:
    """On a telephone too: in one line below the totals, and within the first screen."""
    seen_as(browser, "light", 360, 800)
    browser.get(pages["compare-packages"])
    settle(browser)
    tabs, totals = (
        browser.find_element(By.CSS_SELECTOR, selector).rect for selector in (".tabs", ".totals")
    )
    assert totals["y"] + totals["height"] <= tabs["y"] < tabs["y"] + tabs["height"] <= 800
    assert len({it.rect["y"] for it in browser.find_elements(By.CSS_SELECTOR, ".tabs a")}) == 1


_FOCUSABLE = """
return [...document.querySelectorAll(
  "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']")]
  .filter((it) => it.checkVisibility({visibilityProperty: true}) && !it.disabled)
  .filter((it) => it.type !== "radio" || it.checked)
  .length
"""
_WATCH = """
window.reached = new Map();
document.addEventListener("focusin", ({target}) => {
  const style = getComputedStyle(target);
  reached.set(target, parseFloat(style.outlineWidth) > 0 && style.outlineStyle !== "none"
    && target.getBoundingClientRect().height > 0);
});
"""
_REACHED = "return [reached.size, [...reached].filter((it) => !it[1]).map((it) => it[0].outerHTML)]"


@pytest.mark.parametrize("name", ["home", "compare", "check", "spec"])
def test_the_keyboard_reaches_everything(
    browser: webdriver.Chrome, pages: dict[str, str], name: str
) -> None:
    """Tab goes from link to link and shows where it is; first is the way past the head."""
    seen_as(browser, "light", 1600)
    browser.get(pages[name])
    settle(browser)
    browser.execute_script(_WATCH)
    wanted = browser.execute_script(_FOCUSABLE)
    body = browser.find_element(By.TAG_NAME, "body")
    body.send_keys(Keys.TAB)
    assert browser.switch_to.active_element.text == "Skip to the content"
    body.send_keys(Keys.TAB * wanted)
    num_reached, unseen = browser.execute_script(_REACHED)
    assert unseen == []
    assert num_reached >= wanted


def test_the_keyboard_skips_and_searches(browser: webdriver.Chrome, pages: dict[str, str]) -> None:
    """The first link leads past the head of the page; a slash leads to the search."""
    browser.get(pages["revision"])
    settle(browser)
    browser.find_element(By.TAG_NAME, "body").send_keys(Keys.TAB, Keys.ENTER)
    assert browser.current_url.endswith("#main")
    browser.find_element(By.TAG_NAME, "body").send_keys("/")
    field = browser.switch_to.active_element
    assert field.get_attribute("name") == "q"
    field.send_keys("a/b")
    assert field.get_attribute("value") == "a/b"


def test_hashes_are_copied(browser: webdriver.Chrome, pages: dict[str, str]) -> None:
    """A button beside a short hash copies the whole of it, and says so to those who do not see."""
    browser.get(pages["spec"])
    settle(browser)
    whole = browser.find_element(By.CSS_SELECTOR, "main [data-copy]")
    whole.find_element(By.CSS_SELECTOR, "button.copy").click()
    told = browser.find_element(By.CSS_SELECTOR, "[role=status].hidden")
    WebDriverWait(browser, SECONDS).until(lambda _: told.text == "Copied")
    field = browser.find_element(By.CSS_SELECTOR, ".search input")
    field.send_keys(Keys.CONTROL, "v")
    assert field.get_attribute("value") == whole.get_attribute("data-copy")


def _is_at(path: str, address: str) -> bool:
    """Tell whether an address is one of a page's path, its parameters filled in."""
    pattern, *_ = compile_path(path)
    return pattern.match(address) is not None
