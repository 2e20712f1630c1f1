"""All pages in a real browser: accessibility, keyboard use, layout, searches, and other scripts."""

import httpx
import pytest
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from starlette.routing import compile_path

from server.pages.renderer import assets
from server.pages.routes import PAGES
from tests.expensive import IS_QUICK
from tests.server.browsers import wait_for
from tests.server.pages.browser import (
    OF_LOOKS,
    complaints,
    loaded,
    run_in_every_page,
    seen_as,
    settle,
    sideways,
    violations,
)
from tests.server.pages.page_reader import data_of

NARROW = 360
COMPONENTS = (
    *("home", "series", "package", "availability", "spec", "search-unreadable", "compare"),
    *("compare-packages", "compare-coverage", "compare-notes", "check", "missing"),
)
"""Pages that together show each component. The suite checks colours on these alone."""

SAME_TEMPLATE = (
    *("revision-filtered", "search-empty", "rebuilt-spec", "compare-stack", "compare-narrowed"),
    *("compare-pickers", "spec-pair-form", "plan"),
)
"""Pages without components of their own, which the suite omits."""

_FEWER_ROWS = """
document.querySelectorAll("tbody tr:nth-child(n+4), li:nth-child(n+4)")
  .forEach((row) => row.remove());
"""
"""Shortens tables and lists to three rows, which the suite checks in place of all."""

BY_KEYBOARD = ("home", "compare", "check", "spec")
CARDS = ("series", "revision", "package", "compare-specs", "compare-packages", "hash")


def test_tour_shows_all_pages(pages: dict[str, str]) -> None:
    """Every page in the routes is tested here."""
    paths = [httpx.URL(address).path for address in pages.values()]
    for page in PAGES:
        if page.template_name.endswith(".html"):
            pattern, *_ = compile_path(page.path)
            assert any(map(pattern.match, paths)), page.path


@pytest.mark.long
def test_pages_are_accessible(browser: webdriver.Chrome, pages: dict[str, str], axe: str) -> None:
    """Pages log no error, load nothing from other hosts, and are no wider than the window.

    axe-core reports no violation, Tab reaches all controls, and narrow rows become cards.
    """
    faults: dict[str, list[str]] = {}
    run_in_every_page(browser, axe)
    for name, address in pages.items():
        if IS_QUICK and name in SAME_TEMPLATE:
            continue
        seen_as(browser, "light", 1600)
        browser.get(address)
        settle(browser)
        logged = complaints(browser)
        assert name == "missing" or logged == []  # the console shows the status of that page
        origin = str(httpx.URL(address).join("/"))
        assert [url for url in loaded(browser) if not url.startswith((origin, "data:"))] == []
        assert sideways(browser) == 0, name
        if IS_QUICK:
            browser.execute_script(_FEWER_ROWS)
        is_for_looks = name in COMPONENTS or not IS_QUICK
        without = () if is_for_looks else OF_LOOKS
        faults[f"{name} light wide"] = violations(browser, axe, without=without)
        if name in BY_KEYBOARD:
            faults[f"{name} by keyboard"] = _passed_over(browser)
        seen_as(browser, "dark", NARROW)
        wait_for(browser, lambda: sideways(browser) == 0)
        if name in CARDS:
            assert _faulty_cards(browser) == [], name
        if is_for_looks:
            faults[f"{name} dark narrow"] = violations(browser, axe, *OF_LOOKS)
        if not IS_QUICK:
            seen_as(browser, "light", NARROW)
            faults[f"{name} light narrow"] = violations(browser, axe)
            seen_as(browser, "dark", 1600)
            faults[f"{name} dark wide"] = violations(browser, axe, *OF_LOOKS)
    assert {where: fault for where, fault in faults.items() if fault} == {}


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


def _passed_over(browser: webdriver.Chrome) -> list[str]:
    """Press Tab through a page; return controls without a visible focus, and the number missed."""
    browser.execute_script(_WATCH)
    num_focusable = browser.execute_script(_FOCUSABLE)
    body = browser.find_element(By.TAG_NAME, "body")
    body.send_keys(Keys.TAB)
    assert browser.switch_to.active_element.text == "Skip to the content"
    body.send_keys(Keys.TAB * num_focusable)
    num_reached, unseen = browser.execute_script(_REACHED)
    left_out = num_focusable - num_reached
    return [*unseen, *([f"{left_out} of {num_focusable}"] if left_out > 0 else [])]


_CARDS = """
return [...document.querySelectorAll(".table:not(.places, :has(.matrix))")].flatMap((it) => [
  ...(it.scrollWidth - it.clientWidth > 1 ? ["off the screen"] : []),  // 1 is rounded
  ...[...it.querySelectorAll(".cards td:not([data-label], :empty)")]
    .map((cell) => cell.outerHTML),
])
"""


