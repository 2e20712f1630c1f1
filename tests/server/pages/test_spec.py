"""The page of a spec."""

from pathlib import Path

import httpx
import pytest
from lxml import html

from server.pages.addresses import Address
from server.pages.filters import install_commands
from server.pages.renderer import Renderer
from server.pages.routes import PAGES
from snapshots.contents import Content, Snapshot
from tests.server.pages.api_answers import answered, asked
from tests.server.pages.catalogs import published, served
from tests.server.pages.page_reader import shown
from tests.snapshots.factories import SOURCE, a_snapshot, a_spec, full_spec, hash_of

BUSY = """
query { revision(ref: "develop") { specs(first: 1000) { nodes {
  hash dependencies(first: 0) { totalCount } dependents(first: 0) { totalCount }
} } } }"""
DEPENDENTS = "section[aria-labelledby=dependents]"


@pytest.fixture(scope="module")
def needed(client: httpx.Client) -> str:
    """Return the hash of a spec that needs some others, and that most others need."""
    specs = asked(client, BUSY)["revision"]["specs"]["nodes"]
    some = [it for it in specs if it["dependencies"]["totalCount"] > 1]
    found: str = max(some, key=lambda it: it["dependents"]["totalCount"])["hash"]
    return found


@pytest.fixture(scope="module")
def dependent(client: httpx.Client, needed: str) -> str:
    """Return the address of the first spec that needs it."""
    links = shown(client, f"/r/develop/specs/{needed}").links(f"{DEPENDENTS} tbody th a")
    return next(iter(links.values()))


def test_it_says_what_its_document_answers(client: httpx.Client, needed: str) -> None:
    """All facts, what it needs and what needs it stand there as the API tells them."""
    variables = {"ref": "develop", "hash": needed, "first": 50}
    told = answered(client, "spec", **variables)
    spec = told["revision"]["spec"]
    page = shown(client, f"/r/develop/specs/{needed}")
    assert page.status == 200
    assert page.text("h1") == f"{spec['name']}@{spec['version']}"
    facts = page.facts("dl.facts")
    assert facts["Variants"] == (" ".join(spec["variants"]) or "none")
    assert f"{int(spec['size']):,} bytes" in facts["Size"]
    assert facts["Stacks"] == ", ".join(spec["stacks"])
    assert facts["Tarball"].startswith("unknown")
    needs = told["needs"]["spec"]["dependencies"]["edges"]
    labels = [f"{it['node']['name']}@{it['node']['version']}" for it in needs]
    assert page.texts("#needs > .tree > li strong") == labels
    dependents = told["neededBy"]["spec"]["dependents"]
    assert dependents["totalCount"] > 1
    names = [f"{it['node']['name']}@{it['node']['version']}" for it in dependents["edges"]]
    assert page.texts(f"{DEPENDENTS} tbody th") == names
    assert f"{dependents['totalCount']:,} specs" in page.texts(".pager")[-1]
    assert len(page.texts(".stays tbody tr")) == len(told["history"]["spans"])


def test_what_is_outside_the_revision_is_said(client: httpx.Client, dependent: str) -> None:
    """An external compiler has its name and version, and no page of its own."""
    page = shown(client, dependent)
    outside = [it for it in page.texts("#needs > .tree > li") if "not in this revision" in it]
    assert len(outside) == 1
    assert "build, as c, cxx, fortran" in outside[0]


def test_long_lists_have_pages(client: httpx.Client, needed: str) -> None:
    """What needs a spec, near and far, goes on behind fifty lines, and back."""
    page = shown(client, f"/r/develop/specs/{needed}?all=true")
    assert len(page.texts(f"{DEPENDENTS} tbody tr")) == 50
    further = shown(client, page.links("[rel=next]")["Next →"])
    first, second = (it.texts(f"{DEPENDENTS} tbody td:first-of-type") for it in (page, further))
    assert second
    assert {*first}.isdisjoint(second)
    back = shown(client, further.links("[rel=prev]")["← Previous"])
    assert back.texts(f"{DEPENDENTS} tbody tr") == page.texts(f"{DEPENDENTS} tbody tr")


def test_dependencies_can_be_filtered(client: httpx.Client, dependent: str) -> None:
    """By what they are needed for, and with all below them; the others are not listed."""
    page = shown(client, dependent)
    for label in ("All, near and far", "To run", "To build", "To test"):
        filtered = shown(client, page.links(".tabs a")[label])
        assert filtered.status == 200
        assert filtered.texts(".tabs [aria-current]") == [label]
    assert shown(client, page.links(".tabs a")["To test"]).text("#needs") == "Nothing of this kind."


