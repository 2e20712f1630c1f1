"""Pages of another origin: those that embed a package (docs/api.md), and clients/example."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from selenium import webdriver
from selenium.webdriver.common.by import By

from server.settings import Settings
from snapshots.catalog.catalog import Catalog
from snapshots.demo.revisions import develop_history
from tests.server import npm
from tests.server.browsers import SECONDS
from tests.server.pages.browser import complaints, settle
from tests.server.servers import application, free_port, serving_files, until
from tests.snapshots.factories import a_snapshot, a_spec, day
from tests.test_docs import DOCUMENTS

TEXT = DOCUMENTS["api.md"]
(BADGE,) = re.findall(r"```html\n(.*?)```", TEXT, re.DOTALL)
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


def test_badges_are_embedded(browser: webdriver.Chrome, catalog: str, tmp_path: Path) -> None:
    """Pages of any origin may embed badges, but no pages in frames."""
    with serving_files(tmp_path) as origin, application(Settings(catalog=catalog)) as client:
        server = str(client.base_url).rstrip("/")
        page = f"<!doctype html>{BADGE}{MarkdownIt().render(MARKDOWN)}"
        frame = f'<iframe src="{server}/r/develop/packages/hdf5"></iframe>'
        text = page.replace("https://cache.example.org", server) + frame
        (tmp_path / "index.html").write_text(text)
        browser.get(f"{origin}/index.html")
        settle(browser)
        for picture in browser.find_elements(By.TAG_NAME, "img"):
            assert browser.execute_script("return arguments[0].naturalWidth", picture) > 50
        messages = [complaint["message"] for complaint in complaints(browser)]
        assert any("frame-ancestors" in message for message in messages)


ROOT = Path(__file__).parents[2]
CLIENTS = ROOT / "clients"


@pytest.fixture(scope="module")
def origin(typescript_client: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Build the example as its README describes, with this client; serve it."""
    folder = tmp_path_factory.mktemp("clients")
    example = Path(shutil.copytree(CLIENTS / "example", folder / "example"))
    # npm would link the client: the rest is installed once for each list of packages.
    package = json.loads((example / "package.json").read_text())
    assert package.pop("dependencies") == {"@cachelog/client": "file:../typescript"}
    (folder / "others").mkdir()
    (folder / "others/package.json").write_text(json.dumps(package))
    modules = npm.installed(folder / "others", tmp_path_factory.mktemp("others")) / "node_modules"
    (example / "node_modules/@cachelog").mkdir(parents=True)
    (example / "node_modules/@cachelog/client").symlink_to(typescript_client)
    for name in modules.resolve().iterdir():
        (example / "node_modules" / name.name).symlink_to(name)
    npm.run(example, "node_modules/typescript/bin/tsc")
    npm.run(example, "node_modules/vite/bin/vite.js", "build")
    with serving_files(example / "dist") as origin:
        yield origin


@pytest.fixture(scope="module")
def graphql(origin: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the URL of an API that pages of that origin may query."""
    catalog = str(tmp_path_factory.mktemp("catalog"))
    Catalog(catalog).publish(develop_history(revisions=2, packages=40, specs=120))
    with application(Settings(catalog=catalog, cors_origins=(origin,))) as client:
        yield str(client.base_url.join("graphql"))


def texts(browser: webdriver.Chrome, selector: str) -> list[str]:
    """Return the texts of the elements that a selector matches, at one moment."""
    script = "return [...document.querySelectorAll(arguments[0])].map((it) => it.textContent)"
    matches: list[str] = browser.execute_script(script, selector)
    return matches


FIRST = "tbody td:first-child"


def test_packages_are_searched_and_explained(
    browser: webdriver.Chrome, origin: str, graphql: str
) -> None:
    """The list matches the typed text; links lead to a package and to its changes."""
    browser.get(f"{origin}/?server={graphql}")
    until(lambda: texts(browser, FIRST), "packages are shown", SECONDS)
    name = texts(browser, FIRST)[-1]
    browser.find_element(By.CSS_SELECTOR, "input").send_keys(name)
    until(lambda: name in texts(browser, FIRST)[:3], "the package is listed", SECONDS)
    until(lambda: len(texts(browser, FIRST)) < 10, "most others are not", SECONDS)
    browser.execute_script("location.hash = `#/packages/${arguments[0]}`", name)
    until(lambda: texts(browser, "h1") == [name], "the package is shown", SECONDS)
    assert texts(browser, FIRST)
    browser.find_element(By.LINK_TEXT, "What changed").click()
    until(lambda: texts(browser, "h1") == ["What caused the replacements"], "why", SECONDS)
    assert texts(browser, FIRST)
    assert complaints(browser) == []


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("{graphql}#/packages/nope", "There is no such package."),
        ("{graphql}/nope", "the server answers with status 404"),
        ("http://127.0.0.1:{port}", "The server cannot be reached."),
    ],
)
def test_errors_are_shown(
    address: str, message: str, browser: webdriver.Chrome, origin: str, graphql: str
) -> None:
    """For an unknown package, a wrong URL, and without a server."""
    server = address.format(graphql=graphql, port=free_port())
    browser.get("about:blank")
    browser.get(f"{origin}/?server={server}")
    until(lambda: message in texts(browser, "main p"), "the error is shown", SECONDS)
    complaints(browser)  # about missing addresses: the next test must not read them
