"""The pages of a spec, of two specs, and of a hash."""

import httpx
import pytest

from server.pages.filters import install_commands
from server.pages.routes import PAGES
from snapshots.contents import Content, Snapshot
from snapshots.texts import short_hash
from tests.server.pages.page_reader import Serve, data_of, page_data, rendered, shown
from tests.snapshots.factories import SOURCE, a_snapshot, a_spec, full_spec, hash_of

BUSY = """{ revision(ref: "develop") { specs(first: 1000) { nodes {
  hash dependencies(first: 0) { totalCount } dependents(first: 0) { totalCount } } } } }"""
DEPENDENTS = "section[aria-labelledby=dependents]"


@pytest.fixture(scope="module")
def needed(client: httpx.Client) -> str:
    """Return the hash of a spec with dependencies and many dependents."""
    specs = data_of(client, BUSY)["revision"]["specs"]["nodes"]
    some = [spec for spec in specs if spec["dependencies"]["totalCount"] > 1]
    hash_: str = max(some, key=lambda spec: spec["dependents"]["totalCount"])["hash"]
    return hash_


@pytest.fixture(scope="module")
def dependent(client: httpx.Client, needed: str) -> str:
    """Return the address of the first dependent of that spec."""
    links = shown(client, f"/r/develop/specs/{needed}").links(f"{DEPENDENTS} tbody th a")
    return next(iter(links.values()))


def test_page_shows_the_response(client: httpx.Client, needed: str) -> None:
    """All facts, dependencies and dependents."""
    data = page_data(client, "spec", ref="develop", hash=needed, first=50)
    spec = data["revision"]["spec"]
    page = shown(client, f"/r/develop/specs/{needed}")
    assert page.status == 200
    assert page.text("h1") == f"{spec['name']}@{spec['version']}"
    facts = page.facts("dl.facts")
    assert facts["Variants"] == (" ".join(spec["variants"]) or "none")
    assert f"{int(spec['size']):,} bytes" in facts["Size"]
    assert facts["Stacks"] == ", ".join(spec["stacks"])
    assert facts["Tarball"].startswith("unknown")
    needs = data["needs"]["spec"]["dependencies"]["edges"]
    labels = [f"{need['node']['name']}@{need['node']['version']}" for need in needs]
    assert page.texts("#needs > .tree > li strong") == labels
    dependents = data["neededBy"]["spec"]["dependents"]
    assert dependents["totalCount"] > 1
    names = [f"{edge['node']['name']}@{edge['node']['version']}" for edge in dependents["edges"]]
    assert page.texts(f"{DEPENDENTS} tbody th") == names
    assert f"{dependents['totalCount']:,} specs" in page.texts(".pager")[-1]
    assert len(page.texts(".stays tbody tr")) == len(data["history"]["spans"])


def test_long_lists_have_pages(client: httpx.Client, needed: str) -> None:
    """Fifty dependents per page, forwards and backwards; an invalid cursor affects only them."""
    page = shown(client, f"/r/develop/specs/{needed}?all=true")
    assert len(page.texts(f"{DEPENDENTS} tbody tr")) == 50
    further = shown(client, page.links("[rel=next]")["Next →"])
    first, second = (part.texts(f"{DEPENDENTS} tbody td:first-of-type") for part in (page, further))
    assert second
    assert {*first}.isdisjoint(second)
    back = shown(client, further.links("[rel=prev]")["← Previous"])
    assert back.texts(f"{DEPENDENTS} tbody tr") == page.texts(f"{DEPENDENTS} tbody tr")
    invalid = shown(client, f"/r/develop/specs/{needed}?after=nonsense")
    assert "nonsense" in invalid.text(f"{DEPENDENTS} .problem")
    assert invalid.texts("#needs .tree")


def test_dependencies_can_be_filtered(client: httpx.Client, dependent: str) -> None:
    """By type, and with transitive ones; an external compiler has no link."""
    page = shown(client, dependent)
    (outside,) = [
        text for text in page.texts("#needs > .tree > li") if "not in this revision" in text
    ]
    assert "build, as c, cxx, fortran" in outside
    for label in ("Direct and indirect", "To run", "To build", "To test"):
        filtered = shown(client, page.links(".tabs a")[label])
        assert filtered.status == 200
        assert filtered.texts(".tabs [aria-current]") == [label]
    assert shown(client, page.links(".tabs a")["To test"]).text("#needs") == "Nothing of this kind."


