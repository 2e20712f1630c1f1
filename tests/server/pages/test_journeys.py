"""What readers come for, done by clicking: each in at most four actions, counted."""

from collections.abc import Iterator
from typing import Literal

import httpx
import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.select import Select

from server.settings import Settings
from snapshots.catalog.catalog import Catalog
from tests.server.browsers import paste, wait_for
from tests.server.pages.api_answers import data_of
from tests.server.pages.browser import OF_LOOKS, seen_as, settle, sideways, violations
from tests.server.servers import application
from tests.snapshots.factories import a_snapshot, a_spec, day, hash_of
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

_FACTS = """{
  packages(gone: true, first: 1) { nodes { name best { goneIn { takenAt } } } }
  compare(base: "develop~1", head: "develop") {
    causes(first: 1) { nodes { title specs(first: 1) { nodes { hash } } } }
    specs(first: 1, kinds: [ADDED], reasons: [REBUILT, REPLACES]) {
      nodes { name cause { title } }
    }
  }
}"""
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
    """Return the address of a server with a develop that lost its builds for Arm, and releases."""
    catalog = str(tmp_path_factory.mktemp("journeys"))
    Catalog(catalog).publish(
        [
            a_snapshot([ARM, X86, ZLIB], "develop", day(1)),
            a_snapshot([NEWER], "develop", day(8)),
            a_snapshot([X86, ZLIB], "v1.0", day(2)),
            a_snapshot([NEWER, ZLIB], "v1.1", day(9)),
        ]
    )
    with application(Settings(catalog=catalog)) as client:
        yield str(client.base_url)


class Visit:
    """A visit that begins on the first page; everything that a reader does counts."""

    def __init__(self, browser: webdriver.Chrome, url: str) -> None:
        self.browser = browser
        self.num_actions = 0
        browser.get(url)
        settle(browser)

    def seen(self, selector: str, text: str = "") -> WebElement:
        """Return the first element that is to be seen and has a text, as soon as there is one."""

        def element() -> WebElement | Literal[False]:
            every = self.browser.find_elements(By.CSS_SELECTOR, selector)
            return next((it for it in every if text in it.text and it.is_displayed()), False)

        return wait_for(self.browser, element)

    def click(self, selector: str, text: str = "") -> None:
        """Click on something."""
        self.seen(selector, text).click()
        self._count()

    def write(self, selector: str, *keys: str) -> None:
        """Write into a field, or paste; with the key that sends it this is one action."""
        self.seen(selector).send_keys(*keys)
        self._count()

    def paste(self, selector: str, text: str) -> None:
        """Paste into a field."""
        self.seen(selector).click()
        paste(self.browser, text)
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
    """Return a visit of the server that lost builds."""
    return Visit(browser, lost_builds)


def test_a_release_manager_takes_the_notes(visit: Visit) -> None:
    """What changed between the last two releases and why: three actions, with the notes copied."""
    visit.click("tr:has(a[href*='vX.Y.Z']) td:last-child a")
    assert visit.seen(".causes summary", "hdf5").text
    visit.click("nav a", "Notes")
    visit.click("button", "Copy Markdown")
    assert visit.seen(".status", "Copied.")
    field = visit.seen("input[name=base]")
    field.clear()
    field.send_keys(Keys.CONTROL, "v")
    assert "v1.0" in str(field.get_property("value"))


def test_a_user_looks_for_a_binary_for_arm(visit: Visit) -> None:
    """Since when there is no hdf5 for an Arm node, why, and what is nearest: four actions."""
    visit.write("main [name=q]", "hdf5")
    visit.click(".suggestions [role=option]", "hdf5")
    visit.click("main a", "Availability by target")
    visit.click("[aria-label=Target] a", "neoverse_v1")
    assert "develop has none since develop 2025-01-13" in visit.seen(".lead").text
    assert "1 stack gone" in visit.seen("[aria-label='When it was available'] tbody tr").text
    assert NEWER.hash[:7] in visit.seen("[aria-label='Nearest specs'] tbody tr").text


