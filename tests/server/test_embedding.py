"""docs/embedding.md: pages of another origin embed its badge and frame of a package."""

import re
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from selenium import webdriver
from selenium.webdriver.common.by import By

from server.settings import Settings
from snapshots.catalog.catalog import Catalog
from tests.server.pages.browser import complaints, settle
from tests.server.servers import application, serving_files
from tests.snapshots.factories import a_snapshot, a_spec, day
from tests.test_docs import DOCUMENTS

TEXT = DOCUMENTS["embedding.md"]
BADGE, FRAME = re.findall(r"```html\n(.*?)```", TEXT, re.DOTALL)
(MARKDOWN,) = re.findall(r"```markdown\n(.*?)```", TEXT, re.DOTALL)

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the location of a catalog with the package; tests only read it."""
    folder = str(tmp_path_factory.mktemp("catalog"))
    specs = [a_spec(f"{number}", name="hdf5", version="1.14") for number in range(3)]
    states = [a_snapshot(specs[: number + 1], "develop", day(number)) for number in range(3)]
    Catalog(folder).publish(states)
    return folder


@pytest.mark.parametrize("is_allowed", [True, False])
def test_package_is_embedded(
    browser: webdriver.Chrome, catalog: str, tmp_path: Path, is_allowed: bool
) -> None:
    """All pages may embed badges, but only pages of the configured origins may embed frames."""
    with serving_files(tmp_path) as origin:
        settings = Settings(catalog=catalog, frame_ancestors=(origin,) if is_allowed else ())
        with application(settings) as client:
            page = f"<!doctype html>{BADGE}{MarkdownIt().render(MARKDOWN)}{FRAME}"
            server = str(client.base_url).rstrip("/")
            page = page.replace("https://cache.example.org", server)
            (tmp_path / "index.html").write_text(page)
            browser.get(f"{origin}/index.html")
            settle(browser)
            for picture in browser.find_elements(By.TAG_NAME, "img"):
                assert browser.execute_script("return arguments[0].naturalWidth", picture) > 50
            messages = [complaint["message"] for complaint in complaints(browser)]
            assert any("frame-ancestors" in message for message in messages) is not is_allowed
            browser.switch_to.frame(browser.find_element(By.TAG_NAME, "iframe"))
            text = browser.find_element(By.TAG_NAME, "body").text
            browser.switch_to.default_content()
            assert ("hdf5" in text) is is_allowed


def test_documented_urls_exist(catalog: str) -> None:
    """Each is of a page, a badge or a feed."""
    addresses = re.findall(r"^\| `(/.+?)` \|", TEXT, re.MULTILINE)
    assert len(addresses) == 5
    with application(Settings(catalog=catalog)) as client:
        digest = Catalog(catalog).require_history().of_series("develop")[0].digest
        for address in [*addresses, "/badge/develop/hdf5.json"]:
            answer = client.get(address.replace("DIGEST", digest))
            assert (answer.status_code, address) == (200, address)
            assert "hdf5" in answer.text
