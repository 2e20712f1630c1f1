"""``cachelog log``: what became of a series, a package or a hash, newest first."""

import shutil
from pathlib import Path

import pytest

from snapshots.models import revision_facts
from tests.server.commands import ask, good
from tests.server.remembered import CMAKE, NEWER_ZLIB, ZLIB, Remembered, remembered
from tests.snapshots.factories import day
from tests.snapshots.templates import copied


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Remembered:
    """Return a small catalog with a past."""
    return remembered(tmp_path_factory.mktemp("past"))


@pytest.fixture
def own(world: Remembered, tmp_path: Path) -> Remembered:
    """Return a copy of it to write to."""
    return world._replace(catalog=copied(Path(world.catalog.location), tmp_path / "catalog"))


def digest(world: Remembered, number: int) -> str:
    """Return the digest of the develop revision of a day, as people see it."""
    return str(world.past.history.at("develop", day(number)).digest[:12])  # type: ignore[union-attr]


def test_a_series_reads_like_git_log(world: Remembered) -> None:
    """A head, totals by reason, and the packages that changed most, newest first."""
    text = good(world, "log", "-n", 2).out
    assert text == (
        "develop: 5 revisions, newest first\n"
        "\n"
        f"revision {digest(world, 5)} (develop)\n"
        "Date:   2025-01-10 00:00\n"
        "Source: pages _cache\n"
        "\n"
        "    + 2 added: 1 rebuilt, 1 replacing another\n"
        "    - 2 removed: 2 replaced\n"
        "\n"
        " zlib | 2 +- downgraded, +1.2 -1.3\n"
        " hdf5 | 2 +- rebuilt\n"
        "\n"
        f"revision {digest(world, 4)} (develop)\n"
        "Date:   2025-01-09 00:00\n"
        "Source: pages _cache\n"
        "\n"
        "    + 1 added: 1 returned\n"
        "\n"
        " cmake | 1 + added\n"
    )


