"""The search page: packages by name, specs by Spack's language, hashes."""

import httpx
import pytest

from server.pages.filters import hash_in
from tests.server.pages.page_reader import Serve, Shown, data_of, shown
from tests.snapshots.factories import a_spec, hash_of

SPECS = """query($q: String!) { revision(ref: "develop") { specs(matching: $q) {
  totalCount nodes { hash } facets { targets { value numSpecs } } } } }"""


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
