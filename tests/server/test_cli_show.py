"""``cachelog show`` and ``log``: facts and histories of revisions, packages and specs."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from snapshots.catalog.catalog import Catalog
from snapshots.models import SHOWN_FACTS, revision_facts
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


def facts_at(world: KnownCatalog, number: int, tag: str = "develop") -> dict[str, Any]:
    """Return the facts of the revision of a day."""
    revision = world.past.history.at(tag, day(number))
    assert revision
    return revision_facts(revision)


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
    assert report["revision"] == facts_at(world, 2)
    assert (report["package"], report["num_specs"], report["total_size"]) == ("hdf5", 1, 2048)
    assert report["versions"] == [{"value": "1.14", "num_specs": 1}]
    seen = (facts_at(world, 1), facts_at(world, 5))
    assert (report["first_seen"], report["last_seen"]) == seen
    assert (report["num_entries"], report["last_change"]["kind"]) == (3, "builds_changed")


def test_name_missing_from_a_revision_is_an_error(world: KnownCatalog) -> None:
    """The error names the revisions that added and removed a package, or the start of a hash."""
    error = fail("show", "develop@2025-01-08", "cmake", catalog=world.catalog.location)
    assert "does not have 'cmake'; it was removed in develop@2025-01-08." in error
    assert ", it is back in develop@2025-01-09." in error
    report = succeed_in(world, "show", "v0.1", f"/{ZLIB.hash[:5]}", "--json").json
    assert report["revision"] == facts_at(world, 3, "v0.1")
    error = fail("show", "v0.1", f"/{CMAKE.hash[:7]}", catalog=world.catalog.location)
    assert f"has none that begins with '{CMAKE.hash[:7]}'" in error


def test_removed_package_is_shown_as_last_seen(tmp_path: Path) -> None:
    """It is shown as of the last revision that has it, with the revision that removed it."""
    catalog = Catalog(str(tmp_path))
    catalog.publish([a_snapshot([ZLIB, HDF5][: 2 - n], "main", day(n)) for n in range(2)])
    report = cachelog("show", HDF5.name, "--json", catalog=catalog.location).json
    removed = catalog.require_history().of_series("main")[0]
    assert report["gone_in"] == revision_facts(removed)
    texts = labelled(cachelog("show", HDF5.name, catalog=catalog.location).lines[1:])
    assert texts["Removed in"] == removed.ref


def test_all_facts_of_a_spec_are_shown(world: KnownCatalog) -> None:
    """As in the newest revision that has the spec; each fact has a line of text."""
    report = succeed_in(world, "show", f"/{HDF5.hash}", "--json").json
    assert report["revision"] == facts_at(world, 5)
    for name in SHOWN_FACTS:
        if name != "dependencies":
            value = getattr(HDF5, name)
            assert report["spec"][name] == (list(value) if isinstance(value, tuple) else value)
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
    report = succeed_in(world, "show", f"/{HDF5.hash}", "--json").json
    edge = {"types": ["link"], "virtuals": [], "external_path": None}
    zlib = {"name": "zlib", "version": "1.2", "hash": ZLIB.hash, "is_in_revision": True}
    assert report["dependencies"][0] == zlib | edge
    assert [node["is_in_revision"] for node in report["dependencies"]] == [True, False]
    assert report["dependents"] == []
    dependents = succeed_in(world, "show", f"/{ZLIB.hash}", "--json").json["dependents"]
    assert dependents == [{"name": "hdf5", "version": "1.14", "hash": HDF5.hash}]
    lines = succeed_in(world, "show", f"/{HDF5.hash}").lines
    assert f"  /{ZLIB.hash} zlib@1.2 (link)" in lines
    assert f"  /{hash_of('gcc')} gcc (link, not in the revision)" in lines
    assert "1 spec needs it directly:" in succeed_in(world, "show", f"/{ZLIB.hash}").lines
    assert "It has no dependencies." in succeed_in(world, "show", f"/{CMAKE.hash}").lines


def test_log_of_each_subject(world: KnownCatalog) -> None:
    """Entries of changed revisions for a package; spans for a hash or a part of a package."""
    log = succeed_in(world, "log", "zlib", "--json").json
    expected = world.past.package_timeline("zlib", "develop")
    assert expected is not None
    assert log["first_seen"] == revision_facts(expected.first_seen)
    assert log["num_entries"] == len(expected.entries)
    newest = log["entries"][0]
    assert (newest["revision"], newest["base"]) == (facts_at(world, 5), facts_at(world, 4))
    assert (newest["kind"], newest["versions_added"]) == ("downgraded", ["1.2"])
    log = succeed_in(world, "log", f"/{CMAKE.hash[:9]}", "--json").json
    assert [log[key] for key in ("hash", "name", "version")] == [CMAKE.hash, "cmake", "3.30"]
    span, first = log["spans"][0], facts_at(world, 2)
    assert (span["first"], span["last"], span["gone_in"]) == (first, first, facts_at(world, 3))
    assert [entry["kind"] for entry in log["entries"]] == ["came", "went", "came"]
    log = succeed_in(world, "log", "cmake", "--stack", "tools", "--json").json
    assert [log[key] for key in ("package", "stack", "target")] == ["cmake", "tools", None]
    assert [span["reasons"] for span in log["spans"]] == [{"package_gone": 1}, {}]
    assert [spec["hash"] for spec in log["nearest"]] == [CMAKE.hash]
    assert "vX.Y.Z: never" in succeed_in(world, "log", "zlib", "--version", "1.3").lines
    larger = succeed_in(world, "log", "hdf5", "--target", "x86_64_v3", "--series", "vX.Y.Z").out
    assert "still available" in larger
    family = succeed_in(world, "log", "hdf5", "--target", "x86_64", "--series", "vX.Y.Z").out
    assert family.splitlines()[1:] == larger.splitlines()[1:]
    another = succeed_in(world, "log", "hdf5", "--target", "x86_64_v4", "--series", "vX.Y.Z").lines
    assert another[1:3] == [
        "vX.Y.Z: never for exactly this target",
        "others of its family: x86_64_v3",
    ]


def test_filters_restrict_entries(world: KnownCatalog) -> None:
    """By tag, time and number, for each kind of log."""
    log = succeed_in(world, "log", "--tag", "v0.1", "--json").json
    assert [entry["revision"]["tag"] for entry in log["entries"]] == ["v0.1"]
    assert (log["series"], log["num_revisions"]) == ("vX.Y.Z", 3)
    for subject in ((), (f"/{ZLIB.hash}",)):
        every = succeed_in(world, "log", *subject, "--json").json["entries"]
        since = [entry for entry in every if entry["revision"]["taken_at"] >= "2025-01-09"]
        for options, entries in (("-n 1", every[:1]), ("--since 2025-01-09", since)):
            log = succeed_in(world, "log", *subject, "--json", *options.split()).json
            assert log["entries"] == entries
    assert succeed_in(world, "log", "--json", "--since", "1 week ago").json["entries"] == []
    log = succeed_in(world, "log", f"/{ZLIB.hash}", "--series", "vX.Y.Z", "--json").json
    assert {span["series"] for span in log["spans"]} == {"vX.Y.Z"}


def test_unreadable_content_is_omitted(copy: KnownCatalog, tmp_path: Path) -> None:
    """The revisions around it are compared with each other, and a message says so."""
    without_tables(copy)
    broken = facts_at(copy, 3)["digest"]
    shutil.rmtree(tmp_path / "catalog" / "specs" / f"digest={broken}")
    assert labelled(succeed_in(copy, "show", "develop").lines)["Before"] == facts_at(copy, 4)["ref"]
    for arguments in (["zlib"], [f"/{ZLIB.hash}"], []):
        result = run_in(copy, "log", "--oneline", *arguments)
        assert result.code == 0
        damage, left_out = result.err.splitlines()
        assert f"the content {broken[:12]} is missing" in damage
        assert f"contents cannot be read: {facts_at(copy, 3)['ref']};" in left_out
        assert broken[:8] not in result.out
    entries = run_in(copy, "log", "--json", "--series", "develop").json["entries"]
    digests = [entry["revision"]["digest"] for entry in entries]
    assert digests == [facts_at(copy, number)["digest"] for number in (5, 4, 2, 1)]
