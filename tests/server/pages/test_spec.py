"""The pages of a spec, of two specs, and of a hash."""

import httpx
import pytest

from server.pages.filters import install_commands
from server.pages.routes import PAGES
from tests.server.pages.page_reader import data_of, page_data, rendered, shown

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


@pytest.mark.parametrize(
    ("kind", "location", "added"),
    [
        ("index", "https://a.example/e4s", "spack mirror add 'a; b' https://a.example/e4s"),
        ("index", "/a folder/e4s", "spack mirror add 'a; b' '/a folder/e4s'"),
        ("pages", "site", None),
        (
            "index",
            "e4s=https://a.example/e4s ml=https://b.example/ml",
            "spack mirror add 'a; b' https://b.example/ml",
        ),
        ("index", "e4s=e4s ml=ml", None),
    ],
)
def test_commands_are_quoted(kind: str, location: str, added: str | None) -> None:
    """Any value of a catalog is a single word of a shell."""
    spec = {"hash": "a" * 32, "short": "zlib cflags='-O2; rm'", "tarball": None, "stacks": ["ml"]}
    source = {"kind": kind, "location": location, "isSynthetic": False}
    commands = install_commands({"tagName": "a; b", "source": source, "spec": spec})
    assert commands.get("add_mirror") == added
    assert commands["install"] == f"spack install --cache-only /{'a' * 32}"
    similar = commands["install_alike"]
    assert similar == """spack install --cache-only 'zlib cflags='"'"'-O2; rm'"'"''"""


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
    assert causes == [cause["title"] for cause in pair["causes"]["nodes"]]
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
        assert span["series"]["name"] in row
        assert span["first"]["tagName"] in row
        if span["goneIn"] is not None:
            assert span["reasonGone"].lower().replace("_", " ") in row
            assert span["goneIn"]["tagName"] in row
    for link in page.links(".stays a").values():
        if "/compare/" in link:
            assert removed_hash[:7] in shown(history_client, link).text("main")


@pytest.mark.parametrize(("text", "status"), [("7" * 32, 404), ("777777", 404), ("ABC!", 400)])
def test_unknown_or_invalid_hash(history_client: httpx.Client, text: str, status: int) -> None:
    """The page says which of the two it is."""
    page = shown(history_client, f"/hash/{text}")
    assert page.status == status
    assert ("No revision of this catalog had" in page.text(".problem")) == (status == 404)
    assert page.values("form.search [name=q]") == [text]
