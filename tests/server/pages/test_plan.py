"""The page that plans lock files."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import httpx
import pytest

from server.settings import Settings
from snapshots.catalog.catalog import Catalog
from tests.server.pages.page_reader import shown
from tests.server.pages.test_check import LOCK, built, checked, locked
from tests.server.servers import application
from tests.snapshots.costs import rows
from tests.snapshots.factories import a_snapshot, day, hash_of
from tests.snapshots.sources.buildcache.indexes import edge
from tests.snapshots.sources.lockfiles.locks import as_bytes, lock_file


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """Return a client of a server of two revisions."""
    catalog = Catalog(str(tmp_path_factory.mktemp("plan")))
    zlib = built("zlib", name="zlib", version="1.3", stacks=("hep",))
    old = built("old", stacks=("e4s",))
    catalog.publish(
        [a_snapshot([old, zlib], "v0.22.0", day(1)), a_snapshot([old, zlib], "develop", day(2))]
    )
    catalog.costs.replace(rows((None, "hdf5", 60.0, None)))
    with application(Settings(catalog=catalog.location)) as client:
        yield client


planned = partial(checked, path="/check/plan")


@pytest.mark.parametrize("ref", ["v0.22.0", "develop~1"])
def test_tabs_link_to_each_other(client: httpx.Client, ref: str) -> None:
    """With the given revision, a listed tag or any other ref; the current tab is marked."""
    for path, other in (("/check", "/check/plan"), ("/check/plan", "/check")):
        page = shown(client, f"{path}?ref={ref}")
        (current,) = page.links("nav.tabs a[aria-current]").values()
        assert httpx.URL(current).path == path
        links = page.links("nav.tabs a").values()
        assert any(link.endswith(f"{other}?ref={ref}") for link in links)
        assert page.values("option[selected]") == [ref]


def test_specs_to_build(client: httpx.Client) -> None:
    """Counts, and each spec with its counterpart; specs of other stacks are reused."""
    page = planned(client, LOCK, "develop", stack="e4s")
    assert page.status == 200
    assert page.response.headers["cache-control"] == "no-store"
    assert page.text("h1") == "2 of 4 specs to build"
    assert "as the stack e4s, compared with develop of" in page.text("hgroup")
    assert page.values("input[name=stack]") == ["e4s"]
    figures = page.facts("main")
    assert figures == {
        "Reused": "2",
        "Rebuilt unchanged": "0",
        "Replacements": "0",
        "New": "2",
        "External": "1",
        "Size": "1-10",
        "Build time": "1.0 minutes (1 estimated, 1 unknown)",
    }
    lines = page.texts("section[aria-labelledby=builds] tbody tr")
    assert [line.split()[1] for line in lines] == ["hdf5@2.0", "nothing-like-it@1.0"]
    for link in {*page.links("main a").values()}:
        assert client.get(link).status_code == 200, link


def test_replacement(client: httpx.Client) -> None:
    """With its cause, and a link to the replaced spec."""
    lock = as_bytes(lock_file([locked("new", version="2.0")], [hash_of("new")]))
    page = planned(client, lock, "develop", stack="e4s")
    (line,) = page.texts("section[aria-labelledby=builds] tbody tr")
    assert line.endswith("hdf5 1.14.5 → 2.0")
    assert page.texts("section[aria-labelledby=why] tbody tr") == [
        "hdf5 1.14.5 → 2.0 1 1.0 minutes (1 estimated) 1"
    ]
    assert hash_of("old") in "".join(page.links("section[aria-labelledby=builds] a").values())


def test_removed_specs(client: httpx.Client) -> None:
    """Those that the stack loses without a replacement; only if a stack is given."""
    lock = as_bytes(lock_file([locked("new", name="nothing-like-it")], [hash_of("new")]))
    page = planned(client, lock, "develop", stack="e4s")
    assert "Removed from the stack e4s" in page.text("section[aria-labelledby=gone]")
    assert any(
        line.startswith("hdf5 for ") for line in page.texts("section[aria-labelledby=gone] li")
    )
    assert not planned(client, lock, "develop").dom.cssselect("section[aria-labelledby=gone]")


@pytest.mark.parametrize(
    ("content", "ref", "stack", "title", "message"),
    [
        (lock_file([], []), "develop", "e4s", "0 of 0 specs", "Removed from the stack e4s"),
        (
            lock_file([locked("old")], [hash_of("old")]),
            "",
            "",
            "0 of 1 spec",
            "None: all specs are available.",
        ),
        (lock_file([locked("old")], []), "", "e5s", "0 of 1 spec", "develop has no stack e5s"),
    ],
    ids=["no spec", "nothing to build", "a stack that is not there"],
)
def test_little_to_build(
    client: httpx.Client, content: Any, ref: str, stack: str, title: str, message: str
) -> None:
    """The page states it, also for the default revision."""
    page = planned(client, as_bytes(content), ref, stack=stack)
    assert page.text("h1") == f"{title} to build"
    assert message in page.text("main")


CIRCLE = as_bytes(
    lock_file(
        [
            locked("a", dependencies=[edge("hdf5", hash_of("b"), ["link"], [])]),
            locked("b", dependencies=[edge("hdf5", hash_of("a"), ["link"], [])]),
        ],
        [],
    )
)


@pytest.mark.parametrize(
    ("path", "title"), [("/check", "Check a lock file"), ("/check/plan", "Plan a lock file")]
)
@pytest.mark.parametrize(
    ("content", "ref", "stack", "message"),
    [
        (b"", "develop", "", "Paste a lock file, or choose one."),
        (b"{nonsense", "develop", "", "spack.lock"),
        (b"[1, 2]", "develop", "", "spack.lock"),
        (as_bytes(lock_file([locked("a", arch=7)], [])), "develop", "", "arch"),
        (LOCK, "devlop", "e4s", "nearest: develop"),
        (LOCK, "develop", "e 4 s", "'e 4 s' cannot name a stack."),
    ],
)
def test_invalid_input_is_in_the_form(
    client: httpx.Client, path: str, title: str, content: bytes, ref: str, stack: str, message: str
) -> None:
    """With the position and reason; the input is in the form again."""
    page = checked(client, content, ref, path, stack=stack)
    assert (page.status, page.text("h1")) == (400, title)
    assert message in page.text(".problem")
    assert (page.dom.cssselect("textarea")[0].text or "").strip() == content.decode()
    assert page.values("option[selected]") == [ref]


def test_circular_dependencies_are_refused(client: httpx.Client) -> None:
    """A plan depends on their order."""
    page = planned(client, CIRCLE, "develop")
    assert page.status == 400
    assert "depends on itself" in page.text(".problem")