def _faulty_cards(browser: webdriver.Chrome) -> list[str]:
    """Return cells that are off the screen or have no label. Only a matrix may scroll."""
    faults: list[str] = browser.execute_script(_CARDS)
    return faults


def test_keyboard_shortcuts(browser: webdriver.Chrome, pages: dict[str, str]) -> None:
    """The first link skips the page header, and a slash moves the focus to the search."""
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
    """A button beside a short hash copies the full hash, and announces it to screen readers."""
    browser.get(pages["spec"])
    settle(browser)
    whole = browser.find_element(By.CSS_SELECTOR, "main [data-copy]")
    whole.find_element(By.CSS_SELECTOR, "button.copy").click()
    status = browser.find_element(By.CSS_SELECTOR, "[role=status].hidden")
    wait_for(browser, lambda: status.text == "Copied")
    field = browser.find_element(By.CSS_SELECTOR, ".search input")
    field.send_keys(Keys.CONTROL, "v")
    assert field.get_attribute("value") == whole.get_attribute("data-copy")


_DEEP = """{ revision(ref: "develop") { specs(first: 50) { nodes {
  hash
  dependencies(first: 20) { nodes { spec { hash dependencies(first: 1) { totalCount } } } }
} } } }"""


def test_dependency_tree_expands(browser: webdriver.Chrome, history_client: httpx.Client) -> None:
    """The dependencies of a dependency are loaded once, on expansion, and their links work."""
    digest, below, count = next(
        (spec["hash"], needed["spec"]["hash"], needed["spec"]["dependencies"]["totalCount"])
        for spec in data_of(history_client, _DEEP)["revision"]["specs"]["nodes"]
        for needed in spec["dependencies"]["nodes"]
        if needed["spec"] is not None and needed["spec"]["dependencies"]["totalCount"] > 1
    )
    browser.get(str(history_client.base_url.join(f"/r/develop/specs/{digest}")))
    settle(browser)
    details = browser.find_element(
        By.CSS_SELECTOR, f"#needs > .tree > li > details:has(a[href$='{below}'])"
    )
    for _ in range(3):  # open, closed, open
        details.find_element(By.TAG_NAME, "summary").click()

    def branches() -> list[WebElement]:
        return details.find_elements(By.CSS_SELECTOR, ".tree > li")

    wait_for(browser, lambda: bool(branches()))
    assert len(branches()) == count
    for link in details.find_elements(By.CSS_SELECTOR, ".tree a[href*='/r/develop/specs/']"):
        assert history_client.get(str(link.get_property("href"))).status_code == 200


_GROWTH = '{ series(name: "develop") { growth { takenAt numSpecs } } }'


@pytest.mark.skipif("uplot.js" not in assets(), reason="the build brought no uPlot")
def test_charts_show_the_value_at_the_pointer(
    browser: webdriver.Chrome, pages: dict[str, str], history_client: httpx.Client
) -> None:
    """All charts show the values of one date; charts fit the window, and the layout is stable."""
    browser.get(pages["series"])
    settle(browser)
    plots = browser.find_elements(By.CSS_SELECTOR, ".plot .u-over")
    assert len(plots) == 4
    height = _height(browser)
    first = data_of(history_client, _GROWTH)["series"]["growth"][0]
    left = -plots[0].size["width"] // 2 + 2
    ActionChains(browser).move_to_element_with_offset(plots[0], left, 0).perform()
    texts = [element.text for element in browser.find_elements(By.CSS_SELECTOR, ".chart .at")]
    assert texts[0] == f"{first['takenAt'][:10]}: {first['numSpecs']:,}"
    assert {text[:10] for text in texts} == {first["takenAt"][:10]}
    assert _height(browser) == height

    def width() -> int:
        return int(browser.find_element(By.CSS_SELECTOR, ".plot canvas").size["width"])

    wide = width()
    seen_as(browser, "dark", NARROW)
    wait_for(browser, lambda: width() < wide)
    wait_for(browser, lambda: sideways(browser) == 0)


def _height(browser: webdriver.Chrome) -> int:
    return int(browser.execute_script("return document.documentElement.scrollHeight"))


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
    wait_for(browser, lambda: not browser.find_elements(By.CSS_SELECTOR, "#results tbody tr"))
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
    # In the revision of the page; the list closes when the field loses the focus.
    box = searched(browser, f"{pages['revision']}~1", name)
    box.send_keys(Keys.TAB)
    assert browser.execute_script(_OPTIONS) == []
    box.send_keys(Keys.ARROW_DOWN)
    wait_for(browser, lambda: bool(browser.execute_script(_OPTIONS)))
    browser.find_element(By.CSS_SELECTOR, ".suggestions [role=option]").click()
    wait_for(browser, lambda: browser.current_url.endswith(f"/r/develop~1/packages/{name}"))
