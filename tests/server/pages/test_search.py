"""The search page: packages by name, specs by Spack's language, hashes."""

from collections.abc import Iterator
from hashlib import sha1

import httpx
import pytest

from server.pages.filters import hash_in
from server.settings import Settings
from snapshots.catalog.catalog import Catalog
from snapshots.timelines.absences import MAX_SEARCHED
from tests.server.pages.page_reader import Serve, Shown, data_of, shown
from tests.server.pages.recipes import import_recipes
from tests.server.servers import application
from tests.snapshots.factories import a_snapshot, a_spec, day, hash_of

SPECS = """query($q: String!) { revision(ref: "develop") { specs(matching: $q) {
  totalCount nodes { hash } facet(by: TARGET) { value numSpecs } } } }"""


def search(client: httpx.Client, **query: str) -> Shown:
    """Return the page of a search."""
    return shown(client, str(httpx.URL("/search", params=query)))


def test_specs_match_a_query(client: httpx.Client) -> None:
    """Those of the API, counted, with their filters."""
    q = "+shared target=x86_64_v3:"
    page, specs = search(client, q=q), data_of(client, SPECS, q=q)["revision"]["specs"]
    assert f"{specs['totalCount']:,} specs match {q}" in page.texts("h2")
    assert page.values("table.specs .hash", "title") == [node["hash"] for node in specs["nodes"]]
    targets = specs["facet"]
    counts = {f"{target['value']} {target['numSpecs']:,}" for target in targets}
    listed = page.texts(".facet[aria-labelledby=facet-targets] li")
    assert counts < {*listed}  # and families
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
    assert page.links("p.none a").popitem()[1].endswith(f"/hash/{hash_of('nowhere')}")


# -- where each input leads

HDF5 = a_spec("a1", name="hdf5", version="1.14.6")
HDF5_OF_V1 = a_spec("a2", name="hdf5", version="1.12.0", stacks=("e4s",))
TORCH = a_spec(
    "a3", name="py-torch", version="2.5", target="neoverse_v1", variants=("~cuda",), stacks=("ml",)
)
NUMPY = a_spec("a4", name="py-numpy", version="2.1", target="neoverse_v2", stacks=("ml-arm",))
PETSC = a_spec("a5", name="petsc", version="3.22", stacks=("e4s",), variants=("+hdf5", "~cuda"))
GONE = a_spec("a6", name="gone", version="3.0", stacks=("e4s",))
ZLIB = a_spec("a7", name="zlib-ng", version="2.2", stacks=("e4s", "ml-arm"), variants=("+opt",))
OLD_ZLIB = a_spec("a8", name="zlib-ng", version="2.1", stacks=("e4s", "ml-arm"), variants=("+opt",))


@pytest.fixture(scope="module")
def varied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """Return a client of a catalog with several series, of which much is gone, and commits."""
    newest = [HDF5, NUMPY, PETSC, ZLIB]
    states = {
        "develop": [[HDF5, TORCH, GONE, OLD_ZLIB], [HDF5, TORCH, *newest[1:3], OLD_ZLIB], newest],
        "v1.0": [[HDF5_OF_V1]],
        "v1.1": [[HDF5_OF_V1, PETSC]],
        "e4s-2025-01-05": [[HDF5]],
        "e4s-2025-01-06": [[HDF5, ZLIB]],
    }
    catalog = Catalog(str(tmp_path_factory.mktemp("varied")))
    catalog.publish(
        a_snapshot(specs, tag, day(7 * number))
        for tag, of_tag in states.items()
        for number, specs in enumerate(of_tag)
    )
    import_recipes(catalog, ["hdf5"])
    with application(Settings(catalog=catalog.location)) as client:
        yield client


COMMIT = sha1(b"1").hexdigest()  # noqa: S324 - that of ``import_recipes``

LEADS_TO = {
    # packages, and those that are gone
    "hdf5": "/packages/hdf5",
    " hdf5 ": "/packages/hdf5",
    "petsc": "/packages/petsc",
    "zlib-ng": "/packages/zlib-ng",
    "py-numpy": "/packages/py-numpy",
    "py-torch": "/packages/py-torch",
    "gone": "/packages/gone",
    # series, tags, and other refs
    "develop": "/series/develop",
    "vX.Y.Z": "/series/vX.Y.Z",
    "e4s-DATE": "/series/e4s-DATE",
    "v1.0": "/r/v1.0",
    "v1.1": "/r/v1.1",
    "e4s-2025-01-06": "/r/e4s-2025-01-06",
    "develop~1": "/r/develop@2025-01-12",
    "develop~2": "/r/develop@2025-01-05",
    "develop@2025-01-05": "/r/develop@2025-01-05",
    "e4s-DATE~1": "/r/e4s-2025-01-05@2025-01-05",
    "develop@1 week ago": "/r/develop@2025-01-12",
    # stacks, and those that are gone; targets and their families
    "e4s": "/r/develop/stacks/e4s",
    "ml-arm": "/r/develop/stacks/ml-arm",
    "ml": "/r/develop@2025-01-12.",
    "neoverse_v2": "/r/develop?targets=neoverse_v2",
    "x86_64_v3": "/r/develop?targets=x86_64_v3",
    "aarch64": "/r/develop?targets=aarch64",
    "x86_64": "/r/develop?targets=x86_64",
    # hashes and their prefixes
    HDF5.hash: f"/hash/{HDF5.hash}",
    f"/{HDF5.hash}": f"/hash/{HDF5.hash}",
    HDF5.hash[:8].upper(): f"/hash/{HDF5.hash}",
    f"/{GONE.hash[:9]}": f"/hash/{GONE.hash}",
    TORCH.hash[:7]: f"/hash/{TORCH.hash}",
    # commits and pull requests
    COMMIT: f"/commits/{COMMIT}",
    COMMIT[:9]: f"/commits/{COMMIT}",
    "#1": f"/commits/{COMMIT}",
    "spack-packages#1": f"/commits/{COMMIT}",
    "https://github.com/spack/spack-packages/pull/1": f"/commits/{COMMIT}",
}
"""The path of the page that each exact name leads to."""

