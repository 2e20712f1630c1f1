"""Common tasks of readers on the pages, each in at most four actions."""

from typing import Literal

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement

from tests.server.browsers import wait_for
from tests.server.pages.browser import OF_LOOKS, seen_as, settle, sideways, violations
from tests.server.pages.page_reader import Serve
from tests.snapshots.factories import a_snapshot, a_spec, day
from tests.snapshots.sources.buildcache.indexes import node
from tests.snapshots.sources.lockfiles.locks import as_bytes, lock_file

MAX_ACTIONS = 4
ARM = a_spec("arm", target="neoverse_v1", stacks=("e4s-arm", "root"))
X86, NEWER = a_spec("old"), a_spec("new", version="1.14.6")
ZLIB = a_spec("zlib", name="zlib", version="1.3")
LOCK = as_bytes(
    lock_file(
        [node("hdf5", ARM.hash, ARM.version), node("zlib", ZLIB.hash, ZLIB.version)], [ARM.hash]
    )
).decode()

_DROP = """
const [text, area] = [arguments[0], document.querySelector("textarea")];
const dropped = new DataTransfer();
dropped.items.add(new File([text], "spack.lock"));
for (const name of ["dragenter", "dragover", "drop"]) {
  const event = new DragEvent(name, { dataTransfer: dropped, bubbles: true, cancelable: true });
  area.dispatchEvent(event);
  if (!event.defaultPrevented) throw new Error(name);
}
"""


@pytest.fixture(scope="module")
def lost_builds(serve: Serve) -> str:
    """Return the address of a server with releases, and a develop without its former Arm builds."""
    client = serve(
        a_snapshot([ARM, X86, ZLIB], "develop", day(1)),
        a_snapshot([NEWER], "develop", day(8)),
        a_snapshot([X86, ZLIB], "v1.0", day(2)),
        a_snapshot([NEWER, ZLIB], "v1.1", day(9)),
    )
    return str(client.base_url)


class Visit:
    """A visit that begins on the home page, and counts the reader's actions."""

    def __init__(self, browser: webdriver.Chrome, url: str) -> None:
        self.browser = browser
        self.num_actions = 0
        browser.get(url)
        settle(browser)

    def visible(self, selector: str, text: str = "") -> WebElement:
        """Wait for a visible element that contains a text, and return the first one."""

        def element() -> WebElement | Literal[False]:
            elements = self.browser.find_elements(By.CSS_SELECTOR, selector)
            visible = (one for one in elements if text in one.text and one.is_displayed())
            return next(visible, False)

        return wait_for(self.browser, element)

    def click(self, selector: str, text: str = "") -> None:
        """Click an element."""
        self.visible(selector, text).click()
        self._count()

    def type(self, selector: str, *keys: str) -> None:
        """Type into a field. This is one action, including the key that submits it."""
        self.visible(selector).send_keys(*keys)
        self._count()

    def drop_file(self, content: str) -> None:
        """Drop a lock file on the form."""
        self.browser.execute_script(_DROP, content)
        self._count()

    def _count(self) -> None:
        self.num_actions += 1
        assert self.num_actions <= MAX_ACTIONS
        settle(self.browser)


@pytest.fixture
def visit(browser: webdriver.Chrome, lost_builds: str) -> Visit:
    """Return a visit of the server with lost builds."""
    return Visit(browser, lost_builds)


def test_release_notes_are_copied(visit: Visit) -> None:
    """The changes between the last two releases, their causes, and the notes: three actions."""
    visit.click("article:has(a[href*='vX.Y.Z']) li a")
    assert visit.visible(".causes summary", "hdf5").text
    visit.click("nav a", "Notes")
    visit.click("button", "Copy Markdown")
    assert visit.visible(".status", "Copied.")
    field = visit.visible("header [name=q]")
    field.clear()
    field.send_keys(Keys.CONTROL, "v")
    assert "v1.0" in str(field.get_property("value"))


def test_binary_for_a_target_is_searched(visit: Visit) -> None:
    """When hdf5 for Arm was removed, the reason, and the nearest spec: four actions."""
    visit.type("main [name=q]", "hdf5")
    visit.click(".suggestions [role=option]", "hdf5")
    visit.click("main a", "Availability by target")
    visit.click("[aria-label=Target] a", "neoverse_v1")
    assert "develop has none since develop 2025-01-13" in visit.visible(".lead").text
    assert (
        "1 of a removed stack"
        in visit.visible("[aria-label='When it was available'] tbody tr").text
    )
    assert NEWER.hash[:7] in visit.visible("[aria-label='Nearest specs'] tbody tr").text


def test_lock_file_is_checked(visit: Visit, axe: str) -> None:
    """The missing specs of a spack.lock, when and why they were removed: three actions."""
    visit.click("header nav a", "Lock file")
    visit.drop_file(LOCK)
    visit.click("main form button[type=submit]")
    assert visit.visible("h1", "of spack.lock")
    missing = visit.visible("[aria-label^='Missing specs'] tbody tr").text
    for part in (ARM.hash[:7], "develop 2025-01-06", "develop 2025-01-13", "stack gone"):
        assert part in missing
    for scheme, width, rules in (("light", 1600, ()), ("dark", 360, OF_LOOKS)):
        seen_as(visit.browser, scheme, width)
        assert violations(visit.browser, axe, *rules) == []
        assert sideways(visit.browser) == 0
