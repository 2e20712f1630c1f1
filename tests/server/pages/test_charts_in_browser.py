"""Charts to zoom and point at, in a real browser."""

from typing import Any

import httpx
import pytest
from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from server.pages.renderer import assets
from tests.server.browsers import SECONDS
from tests.server.pages.seeing import seen_as, settle
from tests.server.servers import Server

pytestmark = pytest.mark.skipif("uplot.js" not in assets(), reason="the build brought no uPlot")

SERIES = "{ allSeries { name revisions { totalCount } growth { takenAt numSpecs specsAdded } } }"


@pytest.fixture
def growing(client: httpx.Client) -> Any:
    """Return the series of the demo that has most revisions."""
    every = client.post("/graphql", json={"query": SERIES}).json()["data"]["allSeries"]
    return max(every, key=lambda it: it["revisions"]["totalCount"])


def texts(browser: webdriver.Chrome, selector: str) -> list[str]:
    """Return the texts of what a selector finds."""
    return [it.text for it in browser.find_elements(By.CSS_SELECTOR, selector)]


def height(browser: webdriver.Chrome) -> int:
    """Return how high the page is."""
    return int(browser.execute_script("return document.documentElement.scrollHeight"))


def test_charts_tell_what_is_pointed_at(
    browser: webdriver.Chrome, demo_server: Server, growing: Any
) -> None:
    """All of them at once; they fit their room in every window, and nothing jumps."""
    seen_as(browser, "light", 1200)
    browser.get(f"{demo_server.url}/series/{growing['name']}")
    settle(browser)
    plots = browser.find_elements(By.CSS_SELECTOR, ".plot .u-over")
    assert len(plots) == 4
    high = height(browser)
    first = growing["growth"][0]
    left = -plots[0].size["width"] // 2 + 2
    ActionChains(browser).move_to_element_with_offset(plots[0], left, 0).perform()
    told = texts(browser, ".chart .at")
    assert told[0] == f"{first['takenAt'][:10]}: {first['numSpecs']:,}"
    assert {it[:10] for it in told} == {first["takenAt"][:10]}
    assert height(browser) == high

    canvas = browser.find_element(By.CSS_SELECTOR, ".plot canvas")
    wide = canvas.size["width"]
    seen_as(browser, "dark", 360)
    # A chart is drawn anew between one look and the next.
    stale = [StaleElementReferenceException]
    WebDriverWait(browser, SECONDS, ignored_exceptions=stale).until(
        lambda _: browser.find_element(By.CSS_SELECTOR, ".plot canvas").size["width"] < wide
    )
    assert browser.execute_script("return document.documentElement.scrollWidth <= innerWidth")
    assert browser.get_log("browser") == []  # type: ignore[no-untyped-call]
