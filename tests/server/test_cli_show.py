"""``cachelog show`` and ``log``: facts and histories of revisions, packages and specs."""

import re
import shutil
from pathlib import Path

import pytest

from snapshots.catalog.catalog import Catalog
from snapshots.models import SHOWN_FACTS
from tests.server.commands import cachelog, fail, run_in, succeed_in
from tests.server.known_catalogs import (
    CMAKE,
    HDF5,
    ZLIB,
    KnownCatalog,
    known_catalog,
)
from tests.snapshots.factories import a_snapshot, day, hash_of
from tests.snapshots.templates import copied


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> KnownCatalog:
    """Return a small catalog with a history."""
    return known_catalog(tmp_path_factory.mktemp("past"))


@pytest.fixture
def copy(world: KnownCatalog, tmp_path: Path) -> KnownCatalog:
    """Return a copy of the catalog to write to."""
    return world._replace(catalog=copied(Path(world.catalog.location), tmp_path / "catalog"))


def ref_at(world: KnownCatalog, number: int, tag: str = "develop") -> str:
    """Return the ref of the revision of a day."""
    revision = world.past.history.at(tag, day(number))
    assert revision
    return revision.ref


def without_tables(world: KnownCatalog, *others: str) -> None:
    """Delete the tables of the history, and others, from a copy."""
    for table in ("comparisons", "changes", "hashes", *others):
        shutil.rmtree(Path(world.catalog.location, table))


def labelled(lines: list[str]) -> dict[str, str]:
    """Return the texts of the lines by their labels."""
    parts = [line.partition(":") for line in lines if not line.startswith(" ")]
    return {label: text.strip() for label, sign, text in parts if sign}


def test_package_has_its_timeline(world: KnownCatalog) -> None:
    """Its specs in the revision, and its timeline in the series."""
    report = succeed_in(world, "show", "develop@2025-01-07", "hdf5", "--json").json
    package, past = (report[part]["package"] for part in ("revision", "series"))
    assert report["revision"]["ref"] == ref_at(world, 2)
    assert (package["numSpecs"], package["totalSize"], package["versions"]) == (1, 2048, ["1.14"])
    seen = ({"ref": ref_at(world, 1)}, {"ref": ref_at(world, 5)})
    assert (past["firstSeen"], past["lastSeen"]) == seen
    (newest,) = past["entries"]["nodes"]
    assert (past["entries"]["totalCount"], newest["kind"]) == (3, "BUILDS_CHANGED")


def test_name_missing_from_a_revision_is_an_error(world: KnownCatalog) -> None:
    """The error names the revisions that added and removed a package, or the start of a hash."""
    error = fail("show", "develop@2025-01-08", "cmake", catalog=world.catalog.location)
    assert "does not have 'cmake'; it was removed in develop@2025-01-08." in error
    assert ", it is back in develop@2025-01-09." in error
    report = succeed_in(world, "show", "v0.1", f"/{ZLIB.hash[:5]}", "--json").json
    assert report["spec"]["revision"] == {"ref": ref_at(world, 3, "v0.1")}
    error = fail("show", "v0.1", f"/{CMAKE.hash[:7]}", catalog=world.catalog.location)
    assert f"has none that begins with '{CMAKE.hash[:7]}'" in error


def test_removed_package_is_shown_as_last_seen(tmp_path: Path) -> None:
    """It is shown as of the last revision that has it, with the revision that removed it."""
    catalog = Catalog(str(tmp_path))
    catalog.publish([a_snapshot([ZLIB, HDF5][: 2 - n], "main", day(n)) for n in range(2)])
    removed = catalog.require_history().of_series("main")[0]
    texts = labelled(cachelog("show", HDF5.name, catalog=catalog.location).lines[1:])
    assert texts["Removed in"] == removed.ref


def test_all_facts_of_a_spec_are_shown(world: KnownCatalog) -> None:
    """As in the newest revision that has the spec; each fact has a line of text."""
    report = succeed_in(world, "show", f"/{HDF5.hash}", "--json").json["spec"]
    assert report["revision"] == {"ref": ref_at(world, 5)}
    texts = labelled(succeed_in(world, "show", f"/{HDF5.hash[:8]}").lines)
    assert set(texts) >= {
        fact.label or name.replace("_", " ").capitalize()
        for name, fact in SHOWN_FACTS.items()
        if name != "dependencies" and not fact.is_exceptional
    }
    assert not {"External at", "External modules", "Spliced, built as"} & set(texts)
    assert texts["Hash"] == HDF5.hash


