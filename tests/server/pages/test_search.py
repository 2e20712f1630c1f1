"""The search page: packages by name, specs by Spack's language, hashes."""

import httpx
import pytest

from server.pages.filters import hash_in
from tests.server.pages.page_reader import Serve, Shown, data_of, shown
from tests.snapshots.factories import a_spec, hash_of

SPECS = """query($q: String!) { revision(ref: "develop") { specs(matching: $q) {
  totalCount nodes { hash } facets { targets { value numSpecs } } } } }"""
NAMES = "section[aria-labelledby=specs] .names a"


def search(client: httpx.Client, **query: str) -> Shown:
    """Return the page of a search."""
    return shown(client, str(httpx.URL("/search", params=query)))


def test_specs_match_a_query(client: httpx.Client) -> None:
    """Those of the API, counted, with their filters."""
    q = "+shared target=x86_64_v3:"
    page, specs = search(client, q=q), data_of(client, SPECS, q=q)["revision"]["specs"]
    assert f"{specs['totalCount']:,} specs match {q}" in page.texts("h2")
    assert page.values("table.specs .hash", "title") == [node["hash"] for node in specs["nodes"]]
    targets = specs["facets"]["targets"]
    assert page.texts(".facet[aria-labelledby=facet-targets] li") == [
        f"{target['value']} {target['numSpecs']:,}" for target in targets
    ]
    name, link = next(iter(page.links(".facet[aria-labelledby=facet-targets] a").items()))
    narrowed = shown(client, link)
    assert f"{name.split()[-1]} specs match {q}" in narrowed.texts("h2")


def test_packages_match_by_name(serve: Serve) -> None:
    """The one with this name, then those that contain the text."""
    specs = [a_spec(name, name=name) for name in ("a-zlib", "zlib", "zlib-ng", "other")]
    client = serve(specs)
    page = search(client, q="zlib")
    names = [text.split()[0] for text in page.texts("section[aria-labelledby=packages] li")]
    assert names == ["zlib", "a-zlib", "zlib-ng"]
    part = search(client, q="ZLI")
    assert "3 packages with this in their names" in part.texts("h2")
    assert "No package 'ZLI'" in part.text("#problem")


@pytest.fixture(scope="module")
def two(serve: Serve) -> httpx.Client:
    """Return a client of a server of one spec each of zlib and hdf5, without dependencies."""
    return serve([a_spec(name, name=name, dependencies=()) for name in ("zlib", "hdf5")])


@pytest.mark.parametrize(
    ("q", "place", "text", "names"),
    [
        ("zlibb@1.3", "#problem p", "No package 'zlibb' in this revision", "#problem a"),
        ("hdf5 ^zlibb", "h2", "0 specs match hdf5 ^zlibb", NAMES),
        ("hdf5 ^zlibb", "#results p", "Unknown name: zlibb. Is it one of these?", NAMES),
        ("ZLIB", "#results p", "Unknown name: ZLIB. Is it one of these?", NAMES),
    ],
)
def test_unknown_name_leads_to_the_nearest(
    two: httpx.Client, q: str, place: str, text: str, names: str
) -> None:
    """Each of the nearest names links to a search."""
    page = search(two, q=q)
    assert any(text in shown_text for shown_text in page.texts(place))
    links = page.links(names)
    assert [*links] == ["zlib"]
    assert "1 spec matches zlib" in shown(two, links["zlib"]).texts("h2")


@pytest.mark.parametrize(
    ("q", "before", "marked", "reason"),
    [
        ("hdf5@", "hdf5@", "", "Unexpected end, a version is missing."),
        ("hdf5 <b>+", "hdf5 ", "<", "Unexpected '<'"),
    ],
)
def test_invalid_query(client: httpx.Client, q: str, before: str, marked: str, reason: str) -> None:
    """The position is marked in it, and the error is stated."""
    page = search(client, q=q)
    assert page.status == 200
    (query,) = page.dom.cssselect("pre.query code")
    (mark,) = query.cssselect("mark")
    assert (query.text, mark.text or "", query.text_content()) == (before, marked, q)
    assert reason in page.text("#problem")
    assert page.values("form.find input[name=q][aria-invalid=true]") == [q]


def test_examples_match_specs(client: httpx.Client) -> None:
    """Without a query, the page has examples for the revision."""
    page = search(client, **{"in": "develop"})
    examples = page.links(".examples a")
    assert len(examples) > 3
    for link in examples.values():
        assert not shown(client, link).dom.cssselect("#problem")
    assert not page.dom.cssselect("table.specs")


@pytest.mark.parametrize(
    ("text", "digest"),
    [
        (hash_of("a"), hash_of("a")),
        (f"/{hash_of('a')[:7]}", hash_of("a")[:7]),
        (" ABC234D ", "abc234d"),
        ("2a" * 100, "2a" * 100),
        ("2" * 4_000 + "!", None),  # must not backtrack
        ("openssl", None),
        ("hdf5@1.14", None),
        ("py3", None),
        ("/", None),
        ("", None),
    ],
)
def test_hash_in_a_search(text: str, digest: str | None) -> None:
    """A complete one, one after a slash, or letters with digits, but not the name of a package."""
    assert hash_in(text) == digest


def test_hash_leads_to_its_history(client: httpx.Client) -> None:
    """In any revision."""
    page = search(client, q=f"/{hash_of('nowhere')}")
    assert page.links(".hint a").popitem()[1].endswith(f"/hash/{hash_of('nowhere')}")


def test_searched_revision(serve: Serve) -> None:
    """Develop by default, otherwise the newest; any ref in the address."""
    client = serve(**{"v1.0": [[a_spec("1")]]})
    page = search(client, q="hdf5")
    assert page.status == 200
    assert "1 spec matches hdf5" in page.texts("h2")
    assert page.links("table.specs td a")["hdf5"].endswith("/r/v1.0/packages/hdf5")
    assert search(client, q="hdf5", **{"in": "v1.0"}).status == 200
    assert search(client, q="hdf5", **{"in": "nope"}).status == 404


def test_other_revisions_are_searched(serve: Serve) -> None:
    """Matches in other current and past revisions are listed, too."""
    remaining, removed = a_spec("1", name="zlib"), a_spec("2", name="zlib-ng", version="2.1")
    client = serve([remaining, removed], [remaining])
    page = search(client, q="zlib")
    assert page.text(".elsewhere li").endswith("in 2 revisions of develop")
    assert page.text("section[aria-labelledby=others] li").startswith("zlib-ng removed since")
    no_match = search(client, q="zlib-ng@2:")
    assert "No package 'zlib-ng'" in no_match.text("#problem")
    (line,) = no_match.texts(".elsewhere li")
    assert line.startswith("removed in develop")
    assert line.endswith("in 1 revision of develop")
    last = next(link for text, link in no_match.links(".elsewhere a").items() if "last" in text)
    assert "1 spec matches zlib-ng@2:" in shown(client, last).texts("h2")
    assert no_match.links("h2 a")["zlib-ng"].endswith("/packages/zlib-ng")