ANSWERS = {
    # queries that specs match
    "hdf5@1.14.6": "1 spec matches hdf5@1.14.6",
    "hdf5+mpi": "1 spec matches hdf5+mpi",
    "target=neoverse_v2": "1 spec matches",
    "@2:": "3 specs match",
    "*": "4 specs match",
    # what is nearest, which one fact differs, and until when it was there
    "hdf5+mpi target=m1": "hdf5+mpi for m1: never built; x86_64_v3 in e4s has it (1.14.6).",
    "hdf5~mpi": "hdf5~mpi: never built; +mpi for x86_64_v3 in e4s has it (1.14.6).",
    "hdf5@1.12": "hdf5@1.12: in v1.1; 1.14.6 for x86_64_v3 in e4s has it.",
    "hdf5@1.10": "hdf5@1.10: never built; 1.14.6 for x86_64_v3 in e4s has it.",
    "hdf5@1.10 target=m1": "hdf5@1.10 for m1: never built.",
    "hdf5 target=x86_64": "hdf5 for x86_64: not for exactly this target; x86_64_v3 in e4s has it",
    "zlib-ng@2.1": "zlib-ng@2.1: in develop until 2025-01-12; 2.2 for x86_64_v3",
    "petsc+cuda": "petsc+cuda: never built; ~cuda for x86_64_v3 in e4s has it (3.22).",
    "petsc os=rhel8": "petsc os=rhel8: never built; ubuntu22.04 for x86_64_v3 in e4s has it",
    "py-torch+cuda": "py-torch+cuda: never built; ~cuda for neoverse_v1 in ml until 2025-01-12.",
    "py-torch target=aarch64": "not for exactly this target; neoverse_v1 in ml until 2025-01-12.",
    "py-torch@2.5": "py-torch@2.5: in develop until 2025-01-12.",
    "gone@3:": "gone@3:: in develop until 2025-01-05.",
    # parts of names and typos
    "py": "1 package with this in its name",
    "zlib": "1 package with this in its name",
    "HDF5": "1 package with this in its name",
    "hdf6": "Is it one of these? hdf5",
    "petcs": "Is it one of these? petsc",
    "torch": "py-torch removed since develop",
    # what is in no revision, and invalid queries
    "nowhere": "No package 'nowhere'",
    "#12345": "The query is invalid at this position",
    "1234567": "No package '1234567'",
    "hdf5@": "Unexpected end, a version is missing.",
    "<b>": "Unexpected '<'",
    f"/{hash_of('nowhere')}": "See in which revisions",
}
"""The sentence on the page of what is searched."""


def test_search_leads_to_pages_or_sentences() -> None:
    """Sixty inputs of each kind."""
    assert len(LEADS_TO) + len(ANSWERS) >= 60


@pytest.mark.parametrize(("text", "path"), LEADS_TO.items())
def test_exact_text_leads_to_its_page(varied: httpx.Client, text: str, path: str) -> None:
    """Without a page of results; in a chosen revision, and while it is typed, it is searched."""
    response = varied.get("/search", params={"q": text})
    assert response.status_code == 303
    assert f"/{response.headers['location'].removeprefix('./')}".startswith(path)
    followed = varied.get("/search", params={"q": text}, follow_redirects=True)
    assert followed.status_code == 200
    assert varied.get("/search", params={"q": text, "in": "develop"}).status_code == 200
    typing = varied.get("/search", params={"q": text}, headers={"HX-Request": "true"})
    assert typing.status_code == 200


@pytest.mark.parametrize(("text", "sentence"), ANSWERS.items())
def test_other_text_is_searched(varied: httpx.Client, text: str, sentence: str) -> None:
    """What nothing matches says what is nearest, and until when it was there."""
    page = search(varied, q=text)
    assert page.status == 200
    assert sentence in page.text("#results")


def test_near_misses_lead_to_an_example(varied: httpx.Client) -> None:
    """In the revision that has it."""
    (link,) = search(varied, q="py-torch+cuda").links(".near-misses a").values()
    shown_there = shown(varied, link)
    assert TORCH.hash in shown_there.text("main")
    assert "/r/develop@2025-01-12" in link


def test_history_that_is_too_long_to_search(serve: Serve) -> None:
    """Then the day is stated since when there was nothing, instead of never."""
    num_states = MAX_SEARCHED + 2
    client = serve(*([a_spec(f"b{number}", name="hdf5")] for number in range(num_states)))
    since = f"{day(num_states - MAX_SEARCHED):%Y-%m-%d}"
    assert f"hdf5+foo: not since {since}; without variant foo for" in search(
        client, q="hdf5+foo"
    ).text("#results")


def test_series_names_its_newest_revision(varied: httpx.Client) -> None:
    """In badges, pages and comparisons, whose form proposes the main series."""
    assert "1.14.6" in varied.get("/badge/e4s-DATE/hdf5.svg").text
    assert shown(varied, "/r/e4s-DATE").text("h1").startswith("e4s-2025-01-06")
    (base, head) = shown(varied, "/compare").values(".pickers input", "placeholder")
    assert (base, head) == ("develop~1", "develop")
    assert shown(varied, f"/compare/{base}...{head}").status == 200
    assert shown(varied, "/compare/develop@1 week ago...e4s-DATE").status == 200
