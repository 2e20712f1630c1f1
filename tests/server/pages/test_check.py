"""The pages that check and plan lock files."""

import csv
import io
from collections.abc import Iterator
from functools import partial
from typing import Any

import httpx
import pytest

from server.pages.addresses import query_string
from server.pages.check import RESULT, address_of
from server.pages.filters import MAX_MISSING, MINUS, missing_groups
from server.settings import Settings
from snapshots.catalog.catalog import Catalog
from tests.server.pages.page_reader import Shown, page_data, rendered, shown
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


def test_long_table_is_complete(client: httpx.Client) -> None:
    """Longer than a request permits; roots are first."""
    locks = [locked(str(number), f"p{number}") for number in range(510)]
    roots = [hash_of(str(number)) for number in range(500, 510)]
    lock = as_bytes(lock_file(locks, roots))
    lines = missing_in(client, lock)
    assert len({line["hash"] for line in lines}) == len(lines) == 510
    assert {line["isRoot"] for line in lines[:10]} == {"true"}
    page = checked(client, lock, "develop")
    assert "The first 500 are examined" in page.text("section[aria-labelledby=missing]")
    assert len(page.response.content) <= 100_000


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


def test_shared_address_of_a_long_file() -> None:
    """With only the missing specs, if these fit into an address."""
    specs = [{"name": "hdf5", "hash": hash_of(str(number))} for number in range(220)]
    assert address_of(specs) is None
    parameters = address_of(specs[:205])
    assert parameters is not None
    assert len(query_string(parameters)) < 8_000
    assert parameters.keys() == {"specs"}


def test_groups_share_the_limit_of_specs() -> None:
    """The largest first; each states its number of specs."""
    seen = {"lastSeen": {"ref": "a"}, "goneIn": {"ref": "b"}, "reason": "PACKAGE_GONE"}
    never = {"lastSeen": None, "goneIn": None, "reason": None}
    groups = missing_groups([never] * 2 + [seen] * MAX_MISSING)
    assert [(group.title, group.num_specs, len(group.specs)) for group in groups] == [
        ("package gone", MAX_MISSING, MAX_MISSING),
        ("", 2, 0),
    ]


def test_writer_and_groups_of_roots(client: httpx.Client) -> None:
    """The Spack that wrote the file, and the groups of each missing root."""
    writer = {"version": "1.3.0.dev0", "type": "git", "commit": "c7c444853d" + "0" * 30}
    lock = lock_file([locked("new", version="2.0"), locked("old")], [], 8, spack=writer)
    lock["roots"] = [
        {"hash": hash_of(label), "spec": "any", "group": group}
        for label, group in (("new", "apps"), ("old", "apps"), ("old", "<b>tools"))
    ]
    page = checked(client, as_bytes(lock), "develop")
    assert "Written by Spack 1.3.0.dev0 (git, c7c444853d)." in page.text("main")
    assert "root of apps, <b>tools" in rows(page)["hdf5@1.14.5"]


def test_no_tag_has_any_spec(client: httpx.Client) -> None:
    """Then none is shown as the best; the link to GraphiQL has capacity for a single spec."""
    nothing = as_bytes(lock_file([locked("never", "nothing-like-it", "1.0")], [hash_of("never")]))
    page = checked(client, nothing)
    assert page.text("h1") == "0.0 % of spack.lock"
    assert page.text("hgroup").endswith("; no tag has any of its specs")
    assert "lock file" not in page.text("footer")


def test_best_tag_is_selected(client: httpx.Client) -> None:
    """If none is given; all are listed with their counts."""
    page = checked(client, LOCK)
    assert "the first 3 specs of the lock file" in page.text("footer")  # of the link to GraphiQL
    assert "the tag with the most of its specs" in page.text("hgroup")
    tags = page.texts("section[aria-labelledby=covering] tbody tr")
    assert {tag.split()[0] for tag in tags} == {"develop", "v0.22.0"}
    assert all("2 of 4 1 of 2" in tag for tag in tags)


