"""What scripts add to the pages of specs and lock files, in a real browser."""

from pathlib import Path

import httpx
from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from tests.server import npm
from tests.server.browsers import SECONDS
from tests.server.pages.seeing import complaints, seen_as, settle, sideways, violations
from tests.snapshots.factories import hash_of
from tests.snapshots.sources.buildcache.indexes import node
from tests.snapshots.sources.lockfiles.locks import as_bytes, lock_file

_DEEP = """{ revision(ref: "develop") { specs(first: 50) { nodes {
  hash
  dependencies(first: 20) { nodes { spec { hash dependencies(first: 1) { totalCount } } } }
} } } }"""

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


def test_the_tree_unfolds(browser: webdriver.Chrome, told: httpx.Client) -> None:
    """What a dependency needs is loaded when it is opened, once, and can be opened in turn."""
    answer = told.post("/graphql", json={"query": _DEEP}).json()
    digest, below, count = next(
        (spec["hash"], it["spec"]["hash"], it["spec"]["dependencies"]["totalCount"])
        for spec in answer["data"]["revision"]["specs"]["nodes"]
        for it in spec["dependencies"]["nodes"]
        if it["spec"] is not None and it["spec"]["dependencies"]["totalCount"] > 1
    )
    browser.get(str(told.base_url.join(f"/r/develop/specs/{digest}")))
    settle(browser)
    details = next(
        it
        for it in browser.find_elements(By.CSS_SELECTOR, "#needs > .tree > li > details")
        if it.find_elements(By.CSS_SELECTOR, f"a[href$='{below}']")
    )
    for _ in range(3):  # open, closed, open
        details.find_element(By.TAG_NAME, "summary").click()
    WebDriverWait(browser, SECONDS).until(
        lambda _: details.find_elements(By.CSS_SELECTOR, ".tree > li")
    )
    assert len(details.find_elements(By.CSS_SELECTOR, ".tree > li")) == count
    inner = details.find_elements(By.CSS_SELECTOR, ".tree a[href*='/r/develop/specs/']")
    for link in inner:
        assert told.get(str(link.get_property("href"))).status_code == 200
    assert complaints(browser) == []


def test_a_file_is_dropped_and_checked(
    browser: webdriver.Chrome, pages: dict[str, str], tmp_path: Path
) -> None:
    """It becomes the form's file; its result can be read by everybody, and fits."""
    gone = httpx.URL(pages["hash"]).path.split("/")[-1]
    specs = [node("hdf5", gone, "1.0"), node("nothing", hash_of("nothing"), "1.0")]
    browser.get(pages["check"])
    settle(browser)
    browser.execute_script(_DROP, as_bytes(lock_file(specs, [gone])).decode())
    browser.find_element(By.CSS_SELECTOR, "#lock button[type=submit]").click()
    WebDriverWait(browser, SECONDS, ignored_exceptions=[StaleElementReferenceException]).until(
        lambda _: "of spack.lock" in browser.find_element(By.TAG_NAME, "h1").text
    )
    axe = npm.installed(Path(__file__).parent / "axe", tmp_path)
    source = (axe / "node_modules/axe-core/axe.min.js").read_text()
    for scheme, width in (("light", 1600), ("dark", 360)):
        seen_as(browser, scheme, width)
        assert violations(browser, source) == []
        assert sideways(browser) == 0
    assert complaints(browser) == []
