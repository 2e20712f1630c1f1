"""The search page: packages by name, specs by Spack's language, hashes."""

from pathlib import Path

import httpx
import pytest

from server.pages.filters import hash_in
from server.settings import Settings
from snapshots.catalog.catalog import Catalog
from tests.server.pages.page_reader import Serve, Shown, data_of, shown
from tests.server.pages.recipes import import_recipes
from tests.server.servers import application
from tests.snapshots.factories import a_snapshot, a_spec, day, hash_of

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
    page = search(client, q="zlib", **{"in": "develop"})
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


@pytest.fixture(scope="module")
def varied(serve: Serve) -> httpx.Client:
    """Return a client of a catalog with two series, stacks, a package that is gone, and commits."""
    kept = [
        a_spec("a1", name="hdf5", version="1.14", stacks=("e4s",)),
        a_spec("a2", name="py-torch", version="2.5", stacks=("ml-linux",)),
    ]
    return serve([*kept, a_spec("a3", name="gone")], kept, **{"v1.0": [kept[:1]]})


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("hdf5", "/packages/hdf5"),
        (" hdf5 ", "/packages/hdf5"),
        ("gone", "/packages/gone"),
        ("develop", "/series/develop"),
        ("v1.0", "/r/v1.0"),
        ("develop~1", "/r/develop@"),
        ("develop@2025-01-05", "/r/develop@"),
        ("e4s", "/r/develop/stacks/e4s"),
        ("ml-linux", "/r/develop/stacks/ml-linux"),
        (hash_of("a1"), f"/hash/{hash_of('a1')}"),
        (f"/{hash_of('a1')}", f"/hash/{hash_of('a1')}"),
        (hash_of("a1")[:8].upper(), f"/hash/{hash_of('a1')}"),
        (f"/{hash_of('a3')[:9]}", f"/hash/{hash_of('a3')}"),  # of a spec that is gone
        ("hdf", None),
        ("HDF5", None),
        ("hdf5@1.14", None),
        ("hdf5+mpi", None),
        ("py", None),
        ("nowhere", None),
        ("#12", None),
        ("1234567", None),
        ("/zzzzzzz", None),
        ("*", None),
        ("<b>", None),
    ],
)
def test_exact_text_leads_to_its_page(varied: httpx.Client, text: str, path: str | None) -> None:
    """Everything else is searched, and so is it in a revision, or while it is typed."""
    response = varied.get("/search", params={"q": text})
    if path is None:
        assert response.status_code == 200
    else:
        assert response.status_code in (302, 303, 307)
        assert path in f"/{response.headers['location']}"
        followed = varied.get("/search", params={"q": text}, follow_redirects=True)
        assert followed.status_code == 200
    assert varied.get("/search", params={"q": text, "in": "develop"}).status_code == 200
    typing = varied.get("/search", params={"q": text}, headers={"HX-Request": "true"})
    assert typing.status_code == 200


def test_pull_request_leads_to_its_commit(tmp_path: Path) -> None:
    """By number or URL, and so does a beginning of the commit's hash."""
    catalog = Catalog(str(tmp_path))
    catalog.publish([a_snapshot([a_spec("a", name="hdf5")], "develop", day(n)) for n in range(2)])
    import_recipes(catalog, ["hdf5"])
    (graph, *_) = {catalog.recipes.graph(it.source) for it in catalog.recipes.all}
    commit = next(it for it in graph.commits.values() if it.pull_request)
    with application(Settings(catalog=str(tmp_path))) as client:
        number = f"#{commit.pull_request}"
        for text in (number, f"spack-packages{number}", commit.oid[:9]):
            response = client.get("/search", params={"q": text})
            assert response.headers["location"].endswith(f"commits/{commit.oid}")


@pytest.mark.parametrize(
    ("q", "sentence"),
    [
        ("hdf5 target=aarch64", "1 spec with another target: x86_64_v3"),
        ("hdf5@1.12", "1 spec with another version: 1.14"),
        ("hdf5~mpi", "1 spec with another variant mpi: +mpi"),
    ],
)
def test_query_that_nothing_meets_says_which_fact_differs(
    varied: httpx.Client, q: str, sentence: str
) -> None:
    """With what there is instead, and a spec that has it."""
    page = search(varied, q=q)
    (text,) = page.texts(".near-misses li")
    assert text.startswith(sentence)
    (link,) = page.links(".near-misses a").values()
    assert link.endswith(f"/specs/{hash_of('a1')}")