def test_text_can_be_checked_against_other_tags(client: httpx.Client) -> None:
    """A short text is in the form again, with buttons for the other tags."""
    sent = {"text": LOCK.decode(), "ref": "develop"}
    page = Shown(client.post("/check", data=sent))  # without files, in the other coding
    assert page.text("h1") == "50.0 % of the text"
    text = page.dom.cssselect("textarea")[0].text
    assert text.removeprefix("\n") == LOCK.decode()
    assert page.values("button[name=in]") == ["v0.22.0"]
    page = Shown(client.post("/check", data={**sent, "in": "v0.22.0"}))
    assert page.text("hgroup a") == "v0.22.0"
    assert [*rows(page)] == ["hdf5@2.0", "nothing-like-it@1.0"]


def test_long_input_is_refused(client: httpx.Client) -> None:
    """A lock file may have eight times the bytes of other bodies; a long ref is not sent back."""
    assert checked(client, b" " * (2 * MAX_BODY) + LOCK, "develop").status == 200
    page = checked(client, b" " * (8 * MAX_BODY), "develop")
    assert page.status == 413
    assert "bytes" in page.text("main")
    page = checked(client, LOCK, "x" * 100_000)
    assert (page.status, len(page.response.content) < 10_000) == (400, True)
    assert "more than 1,000 characters" in page.text(".problem")


def test_parsing_has_a_cost(small: str) -> None:
    """With an allowance of cost per minute, long files are charged for parsing."""
    with application(Settings(catalog=small, cost_per_minute=500_000)) as client:
        assert checked(client, LOCK, "develop").status == 200
        statuses = [checked(client, b" " * (4 * MAX_BODY), "develop").status for _ in range(2)]
    assert statuses == [400, 429]


def test_incomplete_history_is_stated(client: httpx.Client) -> None:
    """Missing and nearest specs are shown nevertheless."""
    never = {"hash": hash_of("never"), "name": "nothing-like-it"}
    answer = page_data(client, "check", ref="develop", specs=[never], first=1)
    shown_beside = {"covering": [], "left_out": (), "text": "", "name": "the text", "groups": ()}
    nothing = dict.fromkeys(("tags", "writer", "shared", "shared_missing"))
    data = answer | shown_beside | nothing | {"num_asked": 3}
    error = ("the history is not complete", ["revision", "lookup"])
    page = rendered(RESULT, "/check", data, [error])
    assert "the history is not complete" in page.text(".problem")
    line = page.text("section[aria-labelledby=missing] tbody tr")
    assert "unknown" in line
    assert "never seen" not in line


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


def test_replacement(client: httpx.Client) -> None:
    """With its cause, and a link to the replaced spec."""
    page = planned(client, as_bytes(lock_file(NEW, [])), "v0.22.0", stack="e4s")
    (line,) = page.texts("section[aria-labelledby=builds] tbody tr")
    assert line.endswith("hdf5 1.14.5 → 2.0")
    assert page.texts("section[aria-labelledby=why] tbody tr") == ["hdf5 1.14.5 → 2.0 1 1"]
    assert hash_of("old") in "".join(page.links("section[aria-labelledby=builds] a").values())


def test_removed_specs(client: httpx.Client) -> None:
    """Those that the stack loses without a replacement; only if a stack is given."""
    lock = as_bytes(lock_file([locked("new", name="nothing-like-it")], [hash_of("new")]))
    page = planned(client, lock, "v0.22.0", stack="e4s")
    assert "Removed from the stack e4s" in page.text("section[aria-labelledby=gone]")
    assert any(
        line.startswith("hdf5 for ") for line in page.texts("section[aria-labelledby=gone] li")
    )
    assert not planned(client, lock, "v0.22.0").dom.cssselect("section[aria-labelledby=gone]")


NEW = [locked("new", version="2.0")]


@pytest.mark.parametrize(
    ("specs", "stack", "title", "message"),
    [
        ([], "e4s", "0 of 0 specs", "Removed from the stack e4s"),
        (NEW, "", "0 of 1 spec", "None: all specs are available."),
        (NEW, "e5s", "0 of 1 spec", "develop has no stack e5s"),
    ],
)
def test_little_to_build(
    client: httpx.Client, specs: list[Any], stack: str, title: str, message: str
) -> None:
    """The page states it, for the default revision."""
    page = planned(client, as_bytes(lock_file(specs, [])), stack=stack)
    assert page.text("h1") == f"{title} to build"
    assert message in page.text("main")


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
