"""``cachelog log``: the history of a series, a package or a hash, newest first."""

import shutil
from pathlib import Path

import pytest

from snapshots.models import revision_facts
from tests.server.commands import fail, run_in, succeed_in
from tests.server.known_catalogs import CMAKE, ZLIB, KnownCatalog, known_catalog
from tests.snapshots.factories import day
from tests.snapshots.templates import copied


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> KnownCatalog:
    """Return a small catalog with a history."""
    return known_catalog(tmp_path_factory.mktemp("past"))


@pytest.fixture
def copy(world: KnownCatalog, tmp_path: Path) -> KnownCatalog:
    """Return a copy of the catalog to write to."""
    return world._replace(catalog=copied(Path(world.catalog.location), tmp_path / "catalog"))


def digest(world: KnownCatalog, number: int) -> str:
    """Return the abbreviated digest of the develop revision of a day."""
    return str(world.past.history.at("develop", day(number)).digest[:12])  # type: ignore[union-attr]


def test_package_json_has_changed_revisions_only(world: KnownCatalog) -> None:
    """Only revisions that changed the package have an entry."""
    log = succeed_in(world, "log", "zlib", "--json").json
    expected = world.past.package_timeline("zlib", "develop")
    assert expected is not None
    assert log["first_seen"] == revision_facts(expected.first_seen)
    assert log["last_seen"] == revision_facts(expected.last_seen)
    assert log["num_entries"] == len(expected.entries)
    newest = expected.entries[0]
    assert newest.base is not None
    assert log["entries"][0] == {
        "revision": revision_facts(newest.head),
        "base": revision_facts(newest.base),
        "kind": "downgraded",
        "versions_added": ["1.2"],
        "versions_removed": ["1.3"],
        "specs_added": 1,
        "specs_removed": 1,
        "specs_changed": 0,
        "reasons": {"replaces": 1, "replaced": 1},
    }


def test_package_entries_have_versions_and_specs(world: KnownCatalog) -> None:
    """When it was present, and for each entry the changed versions and specs."""
    lines = succeed_in(world, "log", "cmake").lines
    assert lines[0] == "cmake in develop: 3 of 5 revisions touched it"
    assert lines[1].startswith("first seen in develop of 2025-01-07 (")
    assert lines[2].startswith("last seen in develop of 2025-01-10 (")
    assert lines[-9:] == [
        "    removed, -3.30",
        "    - 1 removed: 1 of a removed package",
        "",
        f"revision {digest(world, 2)} (develop)",
        "Date:   2025-01-07 00:00",
        "Source: pages _cache",
        "",
        "    added, +3.30",
        "    + 1 added: 1 of a new package",
    ]


def test_hash_json_has_spans(world: KnownCatalog) -> None:
    """Its spans in each series, and the revisions that added and removed it."""
    past = world.past.hash_history(CMAKE.hash)
    assert past is not None
    log = succeed_in(world, "log", f"/{CMAKE.hash[:9]}", "--json").json
    assert [log[key] for key in ("hash", "name", "version")] == [CMAKE.hash, "cmake", "3.30"]
    assert log["newest"] == revision_facts(past.newest)
    span, (removed, *_) = log["spans"][0], past.spans
    assert removed.gone_in is not None
    assert span == {
        "series": "develop",
        "first": revision_facts(removed.first),
        "last": revision_facts(removed.last),
        "is_current": False,
        "reason_came": "new_package",
        "reason_gone": "package_gone",
        "gone_in": revision_facts(removed.gone_in),
    }
    assert [entry["kind"] for entry in log["entries"]] == ["came", "went", "came"]


def test_minor_changes_are_distinguished(world: KnownCatalog) -> None:
    """Only changed facts, and no change at all, in one line or several."""
    releases = succeed_in(world, "log", "--oneline", "--series", "vX.Y.Z").lines
    assert releases[1].endswith("v0.3: =1")
    assert releases[2].endswith("v0.2: unchanged")
    full = succeed_in(world, "log", "--series", "vX.Y.Z").lines
    assert [line for line in full if line.startswith("    ")] == [
        "    = 1 changed",
        "    nothing changed",
        "    + 2 added: 2 of new packages",
    ]


