"""The pages that check and plan lock files."""

import csv
import io
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import httpx
import pytest

from server.pages.filters import MINUS
from server.settings import Settings
from snapshots.catalog.catalog import Catalog
from tests.server.pages.page_reader import Shown, shown
from tests.server.servers import application
from tests.snapshots.factories import a_snapshot, day, hash_of
from tests.snapshots.sources.lockfiles.locks import as_bytes, built, lock_file, locked

MAX_BODY = 1 << 20


LOCK = as_bytes(
    lock_file(
        [
            locked("new", version="2.0"),
            locked("old"),
            locked("zlib", "zlib", "1.3"),
            locked("never", "nothing-like-it", "1.0"),
            locked("gcc", "gcc", "13.2.0", external={"path": "/usr", "module": None}),
        ],
        [hash_of("new"), hash_of("old")],
    )
)
"""The newest develop has new and zlib; old was removed, and never is unknown."""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """Return a client of a server of three revisions."""
    catalog = Catalog(str(tmp_path_factory.mktemp("check")))
    old, zlib = built("old"), built("zlib", name="zlib", version="1.3", stacks=("hep",))
    catalog.publish(
        [
            a_snapshot([old, zlib], "v0.22.0", day(1)),
            a_snapshot([old, zlib], "develop", day(2)),
            a_snapshot([built("new", version="2.0"), zlib], "develop", day(3)),
        ]
    )
    with application(Settings(catalog=catalog.location)) as client:
        yield client


def checked(
    client: httpx.Client, content: bytes, ref: str = "", path: str = "/check", **more: str
) -> Shown:
    """Submit a form with a file, as a browser does."""
    files = {"file": ("spack.lock", content, "application/octet-stream")}
    return Shown(client.post(path, data={"text": "", "ref": ref, **more}, files=files))


def missing_in(client: httpx.Client, content: bytes) -> list[dict[str, str]]:
    """Return the missing specs of a file, as rows of the exported table."""
    response = checked(client, content, "develop", **{"as": "csv"}).response
    assert response.headers["content-type"].startswith("text/csv")
    assert response.headers["cache-control"] == "no-store"
    return list(csv.DictReader(io.StringIO(response.text)))


def rows(page: Shown) -> dict[str, str]:
    """Return the lines of missing specs, by their labels."""
    path = "section[aria-labelledby=missing] tbody tr"
    names = [text.split()[1] for text in page.texts(f"{path} th")]
    return dict(zip(names, page.texts(path), strict=True))


def test_present_and_missing_specs(client: httpx.Client) -> None:
    """Counts of roots, dependencies and all; since when and why specs are missing."""
    page = checked(client, LOCK, "develop")
    assert page.status == 200
    assert page.response.headers["cache-control"] == "no-store"
    assert page.texts(".shares tbody tr") == [
        "Roots 1 2 50.0 % 50.0 %",
        "Dependencies 1 2 50.0 % 50.0 %",
        "All 2 4 50.0 % 50.0 %",
    ]
    assert page.text("h1") == "50.0 % of spack.lock"
    assert "gcc@13.2.0 (external)" in page.text("main")
    missing = rows(page)
    assert [*missing] == ["hdf5@1.14.5", "nothing-like-it@1.0"]
    assert "root" in missing["hdf5@1.14.5"]
    assert f"{day(3):%Y-%m-%d}: replaced" in missing["hdf5@1.14.5"]
    assert f"hdf5@2.0: version {MINUS} 1.14.5 + 2.0" in missing["hdf5@1.14.5"]
    assert "never seen in this catalog" in missing["nothing-like-it@1.0"]
    assert "no other spec of the package is available" in missing["nothing-like-it@1.0"]
    for link in {*page.links("main a").values()}:
        assert client.get(link).status_code == 200, link
    replaced, never = page.texts(".causes summary .what")  # the largest first
    assert replaced == f"hdf5 1.14.5 → 2.0 develop of {day(3):%Y-%m-%d}"
    assert never == "never seen in this catalog"


def test_missing_specs_as_csv(client: httpx.Client) -> None:
    """By the form and by the shared address: one line per spec, with its cause."""
    old, never = missing_in(client, LOCK)
    assert (old["hash"], old["name"], old["isRoot"]) == (hash_of("old"), "hdf5", "true")
    assert (old["cause"], old["reason"]) == ("hdf5 1.14.5 → 2.0", "REPLACED")
    assert (old["lastSeen"], old["goneIn"], old["nearest"]) == (
        "develop",
        "develop",
        hash_of("new"),
    )
    assert (never["cause"], never["nearest"]) == ("", "")
    links = checked(client, LOCK, "develop").links().values()
    (link,) = [link for link in links if "as=csv" in link]
    shared_old, shared_never = csv.DictReader(io.StringIO(client.get(link).text))
    assert (shared_old["hash"], shared_never["hash"]) == (old["hash"], never["hash"])


def test_shared_address(client: httpx.Client) -> None:
    """It contains only names and hashes, and shows the same result."""
    page = checked(client, LOCK, "develop")
    link = page.links()["Link to this check"]
    assert httpx.URL(link).params["roots"].split() == [
        f"hdf5-{hash_of('new')}",
        f"hdf5-{hash_of('old')}",
    ]
    again = shown(client, link)
    assert again.status == 200
    assert again.texts(".shares tbody tr") == page.texts(".shares tbody tr")
    assert again.texts(".causes summary") == page.texts(".causes summary")
    assert again.response.headers["cache-control"] == "no-store"
    for address in ("/check?specs=zlib", "/check?roots=zlib-abc", f"/check?specs={'7' * 33}"):
        refused = shown(client, address)
        assert refused.status == 400
        assert "is not NAME-HASH" in refused.text(".problem")


