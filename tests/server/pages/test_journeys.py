"""Common tasks of readers on the pages, each in at most three actions."""

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement

from server.settings import Settings
from snapshots.catalog.catalog import Catalog
from snapshots.models import Dependency
from tests.server.browsers import wait_for
from tests.server.pages.browser import OF_LOOKS, seen_as, settle, sideways, violations
from tests.server.pages.recipes import import_recipes
from tests.server.servers import application
from tests.snapshots.factories import a_snapshot, a_spec, day
from tests.snapshots.sources.buildcache.indexes import node
from tests.snapshots.sources.lockfiles.locks import as_bytes, lock_file

MAX_ACTIONS = 3
ARM = a_spec("arm", target="neoverse_v1", stacks=("e4s-arm", "root"))
ZLIB = a_spec("zlib", name="zlib", version="1.3", dependencies=())
NEW_ZLIB = a_spec("zlib2", name="zlib", version="1.3.1", dependencies=())
X86, NEWER = (
    a_spec(label, dependencies=(Dependency("zlib", zlib.hash, ("link",)),))
    for label, zlib in (("old", ZLIB), ("new", NEW_ZLIB))
)
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
def lost_builds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of a server with releases, and a develop without its former Arm builds."""
    catalog = Catalog(str(tmp_path_factory.mktemp("journeys")))
    catalog.publish(
        [
            a_snapshot([ARM, X86, ZLIB], "develop", day(1)),
            a_snapshot([NEWER, NEW_ZLIB], "develop", day(8)),
            a_snapshot([X86, ZLIB], "v1.0", day(2)),
            a_snapshot([NEWER, NEW_ZLIB], "v1.1", day(9)),
        ]
    )
    import_recipes(catalog, ["zlib"])
    with application(Settings(catalog=catalog.location)) as client:
        yield str(client.base_url)


class Visit:
    """A visit that begins on the home page, and counts the reader's actions."""

    def __init__(self, browser: webdriver.Chrome, url: str) -> None:
        self.browser = browser
        self.url = url.rstrip("/")
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


class Journey(NamedTuple):
    """What a reader wants to know: the actions, and the sentence that then is on the screen.

    An action is a click on an element with a text, or, without a selector, a text that is typed
    into the search field and submitted.
    """

    actions: Sequence[tuple[str, str]]
    selector: str
    sentence: str


SEARCH = ""
JOURNEYS = {
    "what is new": Journey([], ".news", "e4s-arm"),
    "why it was rebuilt": Journey([(".news a", "zlib")], ".causes", "zlib 1.3 → 1.3.1"),
    "by which pull request": Journey(
        [(".news a", "zlib")], ".causes .commit", "zlib: fix an argument of the build"
    ),
    "is there one for my machine": Journey(
        [(SEARCH, "hdf5 target=aarch64")],
        ".absence",
        "in develop until 2025-01-06; x86_64_v3 in e4s has it",
    ),
    "since when it is gone": Journey(
        [
            (SEARCH, "hdf5"),
            ("main a", "Availability by target"),
            ("[aria-label=Target] a", "aarch64"),
        ],
        ".lead",
        "develop had it until develop 2025-01-06",
    ),
    "what became of a hash": Journey([(SEARCH, f"/{X86.hash[:9]}")], "main", f"{NEWER.hash[:7]}"),
    "what a pull request did": Journey([(SEARCH, "#1")], "h1", "zlib: fix an argument"),
    "what was in a lost stack": Journey([(SEARCH, "e4s-arm")], "h1", "Stack e4s-arm"),
    "what needs it": Journey([(SEARCH, "zlib")], "main", "Needed by hdf5."),
    "how to install it": Journey(
        [(SEARCH, "hdf5"), ("summary", "Install")], "main", f"--cache-only /{NEWER.hash}"
    ),
    "a badge of it": Journey(
        [(SEARCH, "hdf5"), ("summary", "Feed and badge")], "main", "/badge/develop/hdf5.svg)"
    ),
    "what is built twice": Journey(
        [(SEARCH, "v1.1"), ("main a", "built more than once")], "main", "No spec is built more than"
    ),
    "what cost most": Journey([(SEARCH, "develop"), ("main a", "Top causes")], "main", "zlib"),
}


@pytest.mark.parametrize("name", JOURNEYS)
def test_answer_is_on_the_screen(visit: Visit, name: str) -> None:
    """After at most three actions from the home page."""
    journey = JOURNEYS[name]
    for selector, text in journey.actions:
        if selector:
            visit.click(selector, text)
        else:
            visit.type("[role=search] [name=q]", text, Keys.ENTER)
            wait_for(visit.browser, lambda: visit.browser.current_url.rstrip("/") != visit.url)
    assert visit.visible(journey.selector, journey.sentence)


def test_release_notes_are_copied(visit: Visit) -> None:
    """The changes between the last two releases, and the notes: three actions."""
    visit.click("article:has(a[href*='vX.Y.Z']) li a")
    visit.click("nav a", "Notes")
    visit.click("button", "Copy Markdown")
    assert visit.visible(".status", "Copied.")
    field = visit.visible("header [name=q]")
    field.clear()
    field.send_keys(Keys.CONTROL, "v")
    assert "v1.0" in str(field.get_property("value"))


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