def test_a_package(world: Remembered) -> None:
    """Only revisions that touched it have an entry."""
    document = good(world, "log", "zlib", "--json").json
    expected = world.past.package_timeline("zlib", "develop")
    assert expected is not None
    assert document["first_seen"] == revision_facts(expected.first_seen)
    assert document["last_seen"] == revision_facts(expected.last_seen)
    assert document["num_entries"] == len(expected.entries)
    newest = expected.entries[0]
    assert newest.base is not None
    assert document["entries"][0] == {
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


def test_what_people_read_of_a_package(world: Remembered) -> None:
    """When it was seen, and for each entry what became of its versions and specs."""
    lines = good(world, "log", "cmake").lines
    assert lines[0] == "cmake in develop: 3 of 5 revisions touched it"
    assert lines[1].startswith("first seen in develop of 2025-01-07 (")
    assert lines[2].startswith("last seen in develop of 2025-01-10 (")
    assert lines[-9:] == [
        "    removed, -3.30",
        "    - 1 removed: 1 of a package now gone",
        "",
        f"revision {digest(world, 2)} (develop)",
        "Date:   2025-01-07 00:00",
        "Source: pages _cache",
        "",
        "    added, +3.30",
        "    + 1 added: 1 of a new package",
    ]


def test_a_hash(world: Remembered) -> None:
    """Its spans in every series, and the revisions that it came and went in."""
    past = world.past.hash_history(CMAKE.hash)
    assert past is not None
    document = good(world, "log", f"/{CMAKE.hash[:9]}", "--json").json
    assert [document[key] for key in ("hash", "name", "version")] == [CMAKE.hash, "cmake", "3.30"]
    assert document["newest"] == revision_facts(past.newest)
    span, (gone, *_) = document["spans"][0], past.spans
    assert gone.gone_in is not None
    assert span == {
        "series": "develop",
        "first": revision_facts(gone.first),
        "last": revision_facts(gone.last),
        "is_current": False,
        "reason_came": "new_package",
        "reason_gone": "package_gone",
        "gone_in": revision_facts(gone.gone_in),
    }
    assert [entry["kind"] for entry in document["entries"]] == ["came", "went", "came"]


def test_what_people_read_of_a_hash(world: Remembered) -> None:
    """Its package, its spans, and each time that it came or went."""
    lines = good(world, "log", f"/{CMAKE.hash}", "--oneline").lines
    assert lines[0] == f"cmake@3.30 /{CMAKE.hash}"
    assert lines[1].startswith("develop: develop of 2025-01-07 (")
    assert lines[1].endswith(") (package gone)")
    assert lines[2].endswith(": returned; still there")
    assert [line.partition(" develop: ")[2] for line in lines[3:]] == [
        "+ added: returned",
        "- removed: package gone",
        "+ added: new package",
    ]


def test_one_line_an_entry(world: Remembered) -> None:
    """A series without any comparison, and a package."""
    lines = good(world, "log", "--oneline").lines
    assert [line.partition(" develop: ")[2] for line in lines[1:]] == [
        "+2 -2",
        "+1",
        "+2 -3",
        "+1",
        "+2",
    ]
    assert good(world, "log", "zlib", "--oneline").lines[-1].endswith(": added, +1.2 (+1)")
    releases = good(world, "log", "--oneline", "--series", "vX.Y.Z").lines
    assert releases[1].endswith("v0.3: =1")
    assert releases[2].endswith("v0.2: unchanged")
    whole = good(world, "log", "--series", "vX.Y.Z").lines
    assert [line for line in whole if line.startswith("    ")] == [
        "    = 1 changed",
        "    nothing changed",
        "    + 2 added: 2 of new packages",
    ]


def test_fewer_entries(world: Remembered) -> None:
    """By tag, by time and by number, of each kind of log."""
    tags = good(world, "log", "--tag", "v0.1", "--json").json
    assert [it["revision"]["tag"] for it in tags["entries"]] == ["v0.1"]
    assert tags["series"] == "vX.Y.Z"
    assert tags["num_revisions"] == 3
    for subject in ((), (f"/{ZLIB.hash}",)):
        every = good(world, "log", *subject, "--json").json["entries"]
        assert good(world, "log", *subject, "--json", "-n", 1).json["entries"] == every[:1]
        late = good(world, "log", *subject, "--json", "--since", "2025-01-09").json["entries"]
        assert late == [it for it in every if it["revision"]["taken_at"] >= "2025-01-09"]
        assert good(world, "log", *subject, "--json", "--limit", 0).json["entries"] == []
    assert good(world, "log", "--json", "--since", "1 week ago").json["entries"] == []
    one = good(world, "log", f"/{ZLIB.hash}", "--series", "vX.Y.Z", "--json").json
    assert {it["series"] for it in one["spans"]} == {"vX.Y.Z"}


def test_changes_that_cannot_be_made(own: Remembered, tmp_path: Path) -> None:
    """Where no revision of a series can be read, the error says why and what to do."""
    for table in ("comparisons", "changes", "hashes", "specs"):
        shutil.rmtree(tmp_path / "catalog" / table)
    for arguments in (("zlib",), ()):
        done = ask(own, "log", *arguments)
        assert (done.code, done.out) == (1, "")
        assert "is missing; im" in done.err
        assert "cachelog: the history is not complete: " in done.err


def test_a_content_that_cannot_be_read_is_left_out(own: Remembered, tmp_path: Path) -> None:
    """The revisions around it are listed as neighbours, and a remark says so."""
    for table in ("comparisons", "changes", "hashes"):
        shutil.rmtree(tmp_path / "catalog" / table)
    broken = own.past.history.at("develop", day(3))
    assert broken is not None
    shutil.rmtree(tmp_path / "catalog" / "specs" / f"digest={broken.digest}")
    without = own.past.history.without([broken.digest])
    expected = [it.digest for it in without.of_series("develop")]
    for arguments in (["zlib"], [f"/{ZLIB.hash}"], []):
        done = ask(own, "log", "--oneline", *arguments)
        assert done.code == 0
        damage, left_out = done.err.splitlines()
        assert f"the content {broken.digest[:12]} is damaged" in damage
        assert "import the same again to replace it" in damage
        assert f"contents cannot be read: develop@{broken.digest[:12]};" in left_out
        assert broken.digest[:12] not in done.out
    entries = ask(own, "log", "--json", "--series", "develop").json["entries"]
    assert [it["revision"]["digest"] for it in entries] == expected


def test_since_when_a_package_is_there_so(world: Remembered) -> None:
    """Spans in each series, why they ended, what is nearest now, and what came and went when."""
    done = good(world, "log", "zlib", "--version", NEWER_ZLIB.version, "--oneline").out
    days = {
        number: f"develop of 2025-01-{number + 5:02} ({digest(world, number)})"
        for number in (3, 4, 5)
    }
    assert done == (
        "zlib: version 1.3\n"
        f"develop: {days[3]} to {days[4]}: 1 spec; gone in {days[5]} (1 replaced)\n"
        "vX.Y.Z: never\n"
        f"nearest in {days[5]}: {ZLIB.short} /{ZLIB.hash[:7]}\n"
        f"{digest(world, 5)} 2025-01-10 00:00 develop: - removed: 1 replaced\n"
        f"{digest(world, 3)} 2025-01-08 00:00 develop: + added\n"
    )
    document = good(world, "log", "cmake", "--stack", "tools", "--series", "develop", "--json").json
    assert [document[key] for key in ("package", "stack", "target")] == ["cmake", "tools", None]
    assert [it["reasons"] for it in document["spans"]] == [{"package_gone": 1}, {}]
    assert [it["hash"] for it in document["nearest"]] == [CMAKE.hash]
    assert [it["kind"] for it in document["entries"]] == ["came", "went", "came"]
    larger = good(world, "log", "hdf5", "--target", "x86_64_v3", "--series", "vX.Y.Z").out
    assert "3 specs" not in larger
    assert "still there" in larger