def test_a_site_admin_checks_a_lock_file(visit: Visit, axe: str) -> None:
    """What of a spack.lock is missing, since when, why, and what is nearest: three actions."""
    visit.click("header nav a", "Lock file")
    visit.drop_file(LOCK)
    visit.click("main form button[type=submit]")
    assert visit.seen("h1", "of spack.lock")
    missing = visit.seen("[aria-label^='Missing specs'] tbody tr").text
    for part in (ARM.hash[:7], "develop 2025-01-06", "develop 2025-01-13", "stack gone"):
        assert part in missing
    for scheme, width, rules in (("light", 1600, ()), ("dark", 360, OF_LOOKS)):
        seen_as(visit.browser, scheme, width)
        assert violations(visit.browser, axe, *rules) == []
        assert sideways(visit.browser) == 0


def test_somebody_has_a_hash(visit: Visit) -> None:
    """Where it is, and what replaced it, from its beginning: two actions."""
    visit.write("main [name=q]", f"/{X86.hash[:9]}", Keys.ENTER)
    visit.click("main a", "See in which revisions")
    assert "replaced" in visit.seen(".stays tbody").text
    assert visit.seen("dt", "Replaced by")
    assert NEWER.hash[:7] in visit.seen("dl.facts dd").text


@pytest.fixture
def weeks(browser: webdriver.Chrome, pages: dict[str, str]) -> Visit:
    """Return a visit of the server with five weeks of develop."""
    return Visit(browser, pages["home"])


def test_two_weeks_and_the_largest_cause(weeks: Visit, history_client: httpx.Client) -> None:
    """From a series, by two of its revisions, to a spec that the largest cause rebuilt."""
    (cause,) = data_of(history_client, _FACTS)["compare"]["causes"]["nodes"]
    weeks.click("main h2 a")
    weeks.click("form.choosing [type=submit]")
    weeks.click(".causes summary", cause["title"])
    digest = cause["specs"]["nodes"][0]["hash"]
    weeks.click(f".causes details[open] tbody a[href*='{digest}']")
    assert digest in weeks.seen(".whole-hash").text


def test_why_a_package_was_rebuilt(weeks: Visit, history_client: httpx.Client) -> None:
    """Two actions: write its name, open it and read its history."""
    (spec,) = data_of(history_client, _FACTS)["compare"]["specs"]["nodes"]
    weeks.write("main [name=q]", spec["name"])
    weeks.click(".suggestions [role=option]", spec["name"])
    assert weeks.seen("h1", spec["name"])
    assert spec["cause"]["title"] in weeks.seen("ol.log").text


def test_since_when_a_package_is_gone(weeks: Visit, history_client: httpx.Client) -> None:
    """Three actions: the list of packages, those that are gone, the one that is meant."""
    (package,) = data_of(history_client, _FACTS)["packages"]["nodes"]
    weeks.click("header nav a[href$=packages]")
    weeks.click("main a", "removed")
    weeks.click("main tbody th a", package["name"])
    assert package["best"]["goneIn"]["takenAt"][:10] in weeks.seen(".lead").text


@pytest.fixture
def scriptless(weeks: Visit) -> Visit:
    """Return a visit of the same server by a browser without scripts."""
    weeks.browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    weeks.browser.refresh()
    assert not weeks.browser.find_elements(By.CSS_SELECTOR, "[data-ago]")
    return weeks


def test_a_cause_is_followed_without_scripts(
    scriptless: Visit, history_client: httpx.Client
) -> None:
    """What unfolds with scripts is a page of its own, that a link leads to."""
    (cause,) = data_of(history_client, _FACTS)["compare"]["causes"]["nodes"]
    scriptless.click("main h2 a")
    scriptless.click("form.choosing [type=submit]")
    scriptless.click(".causes summary", cause["title"])
    scriptless.click(".causes .unfolded a")
    assert scriptless.seen(f"tbody a[href*='{cause['specs']['nodes'][0]['hash']}']")


def test_a_lock_file_is_checked_without_scripts(scriptless: Visit, pages: dict[str, str]) -> None:
    """From a pasted text to what is there, what is not, and since when."""
    there, gone = (httpx.URL(pages[name]).path.split("/")[-1] for name in ("spec", "hash"))
    specs = [node("a", there, "1.0"), node("b", gone, "1.0"), node("c", hash_of("c"), "1.0")]
    scriptless.click("header nav a[href$=check]")
    scriptless.paste("textarea", as_bytes(lock_file(specs, [there])).decode())
    Select(scriptless.seen("select[name=ref]")).select_by_visible_text("develop")
    scriptless.click("main form button[type=submit]")
    missing = scriptless.seen(".causes").text
    assert gone[:7] in missing
    assert hash_of("c")[:7] in missing
    assert there[:7] not in missing
