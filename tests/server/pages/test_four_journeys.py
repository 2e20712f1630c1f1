"""What the four kinds of readers come for, each in at most four actions, counted."""

from collections.abc import Iterator
from typing import Literal

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait

from snapshots.catalog.catalog import Catalog
from tests.server.browsers import SECONDS
from tests.server.pages.seeing import complaints, settle, violations
from tests.server.servers import Server, serving
from tests.snapshots.factories import a_snapshot, a_spec, day
from tests.snapshots.sources.buildcache.indexes import node
from tests.snapshots.sources.lockfiles.locks import as_bytes, lock_file

MOST_ACTIONS = 4
ARM = a_spec("arm", target="neoverse_v1", stacks=("e4s-arm", "root"))
X86, NEWER = a_spec("old"), a_spec("new", version="1.14.6")
ZLIB = a_spec("zlib", name="zlib", version="1.3")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Serve a develop that lost its builds for Arm, and two releases."""
    folder = tmp_path_factory.mktemp("journeys")
    Catalog(str(folder / "catalog")).publish(
        [
            a_snapshot([ARM, X86, ZLIB], "develop", day(1)),
            a_snapshot([NEWER], "develop", day(8)),
            a_snapshot([X86, ZLIB], "v1.0", day(2)),
            a_snapshot([NEWER, ZLIB], "v1.1", day(9)),
        ]
    )
    with serving(folder / "catalog", folder / "log") as started:
        yield started


class Visit:
    """A visit that begins on the first page; everything that a reader does counts."""

    def __init__(self, browser: webdriver.Chrome, url: str) -> None:
        self._browser = browser
        self.num_actions = 0
        browser.get(url)
        settle(browser)

    def seen(self, selector: str, text: str = "") -> WebElement:
        """Return the first element that is to be seen and has a text, as soon as there is one."""

        def element(browser: webdriver.Chrome) -> WebElement | Literal[False]:
            every = browser.find_elements(By.CSS_SELECTOR, selector)
            return next((it for it in every if it.is_displayed() and text in it.text), False)

        return WebDriverWait(self._browser, SECONDS).until(element)

    def click(self, selector: str, text: str = "") -> None:
        """Click on something."""
        self.seen(selector, text).click()
        self._done()

    def write(self, selector: str, *keys: str) -> None:
        """Write into a field, or paste; with the key that sends it this is one action."""
        self.seen(selector).send_keys(*keys)
        self._done()

    def _done(self) -> None:
        self.num_actions += 1
        assert self.num_actions <= MOST_ACTIONS
        settle(self._browser)


@pytest.fixture
def visit(browser: webdriver.Chrome, server: Server, axe: str) -> Iterator[Visit]:
    """Return a visit; where it ends nothing is to be complained of."""
    yield Visit(browser, server.url)
    assert violations(browser, axe) == []
    assert complaints(browser) == []


def test_a_release_manager_takes_the_notes(visit: Visit) -> None:
    """What changed between the last two releases and why: three actions, with the notes copied."""
    visit.click("tr:has(a[href*='vX.Y.Z']) td:last-child a")
    assert visit.seen(".causes summary", "hdf5").text
    visit.click("nav a", "Notes")
    visit.click("button", "Copy Markdown")
    assert visit.seen(".status", "Copied.")


def test_a_user_looks_for_a_binary_for_arm(visit: Visit) -> None:
    """Since when there is no hdf5 for an Arm node, why, and what is nearest: four actions."""
    visit.write("main [name=q]", "hdf5")
    visit.click(".suggestions [role=option]", "hdf5")
    visit.click("main a", "Availability by target")
    visit.click("[aria-label=Target] a", "neoverse_v1")
    assert "develop has none since develop 2025-01-13" in visit.seen(".lead").text
    assert "1 stack gone" in visit.seen("[aria-label='When it was there'] tbody tr").text
    assert NEWER.hash[:7] in visit.seen("[aria-label='Nearest specs'] tbody tr").text


def test_a_site_admin_checks_a_lock_file(visit: Visit) -> None:
    """What of a spack.lock is missing, since when, why, and what is nearest: three actions."""
    specs = [node("hdf5", ARM.hash, ARM.version), node("zlib", ZLIB.hash, ZLIB.version)]
    text = as_bytes(lock_file(specs, [ARM.hash])).decode()
    visit.click("header nav a", "Lock file")
    visit.write("textarea", text)
    visit.click("main form button[type=submit]")
    missing = visit.seen("[aria-label^='Missing specs'] tbody tr").text
    for part in (ARM.hash[:7], "develop 2025-01-06", "develop 2025-01-13", "stack gone"):
        assert part in missing


@pytest.mark.parametrize("length", [32, 9])
def test_somebody_has_a_hash(visit: Visit, length: int) -> None:
    """Where it is, and what took its place, from the whole of it or the beginning: two actions."""
    visit.write("main [name=q]", f"/{X86.hash[:length]}", Keys.ENTER)
    visit.click("main a", "See where and when")
    assert "replaced" in visit.seen(".stays tbody").text
    assert visit.seen("dt", "Took its place")
    assert NEWER.hash[:7] in visit.seen("dl.facts dd").text