@pytest.mark.parametrize(
    ("kind", "location", "added"),
    [
        ("index", "https://a.example/e4s", "spack mirror add 'a; b' https://a.example/e4s"),
        ("index", "/a folder/e4s", "spack mirror add 'a; b' '/a folder/e4s'"),
        ("pages", "site", None),
    ],
)
def test_commands_are_quoted(kind: str, location: str, added: str | None) -> None:
    """Any value of a catalog is a single word of a shell."""
    spec = {"hash": "a" * 32, "short": "zlib cflags='-O2; rm'", "tarball": None}
    source = {"kind": kind, "location": location, "synthetic": False}
    commands = install_commands({"tag": "a; b", "source": source, "spec": spec})
    assert commands.get("add_mirror") == added
    assert commands["install"] == f"spack install --cache-only /{'a' * 32}"
    similar = commands["install_alike"]
    assert similar == """spack install --cache-only 'zlib cflags='"'"'-O2; rm'"'"''"""


def test_optional_facts(serve: Serve) -> None:
    """Virtuals, externals, splices and explicit installations; absent for other specs."""
    spec = full_spec(provided_virtuals=())
    gcc = full_spec("gcc", name="gcc", stacks=(), external_path="/usr")
    snapshot = Snapshot(tag="develop", content=Content.of([spec], [gcc]), source=SOURCE)
    client = serve(snapshot, a_snapshot([a_spec()], "v1"))
    pages = [shown(client, f"/r/{ref}/specs/{spec.hash}") for ref in ("develop", "v1")]
    full, bare = (page.facts("dl.facts") for page in pages)
    assert full["Provides"] == "no virtual package"
    assert full["External"] == "at /opt/my libs by the modules PrgEnv-cray/8.3 gcc/13.2.0"
    assert full["Spliced"] == f"built as zlib-ng/{hash_of('zlib-ng')}"
    assert full["Installed"] == "explicitly 2025-03-30"
    assert full["Spec format"] == "6"
    assert "external at /usr" in pages[0].text("#needs")
    assert bare["Provides"].startswith("unknown")
    assert not {"External", "Spliced", "Installed"} & set(bare)


def test_data_that_a_source_lacks_is_unknown(serve: Serve) -> None:
    """Sizes, recipes, dependencies and mirrors are unknown rather than absent or zero."""
    spec = a_spec("zlib", compiler=None, variants=(), stacks=(), namespace=None)
    client = serve([spec])
    page = shown(client, f"/r/develop/specs/{spec.hash}")
    assert page.status == 200
    facts = page.facts("dl.facts")
    for name in ("Stacks", "Size", "Tarball", "Package hash", "Patches", "Spec format"):
        assert facts[name].startswith("unknown"), name
    for name in ("Compiler", "Variants"):
        assert facts[name] == "none"
    assert page.text("#needs").startswith("Unknown:")
    assert page.text(f"{DEPENDENTS} .none").startswith("Unknown:")
    assert "Which one has this binary is unknown" in page.text("section[aria-labelledby=install]")


def test_unavailable_parts_affect_nothing_else(client: httpx.Client, needed: str) -> None:
    """An incomplete history and unreadable dependencies are stated."""
    data = page_data(client, "spec", ref="develop", hash=needed, first=50)
    page = next(page for page in PAGES if page.document_name == "spec")
    parts = ("history", "needs", "neededBy")
    errors = [(f"not now: {name}", [name]) for name in parts]
    path, missing = f"/r/develop/specs/{needed}", dict.fromkeys(parts)
    incomplete = rendered(page, path, data | missing, errors, ref="develop", hash=needed)
    for problem, name in zip(incomplete.texts(".problem"), parts, strict=True):
        assert f"not now: {name}" in problem
    assert data["revision"]["spec"]["version"] in incomplete.text("dl.facts")


def test_prefix_of_a_hash(serve: Serve) -> None:
    """The page of the only spec with the prefix; otherwise all of them are listed."""
    specs = [a_spec(hash="ab" + "c" * 30), a_spec(hash="ad" + "c" * 30, name="zlib")]
    client = serve(specs)
    assert "ab" + "c" * 30 in shown(client, "/r/develop/specs/ab").text(".whole-hash")
    several = shown(client, "/r/develop/specs/a")
    assert (several.status, len(several.links(".candidates a"))) == (404, 2)


