"""The search of a site, in a browser that has the site on a disk."""

from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

from snapshots.catalog.catalog import Catalog
from tests.server.browsers import SECONDS
from tests.server.pages.seeing import settle
from tests.server.site.sites import exported
from tests.snapshots.factories import a_snapshot, a_spec, day

SPEC, OTHER = a_spec("a", name="py-numpy"), a_spec("b", name="zlib")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a site of two revisions, of which the second lost a package."""
    folder = tmp_path_factory.mktemp("searched")
    snapshots = [
        a_snapshot([SPEC, OTHER], "develop", day(1)),
        a_snapshot([SPEC], "develop", day(2)),
    ]
    Catalog(str(folder / "catalog")).publish(snapshots)
    assert exported(folder / "catalog", folder / "site").code == 0
    return folder / "site"


def written(browser: webdriver.Chrome, page: Path, text: str, shown: int) -> list[str]:
    """Write into the search box of a page; return the suggestions as soon as there are so many."""
    browser.get(page.as_uri())
    settle(browser)
    browser.find_element(By.CSS_SELECTOR, "[role=search] input").send_keys(text)
    options = (By.CSS_SELECTOR, ".suggestions [role=option]")
    WebDriverWait(browser, SECONDS).until(lambda _: len(browser.find_elements(*options)) == shown)
    return [it.text for it in browser.find_elements(*options)]


@pytest.mark.parametrize(
    ("text", "title"),
    [("numpy", "py-numpy"), ("zli", "zlib"), (f"/{OTHER.hash[:9]}", "zlib@1.14.5")],
)
def test_what_is_written_leads_to_its_page(
    browser: webdriver.Chrome, site: Path, text: str, title: str
) -> None:
    """By a part of its name or the beginning of a hash; Enter opens the first suggestion."""
    (suggestion,) = written(browser, site / "series/develop/index.html", text, 1)
    assert title.partition("@")[0] in suggestion
    browser.find_element(By.CSS_SELECTOR, "[role=search] input").send_keys(Keys.ENTER)
    WebDriverWait(browser, SECONDS).until(lambda _: "/series/" not in browser.current_url)
    assert browser.find_element(By.CSS_SELECTOR, "h1").text == title


def test_the_same_name_comes_first(browser: webdriver.Chrome, site: Path) -> None:
    """Then what only begins so; nothing is suggested for what the site does not have."""
    first, *_ = written(browser, site / "index.html", "develop", 2)
    assert first.startswith("develop\nseries")
    assert written(browser, site / "index.html", "nothing-like-it", 0) == []