def test_a_bad_cursor_takes_nothing_else_away(client: httpx.Client, needed: str) -> None:
    """Of a list that cannot be shown its place says so; the rest of the page stands."""
    page = shown(client, f"/r/develop/specs/{needed}?after=nonsense")
    assert page.status == 200
    assert "nonsense" in page.text(f"{DEPENDENTS} .problem")
    assert page.texts("#needs .tree")


@pytest.mark.parametrize(
    ("kind", "location", "added"),
    [
        ("index", "https://a.example/e4s", "spack mirror add 'a; b' https://a.example/e4s"),
        ("index", "/a folder/e4s", "spack mirror add 'a; b' '/a folder/e4s'"),
        ("pages", "site", None),
    ],
)
def test_commands_are_quoted(kind: str, location: str, added: str | None) -> None:
    """Whatever stands in a catalog is one word of a shell."""
    spec = {"hash": "a" * 32, "short": "zlib cflags='-O2; rm'", "tarball": None}
    source = {"kind": kind, "location": location, "synthetic": False}
    commands = install_commands({"tag": "a; b", "source": source, "spec": spec})
    assert commands.get("add_mirror") == added
    assert commands["install"] == f"spack install --cache-only /{'a' * 32}"
    alike = commands["install_alike"]
    assert alike == """spack install --cache-only 'zlib cflags='"'"'-O2; rm'"'"''"""


def test_what_only_some_specs_have(tmp_path: Path) -> None:
    """What it provides, where it is external, what it was spliced from, who wanted it installed.

    Of others nothing is said.
    """
    spec = full_spec(provided_virtuals=())
    gcc = full_spec("gcc", name="gcc", stacks=(), external_path="/usr")
    snapshot = Snapshot(tag="develop", content=Content.of([spec], [gcc]), source=SOURCE)
    with published(tmp_path, snapshot, a_snapshot([a_spec()], "v1")) as client:
        pages = [shown(client, f"/r/{ref}/specs/{spec.hash}") for ref in ("develop", "v1")]
    full, bare = (it.facts("dl.facts") for it in pages)
    assert full["Provides"] == "nothing virtual"
    assert full["External"] == "at /opt/my libs by the modules PrgEnv-cray/8.3 gcc/13.2.0"
    assert full["Spliced"] == f"built as zlib-ng/{hash_of('zlib-ng')}"
    assert full["Installed"] == "explicitly 2025-03-30"
    assert full["Spec format"] == "6"
    assert "external at /usr" in pages[0].text("#needs")
    assert bare["Provides"].startswith("unknown")
    assert not {"External", "Spliced", "Installed"} & set(bare)


def test_what_a_source_does_not_tell_is_said(tmp_path: Path) -> None:
    """Sizes, recipes, dependencies and mirrors: unknown is neither nothing nor zero."""
    spec = a_spec("zlib", compiler=None, variants=(), stacks=(), namespace=None)
    with served(tmp_path, [spec]) as client:
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


def test_what_cannot_be_told_takes_nothing_else_away(client: httpx.Client, needed: str) -> None:
    """Where the history is not complete, or dependencies are unreadable, the rest is shown."""
    told = answered(client, "spec", ref="develop", hash=needed, first=50)
    page = next(it for it in PAGES if it.query == "spec")
    errors = [
        {"message": f"not now: {name}", "path": [name]} for name in ("needs", "neededBy", "history")
    ]
    body = Renderer().page(
        page,
        Address(f"/r/develop/specs/{needed}", {}),
        told | {"needs": None, "neededBy": None, "history": None},
        params={"ref": "develop", "hash": needed},
        variables={},
        errors=errors,
    )
    dom = html.document_fromstring(body)
    problems = [it.text_content() for it in dom.cssselect(".problem")]
    assert [it.split(":")[1].split()[0] for it in problems] == ["history", "needs", "neededBy"]
    assert told["revision"]["spec"]["version"] in dom.cssselect("dl.facts")[0].text_content()


def test_how_a_hash_begins_is_enough(tmp_path: Path) -> None:
    """The page of the one spec that begins so; where there are several, all are named."""
    specs = [a_spec(hash="ab" + "c" * 30), a_spec(hash="ad" + "c" * 30, name="zlib")]
    with served(tmp_path, specs) as client:
        assert "ab" + "c" * 30 in shown(client, "/r/develop/specs/ab").text(".whole-hash")
        several = shown(client, "/r/develop/specs/a")
        assert (several.status, len(several.links(".candidates a"))) == (404, 2)