@pytest.fixture(scope="module")
def rebuilt(addresses: dict[str, str]) -> list[str]:
    """Return the hashes of a spec and of the one that replaced it."""
    return addresses["spec-pair"].removeprefix("/specs/").split("...")


def test_two_specs(history_client: httpx.Client, rebuilt: list[str]) -> None:
    """Each part of the response, and links to both specs."""
    base, head = rebuilt
    page = shown(history_client, f"/specs/{base}...{head}")
    pair = page_data(history_client, "spec_pair", base=base, head=head)["compareSpecs"]
    causes = page.texts("#why ~ .table tbody th")
    assert causes == [path["cause"]["title"] for path in pair["paths"]]
    assert causes
    names = page.texts("#dependencies ~ .table tbody th")
    assert names == [edge["name"] for edge in pair["dependencies"]]
    figures = [int(text) for text in page.texts("#below ~ .figures dd")]
    below = ("SharedBelow", "DifferingBelow", "OnlyBelowBase", "OnlyBelowHead")
    assert figures == [pair[f"num{name}"] for name in below]
    links = "".join(page.links("h1 ~ .facts a").values())
    assert base in links
    assert head in links
    # A comparison of revisions links here, and the page of two equal specs says so.
    changed = shown(history_client, f"/compare/develop~1...develop/specs?hashPrefix={head}")
    assert f"specs/{base}...{head}" in "".join(changed.links("td a").values())
    assert "Both are the same spec" in shown(history_client, f"/specs/{head}...{head}").text("main")
    assert history_client.get(f"/specs/{'z' * 32}...{head}").status_code == 404


def test_form_leads_to_two_specs(history_client: httpx.Client, rebuilt: list[str]) -> None:
    """Two hashes, as Spack prints them, in the form and on the page of a hash."""
    base, head = rebuilt
    answer = history_client.get(
        "/specs", params={"base": f"/{short_hash(base)}", "head": f" /{head}"}
    )
    assert answer.status_code == 303
    assert answer.headers["location"].endswith(f"specs/{short_hash(base)}...{head}")
    form = shown(history_client, "/specs")
    assert form.values("form.pickers input", "name") == ["base", "head"]
    for path in (f"/hash/{head}", f"/r/develop/specs/{head}"):
        base_field = "form.pickers input[name=base]"
        assert shown(history_client, path).values(base_field) == [f"/{head}"]


@pytest.fixture(scope="module")
def removed_hash(addresses: dict[str, str]) -> str:
    """Return a hash that the newest revision no longer contains."""
    return addresses["hash"].removeprefix("/hash/")


def test_page_of_a_removed_hash(history_client: httpx.Client, removed_hash: str) -> None:
    """Each span of its history, with the comparison that removed it."""
    history = page_data(history_client, "hash", hash=removed_hash)["hash"]
    page = shown(history_client, f"/hash/{removed_hash}")
    assert page.text("h1") == f"{history['name']}@{history['version']}"
    rows = page.texts(".stays tbody tr")
    assert len(rows) == len(history["spans"]) > 0
    for row, span in zip(rows, history["spans"], strict=True):
        assert span["series"] in row
        assert span["first"]["tag"] in row
        if span["goneIn"] is not None:
            assert span["reasonGone"].lower().replace("_", " ") in row
            assert span["goneIn"]["tag"] in row
    for link in page.links(".stays a").values():
        if "/compare/" in link:
            assert removed_hash[:7] in shown(history_client, link).text("main")


def test_prefix_of_hashes(history_client: httpx.Client, removed_hash: str) -> None:
    """The page of the only hash, which states it, or links with packages and versions."""
    page = shown(history_client, f"/hash/{removed_hash[:12]}")
    assert removed_hash in page.text("main")
    assert str(page.values("link[rel=canonical]", "href")[0]).endswith(removed_hash)
    several = shown(history_client, f"/hash/{removed_hash[0]}")
    assert several.status == 404
    assert several.values("main [name=hash]") == [removed_hash[0]]
    assert {text[0] for text in several.links(".candidates a")} == {removed_hash[0]}


@pytest.mark.parametrize(("text", "status"), [("7" * 32, 404), ("777777", 404), ("ABC!", 400)])
def test_unknown_or_invalid_hash(history_client: httpx.Client, text: str, status: int) -> None:
    """The page says which of the two it is."""
    page = shown(history_client, f"/hash/{text}")
    assert page.status == status
    assert ("No revision of this catalog had" in page.text(".problem")) == (status == 404)
    assert page.values("main [name=hash]") == [text]