def test_filters_restrict_entries(world: KnownCatalog) -> None:
    """By tag, time and number, for each kind of log."""
    tags = succeed_in(world, "log", "--tag", "v0.1", "--json").json
    assert [entry["revision"]["tag"] for entry in tags["entries"]] == ["v0.1"]
    assert tags["series"] == "vX.Y.Z"
    assert tags["num_revisions"] == 3
    for subject in ((), (f"/{ZLIB.hash}",)):
        every = succeed_in(world, "log", *subject, "--json").json["entries"]
        since = [entry for entry in every if entry["revision"]["taken_at"] >= "2025-01-09"]
        expected = {"-n 1": every[:1], "--limit 0": [], "--since 2025-01-09": since}
        for options, entries in expected.items():
            log = succeed_in(world, "log", *subject, "--json", *options.split()).json
            assert log["entries"] == entries
    assert succeed_in(world, "log", "--json", "--since", "1 week ago").json["entries"] == []
    log = succeed_in(world, "log", f"/{ZLIB.hash}", "--series", "vX.Y.Z", "--json").json
    assert {span["series"] for span in log["spans"]} == {"vX.Y.Z"}


def test_unreadable_series_is_an_error(copy: KnownCatalog, tmp_path: Path) -> None:
    """If no revision of a series is readable, the error states the reason and what to do."""
    for table in ("comparisons", "changes", "hashes", "specs"):
        shutil.rmtree(tmp_path / "catalog" / table)
    for arguments in (("zlib",), ()):
        error = fail("log", *arguments, catalog=copy.catalog.location)
        assert "is missing; im" in error
        assert "cachelog: the history is not complete: " in error


def test_unreadable_content_is_omitted(copy: KnownCatalog, tmp_path: Path) -> None:
    """The revisions around it are compared with each other, and a message says so."""
    for table in ("comparisons", "changes", "hashes"):
        shutil.rmtree(tmp_path / "catalog" / table)
    broken = copy.past.history.at("develop", day(3))
    assert broken is not None
    shutil.rmtree(tmp_path / "catalog" / "specs" / f"digest={broken.digest}")
    without = copy.past.history.without([broken.digest])
    expected = [revision.digest for revision in without.of_series("develop")]
    for arguments in (["zlib"], [f"/{ZLIB.hash}"], []):
        result = run_in(copy, "log", "--oneline", *arguments)
        assert result.code == 0
        damage, left_out = result.err.splitlines()
        assert f"the content {broken.digest[:12]} is damaged" in damage
        assert "import the same again to replace it" in damage
        assert f"contents cannot be read: develop@{broken.digest[:12]};" in left_out
        assert broken.digest[:12] not in result.out
    entries = run_in(copy, "log", "--json", "--series", "develop").json["entries"]
    assert [entry["revision"]["digest"] for entry in entries] == expected


def test_cell_of_a_package_has_spans(world: KnownCatalog) -> None:
    """Spans in each series and their ends, the nearest specs, and each addition and removal."""
    assert "vX.Y.Z: never" in succeed_in(world, "log", "zlib", "--version", "1.3").lines
    log = succeed_in(
        world, "log", "cmake", "--stack", "tools", "--series", "develop", "--json"
    ).json
    assert [log[key] for key in ("package", "stack", "target")] == ["cmake", "tools", None]
    assert [span["reasons"] for span in log["spans"]] == [{"package_gone": 1}, {}]
    assert [spec["hash"] for spec in log["nearest"]] == [CMAKE.hash]
    assert [entry["kind"] for entry in log["entries"]] == ["came", "went", "came"]
    larger = succeed_in(world, "log", "hdf5", "--target", "x86_64_v3", "--series", "vX.Y.Z").out
    assert "3 specs" not in larger
    assert "still available" in larger