def test_dependencies_and_dependents_are_shown(world: KnownCatalog) -> None:
    """Its dependencies, in the revision or not, and its dependents."""
    report = succeed_in(world, "show", f"/{HDF5.hash}", "--json").json["spec"]
    specs = [edge["node"]["spec"] for edge in report["dependencies"]["edges"]]
    assert specs == [{"hash": ZLIB.hash}, None]
    assert report["dependents"]["nodes"] == []
    lines = succeed_in(world, "show", f"/{HDF5.hash}").lines
    assert f"  {ZLIB.hash[:7]} zlib@1.2 (link)" in lines
    assert f"  {hash_of('gcc')[:7]} gcc (link, not in the revision)" in lines
    assert "1 spec needs it directly:" in succeed_in(world, "show", f"/{ZLIB.hash}").lines
    assert "It has no dependencies." in succeed_in(world, "show", f"/{CMAKE.hash}").lines


def test_log_of_each_subject(world: KnownCatalog) -> None:
    """Entries of changed revisions for a package; spans for a hash."""
    log = succeed_in(world, "log", "zlib", "--json").json["series"]["package"]
    expected = world.past.package_timeline("zlib", "develop")
    assert expected is not None
    assert log["firstSeen"] == {"ref": expected.first_seen.ref}
    assert log["entries"]["totalCount"] == len(expected.entries)
    newest = log["entries"]["nodes"][0]
    assert newest["revision"]["ref"] == ref_at(world, 5)
    assert newest["comparison"] == {"base": {"ref": ref_at(world, 4)}}
    assert (newest["kind"], newest["versionsAdded"]) == ("DOWNGRADED", ["1.2"])
    log = succeed_in(world, "log", f"/{CMAKE.hash[:9]}", "--json").json["hash"]
    assert [log[key] for key in ("hash", "name", "version")] == [CMAKE.hash, "cmake", "3.30"]
    span, first = log["spans"][0], {"ref": ref_at(world, 2)}
    gone_in = {"ref": ref_at(world, 3)}
    assert (span["first"], span["last"], span["goneIn"]) == (first, first, gone_in)
    short = succeed_in(world, "log", f"/{CMAKE.hash[:9]}", "--oneline").lines[-3:]
    assert [line.split(": ")[1][:3] for line in short] == ["+ a", "- r", "+ a"]


def test_filters_restrict_entries(world: KnownCatalog) -> None:
    """By tag, time and number, for each kind of log."""
    log = succeed_in(world, "log", "--tag", "v0.1", "--json").json["revisions"]
    assert [entry["ref"] for entry in log["nodes"]] == [ref_at(world, 3, "v0.1")]
    for subject in ((), (f"/{ZLIB.hash}",)):
        every = entries_of(world, *subject)
        since = [line for line in every if line.split("@")[1] >= "2025-01-09"]
        for options, entries in (("-n 1", every[:1]), ("--since 2025-01-09", since)):
            assert entries_of(world, *subject, *options.split()) == entries != every
    log = succeed_in(world, "log", "--json", "--since", "1 week ago").json["revisions"]
    assert log["nodes"] == []
    of_hash = succeed_in(world, "log", f"/{ZLIB.hash}", "--series", "vX.Y.Z").lines
    assert not any(line.startswith("develop: ") for line in of_hash)
    refused = "has all entries: omit --tag, --since"
    command = ("log", "zlib", "--json", "--since", "2025-01-09")
    assert refused in fail(*command, code=2, catalog=world.catalog.location)


def entries_of(world: KnownCatalog, *arguments: str) -> list[str]:
    """Return the lines of a log that name a revision."""
    lines = succeed_in(world, "log", "--oneline", *arguments).lines
    return [line for line in lines if re.match(r"[\w.-]+@\S+: ", line)]


def test_unreadable_content_without_stored_changes(copy: KnownCatalog, tmp_path: Path) -> None:
    """What needs no changes is shown; the log says which content is missing, and what to do."""
    without_tables(copy)
    broken = copy.past.history.resolve(ref_at(copy, 3)).digest
    shutil.rmtree(tmp_path / "catalog" / "specs" / f"digest={broken}")
    assert labelled(succeed_in(copy, "show", "develop").lines)["Before"] == ref_at(copy, 4)
    result = run_in(copy, "log", "--oneline", "zlib")
    assert result.code == 1
    assert f"the content {broken[:12]} is missing" in result.err
    assert "pairs of neighbours are not compared" in result.err
