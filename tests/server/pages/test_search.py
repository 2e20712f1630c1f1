"""The page of a search: packages by name, specs by Spack's language, hashes."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from server.pages.filters import hash_in
from tests.server.pages.api_answers import asked
from tests.server.pages.catalogs import served
from tests.server.pages.page_reader import Shown, shown
from tests.snapshots.factories import a_spec, hash_of

SPECS = """query($q: String!) { revision(ref: "develop") { specs(matching: $q) {
  totalCount nodes { hash } facets { targets { value numSpecs } } } } }"""
NAMES = "section[aria-labelledby=specs] .names a"


def find(client: httpx.Client, **query: str) -> Shown:
    """Return the page of a search."""
    return shown(client, str(httpx.URL("/search", params=query)))


def test_specs_are_found_by_a_query(client: httpx.Client) -> None:
    """Those that the API finds, counted, with their filters; each leads on."""
    q = "+shared target=x86_64_v3:"
    page, told = find(client, q=q), asked(client, SPECS, q=q)["revision"]["specs"]
    assert f"{told['totalCount']:,} specs match {q}" in page.texts("h2")
    shown_hashes = [it.get("title") for it in page.dom.cssselect("table.specs .hash")]
    assert shown_hashes == [it["hash"] for it in told["nodes"]]
    targets = told["facets"]["targets"]
    assert page.texts(".facet[aria-labelledby=facet-targets] li") == [
        f"{it['value']} {it['numSpecs']:,}" for it in targets
    ]
    name, link = next(iter(page.links(".facet[aria-labelledby=facet-targets] a").items()))
    narrowed = shown(client, link)
    assert f"{name.split()[-1]} specs match {q}" in narrowed.texts("h2")


def test_packages_come_first_by_name(tmp_path: Path) -> None:
    """The one that is called so, then those with the text in their names."""
    specs = [a_spec(it, name=it) for it in ("a-zlib", "zlib", "zlib-ng", "other")]
    with served(tmp_path, specs) as client:
        page = find(client, q="zlib")
        names = [it.split()[0] for it in page.texts("section[aria-labelledby=packages] li")]
        assert names == ["zlib", "a-zlib", "zlib-ng"]
        part = find(client, q="ZLI")
        assert "3 packages with this in their names" in part.texts("h2")
        assert "No package 'ZLI'" in part.text("#problem")


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """Return a client of a server of a spec each of zlib and hdf5, which need nothing."""
    specs = [a_spec(name, name=name, dependencies=()) for name in ("zlib", "hdf5")]
    with served(tmp_path_factory.mktemp("two"), specs) as client:
        yield client


@pytest.mark.parametrize(
    ("q", "place", "text", "names"),
    [
        ("zlibb@1.3", "#problem p", "No package 'zlibb' in this revision", "#problem a"),
        ("hdf5 ^zlibb", "h2", "0 specs match hdf5 ^zlibb", NAMES),
        ("hdf5 ^zlibb", "#results p", "Nothing is named zlibb. Is it one of these?", NAMES),
        ("ZLIB", "#results p", "Nothing is named ZLIB. Is it one of these?", NAMES),
    ],
)
def test_a_name_that_nothing_has_leads_to_the_nearest(
    two: httpx.Client, q: str, place: str, text: str, names: str
) -> None:
    """Each of the nearest names is a search of its own."""
    page = find(two, q=q)
    assert any(text in shown_text for shown_text in page.texts(place))
    links = page.links(names)
    assert [*links] == ["zlib"]
    assert "1 spec matches zlib" in shown(two, links["zlib"]).texts("h2")


@pytest.mark.parametrize(
    ("q", "before", "there", "reason"),
    [
        ("hdf5@", "hdf5@", "", "Unexpected end, a version is missing."),
        ("hdf5 <b>+", "hdf5 ", "<", "Unexpected '<'"),
    ],
)
def test_a_query_that_cannot_be_read(
    client: httpx.Client, q: str, before: str, there: str, reason: str
) -> None:
    """The place is marked in it, and what is wrong there is said."""
    page = find(client, q=q)
    assert page.status == 200
    (query,) = page.dom.cssselect("pre.query code")
    (mark,) = query.cssselect("mark")
    assert (query.text, mark.text or "", query.text_content()) == (before, there, q)
    assert reason in page.text("#problem")
    (box,) = page.dom.cssselect("form.find input[name=q]")
    assert (box.get("value"), box.get("aria-invalid")) == (q, "true")


def test_without_a_query_examples_work(client: httpx.Client) -> None:
    """What can be written is told by examples of this very revision, each of which finds some."""
    page = find(client, **{"in": "develop"})
    examples = page.links(".examples a")
    assert len(examples) > 3
    for link in examples.values():
        found = shown(client, link)
        assert not found.dom.cssselect("#problem")
    assert not page.dom.cssselect("table.specs")


@pytest.mark.parametrize(
    ("text", "digest"),
    [
        (hash_of("a"), hash_of("a")),
        (f"/{hash_of('a')[:7]}", hash_of("a")[:7]),
        (" ABC234D ", "abc234d"),
        ("2a" * 100, "2a" * 100),
        ("2" * 4_000 + "!", None),  # which took a twentieth of a second to tell
        ("openssl", None),
        ("hdf5@1.14", None),
        ("py3", None),
        ("/", None),
        ("", None),
    ],
)
def test_what_looks_like_a_hash(text: str, digest: str | None) -> None:
    """A whole one, one behind a slash, or letters with digits; a package's name is none."""
    assert hash_in(text) == digest


def test_a_hash_leads_to_where_it_was(client: httpx.Client) -> None:
    """Whatever revision has it."""
    page = find(client, q=f"/{hash_of('nowhere')}")
    assert page.links(".hint a").popitem()[1].endswith(f"/hash/{hash_of('nowhere')}")


def test_where_it_is_searched(tmp_path: Path) -> None:
    """In develop unless the address says otherwise; without it in the newest; any tag by name."""
    with served(tmp_path, **{"v1.0": [[a_spec("1")]]}) as client:
        page = find(client, q="hdf5")
        assert page.status == 200
        assert "1 spec matches hdf5" in page.texts("h2")
        assert page.links("table.specs td a")["hdf5"].endswith("/r/v1.0/packages/hdf5")
        assert find(client, q="hdf5", **{"in": "v1.0"}).status == 200
        assert find(client, q="hdf5", **{"in": "nope"}).status == 404


def test_the_whole_catalog_is_searched(tmp_path: Path) -> None:
    """In the newest of develop, and beside it what other revisions have or had: no dead end."""
    kept, gone = a_spec("1", name="zlib"), a_spec("2", name="zlib-ng", version="2.1")
    with served(tmp_path, [kept, gone], [kept]) as client:
        page = find(client, q="zlib")
        assert page.text(".elsewhere li").endswith("in 2 revisions of develop")
        assert page.text("section[aria-labelledby=others] li").startswith("zlib-ng gone since")
        nothing = find(client, q="zlib-ng@2:")
        assert "No package 'zlib-ng'" in nothing.text("#problem")
        (line,) = nothing.texts(".elsewhere li")
        assert line.startswith("gone in develop")
        assert line.endswith("in 1 revision of develop")
        last = next(link for text, link in nothing.links(".elsewhere a").items() if "last" in text)
        assert "1 spec matches zlib-ng@2:" in shown(client, last).texts("h2")
        assert nothing.links("h2 a")["zlib-ng"].endswith("/packages/zlib-ng")
