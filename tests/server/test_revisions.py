"""Revisions that share contents, tags that return to a state, and two states of a day: by name."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from urllib.parse import unquote, urlsplit

import httpx
import pytest

from server.settings import Settings
from snapshots.catalog.catalog import Catalog
from snapshots.history import History
from tests.server.commands import cachelog, fail, succeed
from tests.server.pages.page_reader import data_of, shown
from tests.server.servers import application
from tests.snapshots.factories import a_snapshot, a_spec, day

A, B, C = ([a_spec(label, name=name)] for label, name in (("1", "aec"), ("2", "boost"), ("3", "c")))
DATED = f"develop-{day(0):%Y-%m-%d}"
RETURNED = day(14)
LATER_THAT_DAY = RETURNED + timedelta(hours=16, minutes=5)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a catalog of A, B, A and C of develop, the last two of one day, imported out of order.

    A dated tag has the content A as well.
    """
    catalog = Catalog(str(tmp_path_factory.mktemp("catalog")))
    catalog.publish([a_snapshot(B, "develop", day(7)), a_snapshot(C, "develop", LATER_THAT_DAY)])
    catalog.publish([a_snapshot(A, "develop", RETURNED)])
    catalog.publish([a_snapshot(A, "develop", day(0)), a_snapshot(A, DATED, day(0))])
    return Path(catalog.location)


@pytest.fixture(scope="module")
def history(folder: Path) -> History:
    """Return the revisions of the catalog."""
    return Catalog(str(folder)).require_history()


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[httpx.Client]:
    """Return a client of a server of the catalog."""
    with application(Settings(catalog=str(folder))) as client:
        yield client


def test_commands_print_refs_that_they_take(folder: Path, history: History) -> None:
    """Each line of a log begins with the ref of its revision, which ``show`` then shows."""
    _, *lines = succeed("log", "--oneline", catalog=folder).lines
    refs = [line.split(": ")[0] for line in lines]
    assert refs == [revision.ref for revision in history.of_tag("develop")]
    assert refs[0].startswith(f"develop@{RETURNED:%Y-%m-%d}T1605.")
    for ref, revision in zip(refs, history.of_tag("develop"), strict=True):
        report = succeed("show", ref, "--json", catalog=folder).json
        assert report["revision"]["ref"] == ref
        assert report["revision"]["takenAt"] == f"{revision.taken_at:%Y-%m-%dT%H:%M:%S}Z"
        assert succeed("show", ref, catalog=folder).lines[0] == f"revision {ref}"


def test_a_digest_alone_means_the_newest_revision(folder: Path, history: History) -> None:
    """Standard error names the others with the same content."""
    _, returned, middle, first = history.of_tag("develop")
    (dated,) = history.of_tag(DATED)
    result = cachelog("notes", middle.digest, first.digest[:12], catalog=folder)
    assert result.lines[0].endswith(f"→ develop ({RETURNED:%Y-%m-%d})")
    assert f"{first.digest[:12]} is also published as " in result.err
    for other in (dated, first):
        assert other.ref in result.err
    assert returned.ref not in result.err
    named = succeed("show", first.digest, "--json", catalog=folder).json
    assert named["revision"]["ref"] == returned.ref
    others = named["revision"]["alsoPublishedAs"]["nodes"]
    assert {other["ref"] for other in others} == {dated.ref, first.ref}
    assert "also published" not in cachelog("notes", middle.ref, first.ref, catalog=folder).err


def test_a_removed_revision_is_not_another_one(tmp_path: Path) -> None:
    """Its ref remains an error, although an earlier revision has the same content."""
    states = (a_snapshot(specs, "develop", day(n)) for n, specs in enumerate((A, B, A)))
    *_, returned = (each.revision for each in Catalog(str(tmp_path)).publish(states))
    succeed("remove", returned.ref, catalog=tmp_path)
    error = fail("show", returned.ref, catalog=tmp_path)
    assert f"no revision '{returned.ref}': it was removed or pruned" in error
    assert f"nearest: develop@{day(0):%Y-%m-%d}." in error


def test_revisions_of_the_api(client: httpx.Client, history: History) -> None:
    """A ref leads to the revision that the list of revisions has."""
    fields = "ref tagName digest takenAt"
    listed = data_of(client, f"{{ revisions(first: 9) {{ nodes {{ {fields} }} }} }}")
    nodes = listed["revisions"]["nodes"]
    assert [node["ref"] for node in nodes] == [revision.ref for revision in history.revisions]
    query = f"query($ref: String!) {{ revision(ref: $ref) {{ {fields} }} }}"
    for node in nodes:
        assert data_of(client, query, ref=node["ref"])["revision"] == node
    first = history.of_tag("develop")[-1]
    query = """query($ref: String!) {
        revision(ref: $ref) { alsoPublishedAs(first: 9) { nodes { ref } } } }"""
    others = data_of(client, query, ref=first.ref)["revision"]["alsoPublishedAs"]
    assert [node["ref"] for node in others["nodes"]] == [
        revision.ref for revision in history.others_of(first)
    ]


def test_permanent_links_of_pages(client: httpx.Client, history: History) -> None:
    """They and titles are those of the revision, not of another one with the same content."""
    newest, returned, middle, first = history.of_tag("develop")
    for revision in (newest, returned, middle, first):
        page = shown(client, f"/r/{revision.ref}")
        link = page.links("footer a")["Permanent link"]
        assert unquote(urlsplit(link).path).endswith(f"/r/{revision.ref}")
        when = f"{revision.taken_at:%Y-%m-%d %H:%M}".removesuffix(" 00:00")
        assert page.texts("title") == [f"develop · {when} · cachelog"]
    page = shown(client, f"/compare/{middle.digest}...{middle.ref}")
    assert "nothing changed" in page.text()
    for base, head, title in (
        (middle, returned, f"develop of {day(7):%Y-%m-%d} → develop of {RETURNED:%Y-%m-%d}"),
        (
            returned,
            newest,
            f"develop of {RETURNED:%Y-%m-%d %H:%M} → develop of {LATER_THAT_DAY:%Y-%m-%d %H:%M}",
        ),
    ):
        page = shown(client, f"/compare/{base.ref}...{head.ref}")
        assert page.text("title").endswith(f" · {title} · cachelog")
        link = page.links("footer a")["Permanent link"]
        assert unquote(urlsplit(link).path).endswith(f"/compare/{base.ref}...{head.ref}")
