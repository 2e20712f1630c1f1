"""What visitors come for, done by clicking: with scripts, and without any."""

from collections.abc import Iterator
from typing import Literal

import httpx
import pytest
from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.wait import WebDriverWait

from tests.server.browsers import SECONDS
from tests.server.pages.seeing import complaints, settle, violations
from tests.snapshots.factories import hash_of
from tests.snapshots.sources.buildcache.indexes import node
from tests.snapshots.sources.lockfiles.locks import as_bytes, lock_file

Reader = webdriver.Chrome

_CAUSE = """
{
  compare(base: "develop~1", head: "develop") {
    causes(first: 1) { nodes { title numSpecs specs(first: 1) { nodes { hash } } } }
  }
}
"""


@pytest.fixture(params=["with scripts", "without scripts"])
def reader(
    browser: Reader, request: pytest.FixtureRequest, pages: dict[str, str]
) -> Iterator[Reader]:
    """Return a browser that shows the first page."""
    without = request.param == "without scripts"
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": without})
    browser.get(pages["home"])
    settle(browser)
    assert bool(browser.find_elements(By.CSS_SELECTOR, "[data-ago]")) != without
    yield browser
    assert complaints(browser) == []


def one(reader: Reader, selector: str, by: str = By.CSS_SELECTOR) -> WebElement:
    """Return the first element that a selector finds, as soon as there is one to see."""

    def seen(_: Reader) -> WebElement | Literal[False]:
        found = reader.find_elements(by, selector)
        return next((it for it in found if it.is_displayed()), False)

    return patient(reader).until(seen)


def leave_by(reader: Reader, selector: str, by: str = By.CSS_SELECTOR) -> None:
    """Click on what leads to another page, and wait for that."""
    before = reader.current_url

    def clicked(_: Reader) -> bool:
        one(reader, selector, by).click()
        return True

    patient(reader).until(clicked)
    WebDriverWait(reader, SECONDS).until(lambda _: reader.current_url != before)
    settle(reader)


def patient(reader: Reader) -> WebDriverWait[Reader]:
    """Return what waits, also while scripts put elements in the place of those just found."""
    gone = [StaleElementReferenceException]
    return WebDriverWait(reader, SECONDS, ignored_exceptions=gone)


def test_a_package_and_how_to_install_it(reader: Reader, pages: dict[str, str]) -> None:
    """From the search on the first page, by the package, to the command for a spec."""
    name = httpx.URL(pages["package"]).path.split("/")[-1]
    one(reader, "main [type=search]").send_keys(name)
    leave_by(reader, "main [role=search] button")
    leave_by(reader, name, By.LINK_TEXT)
    assert one(reader, "h1").text.startswith(name)
    leave_by(reader, "#results tbody .hash a")
    digest = reader.current_url.split("/")[-1]
    commands = [it.text for it in reader.find_elements(By.CSS_SELECTOR, ".command pre")]
    assert f"spack install --cache-only /{digest}" in commands


def test_two_weeks_and_the_largest_cause(reader: Reader, told: httpx.Client) -> None:
    """From a series, by two of its revisions, to the specs behind what rebuilt most."""
    answer = told.post("/graphql", json={"query": _CAUSE}).json()
    cause = answer["data"]["compare"]["causes"]["nodes"][0]
    leave_by(reader, "main h2 a")
    leave_by(reader, "form.choosing [type=submit]")
    assert cause["title"] in one(reader, ".causes summary").text
    one(reader, ".causes summary").click()
    if not reader.find_elements(By.CSS_SELECTOR, "html [data-ago]"):
        leave_by(reader, ".causes .unfolded a")
    digest = cause["specs"]["nodes"][0]["hash"]
    leave_by(reader, f"tbody a[href*='{digest}']")
    assert one(reader, "h1").text
    assert digest in one(reader, ".whole-hash").text


def test_since_when_a_hash_is_gone(reader: Reader, pages: dict[str, str]) -> None:
    """From a part of the hash to the comparison that took it away."""
    digest = httpx.URL(pages["hash"]).path.split("/")[-1]
    leave_by(reader, "header nav a[href$=hash]")
    one(reader, "main [name=hash]").send_keys(f"/{digest[:10]}")
    leave_by(reader, "main [name=hash] ~ button")
    assert digest in one(reader, ".whole-hash").text
    leave_by(reader, "main tbody a[href*=compare]")
    assert "/compare/" in reader.current_url


def test_what_of_a_lock_file_is_there(reader: Reader, pages: dict[str, str], axe: str) -> None:
    """From a pasted text to what is there, what is not, and since when, for everybody to read."""
    there, gone = (httpx.URL(pages[it]).path.split("/")[-1] for it in ("spec", "hash"))
    specs = [node("a", there, "1.0"), node("b", gone, "1.0"), node("c", hash_of("c"), "1.0")]
    text = as_bytes(lock_file(specs, [there])).decode()
    leave_by(reader, "header nav a[href$=check]")
    one(reader, "textarea").send_keys(text)
    Select(one(reader, "select[name=ref]")).select_by_visible_text("develop")
    one(reader, "main form button[type=submit]").click()
    missing = one(reader, ".causes").text
    assert gone[:7] in missing
    assert hash_of("c")[:7] in missing
    assert there[:7] not in missing
    reader.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})  # for axe
    assert violations(reader, axe) == []


_GONE = "{ packages(gone: true, first: 1) { nodes { name best { goneIn { takenAt } } } } }"
_REBUILT = """{ compare(base: "develop~1", head: "develop") {
  specs(first: 1, kinds: [ADDED], reasons: [REBUILT, REPLACES]) {
    nodes { name cause { title } }
  } } }"""


def by_suggestion(reader: Reader, name: str) -> None:
    """Write a name, and open what is suggested: or without scripts the page that says the same."""
    box = one(reader, "main [role=search] [name=q]")
    box.send_keys(name)
    if box.get_attribute("role") == "combobox":
        one(reader, ".suggestions [role=option]").click()
        WebDriverWait(reader, SECONDS).until(lambda _: f"/packages/{name}" in reader.current_url)
        settle(reader)
    else:
        leave_by(reader, "main [role=search] button")
        leave_by(reader, "#elsewhere a")


def test_why_a_package_was_rebuilt(reader: Reader, told: httpx.Client) -> None:
    """Two actions with scripts, three without: write its name, open it, read its history."""
    answer = told.post("/graphql", json={"query": _REBUILT}).json()
    (spec,) = answer["data"]["compare"]["specs"]["nodes"]
    by_suggestion(reader, spec["name"])
    assert one(reader, "h1").text == spec["name"]
    assert spec["cause"]["title"] in one(reader, "ol.log").text


def test_since_when_a_package_is_gone(reader: Reader, told: httpx.Client) -> None:
    """Three actions: the list of packages, those that are gone, the one that is meant."""
    answer = told.post("/graphql", json={"query": _GONE}).json()
    (package,) = answer["data"]["packages"]["nodes"]
    leave_by(reader, "header nav a[href$=packages]")
    leave_by(reader, "gone", By.LINK_TEXT)
    leave_by(reader, package["name"], By.LINK_TEXT)
    assert package["best"]["goneIn"]["takenAt"][:10] in one(reader, ".lead").text