def test_best_tag_is_selected(client: httpx.Client) -> None:
    """If none is given; all are listed with their counts."""
    page = checked(client, LOCK)
    assert "the first 3 specs of the lock file" in page.text("footer")  # of the link to GraphiQL
    assert "the tag with the most of its specs" in page.text("hgroup")
    tags = page.texts("section[aria-labelledby=covering] tbody tr")
    assert {tag.split()[0] for tag in tags} == {"develop", "v0.22.0"}
    assert all("2 of 4 1 of 2" in tag for tag in tags)


def test_newest_revision_of_the_series_is_the_default(tmp_path: Path) -> None:
    """It says what is missing now; the older one that has all specs is listed."""
    catalog = Catalog(str(tmp_path))
    old, new, zlib = built("old"), built("new", version="2.0"), built("z", name="zlib")
    states = {"develop-2025-01-05": [old, zlib], "develop-2025-01-12": [new, zlib]}
    catalog.publish(a_snapshot(specs, tag) for tag, specs in states.items())
    lock = as_bytes(lock_file([locked("old"), locked("z", "zlib")], [hash_of("old")]))
    with application(Settings(catalog=catalog.location)) as client:
        page = checked(client, lock)
    assert page.text("h1") == "50.0 % of spack.lock"
    assert "in develop-2025-01-12" in page.text("hgroup")
    assert "the newest of the series that has had the most of its specs" in page.text("hgroup")
    first, second = page.texts("section[aria-labelledby=covering] tbody tr")
    assert first.startswith("develop-2025-01-05 2 of 2")
    assert second.startswith("develop-2025-01-12 1 of 2")


def test_csv_needs_no_file_again(client: httpx.Client) -> None:
    """Also for a lock file that is too long for a link and for the form."""
    nodes = [locked(f"n{number}", f"missing-{number}", "1.0") for number in range(200)]
    lock = as_bytes(lock_file([*nodes, locked("old")], [hash_of("old")]))
    page = checked(client, lock + b" " * (64 << 10), "develop")
    assert "The file is not shown here" in page.text("main")
    (form,) = page.dom.cssselect("#missing ~ form")
    fields = {field.get("name", ""): field.get("value", "") for field in form.cssselect("input")}
    files = {name: (None, text) for name, text in {**fields, "as": "csv"}.items()}
    rows = list(csv.DictReader(io.StringIO(client.post("/check", files=files).text)))
    assert len(rows) == 201
    assert (rows[0]["hash"], rows[0]["nearest"]) == (hash_of("old"), hash_of("new"))


def test_long_input_is_refused(client: httpx.Client) -> None:
    """A lock file may have eight times the bytes of other bodies; a long ref is not sent back."""
    assert checked(client, b" " * (2 * MAX_BODY) + LOCK, "develop").status == 200
    page = checked(client, b" " * (8 * MAX_BODY), "develop")
    assert page.status == 413
    assert "bytes" in page.text("main")
    page = checked(client, LOCK, "x" * 100_000)
    assert (page.status, len(page.response.content) < 10_000) == (400, True)
    assert "more than 1,000 characters" in page.text(".problem")


planned = partial(checked, path="/check/plan")


def test_specs_to_build(client: httpx.Client) -> None:
    """Counts, and each spec with its counterpart; specs of other stacks are reused."""
    page = planned(client, LOCK, "v0.22.0", stack="e4s")
    assert page.status == 200
    assert page.response.headers["cache-control"] == "no-store"
    assert page.text("h1") == "2 of 4 specs to build"
    assert "as the stack e4s, compared with v0.22.0 of" in page.text("hgroup")
    assert page.values("input[name=stack]") == ["e4s"]
    figures = page.facts("main")
    assert figures == {
        "Reused": "2",
        "Rebuilt unchanged": "0",
        "Replacements": "0",
        "New": "2",
        "External": "1",
        "Size": "1-10",
    }
    lines = page.texts("section[aria-labelledby=builds] tbody tr")
    assert [line.split()[1] for line in lines] == ["hdf5@2.0", "nothing-like-it@1.0"]
    for link in {*page.links("main a").values()}:
        assert client.get(link).status_code == 200, link


@pytest.mark.parametrize(
    ("path", "title"), [("/check", "Check a lock file"), ("/check/plan", "Plan a lock file")]
)
@pytest.mark.parametrize(
    ("content", "ref", "message"),
    [
        (b"", "develop", "Paste a lock file, or choose one."),
        (b"{nonsense", "develop", "spack.lock"),
        (as_bytes(lock_file([locked("a", arch=7)], [])), "develop", "arch"),
        (LOCK, "devlop", "nearest: develop"),
        (LOCK, "v0.22.0", "'e 4 s' cannot name a stack."),
    ],
)
def test_invalid_input_is_in_the_form(
    client: httpx.Client, path: str, title: str, content: bytes, ref: str, message: str
) -> None:
    """With the position and reason; the input is in the form again."""
    page = checked(client, content, ref, path, stack="e 4 s" if ref == "v0.22.0" else "")
    assert (page.status, page.text("h1")) == (400, title)
    assert message in page.text(".problem")
    assert (page.dom.cssselect("textarea")[0].text or "").strip() == content.decode()
    assert page.values("option[selected]") == [ref]
