"""``cachelog log``: what became of a series, a package or a hash, newest first."""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from snapshots.models import revision_facts
from snapshots.timelines.spans import Span
from tests.server.commands import Done, cachelog
from tests.server.remembered import CMAKE, NEWER_ZLIB, ZLIB, Remembered, remembered
from tests.snapshots.factories import day
from tests.snapshots.templates import copied

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Remembered:
    """Return a small catalog with a past."""
    return remembered(tmp_path_factory.mktemp("past"))


@pytest.fixture
def own(world: Remembered, tmp_path: Path) -> Remembered:
    """Return a copy of it to write to."""
    return world._replace(catalog=copied(Path(world.catalog.location), tmp_path / "catalog"))


def ask(world: Remembered, *arguments: object, terminal: int | None = None) -> Done:
    """Run ``cachelog log`` on the catalog."""
    return cachelog("log", *arguments, catalog=world.catalog.location, terminal=terminal)


def good(world: Remembered, *arguments: object, terminal: int | None = None) -> Done:
    """Run it where it must succeed without a word beside its result."""
    done = ask(world, *arguments, terminal=terminal)
    assert (done.code, done.err) == (0, "")
    return done


def digest(world: Remembered, number: int) -> str:
    """Return the digest of the develop revision of a day, as people see it."""
    return str(world.past.history.at("develop", day(number)).digest[:12])  # type: ignore[union-attr]


def test_a_series_reads_like_git_log(world: Remembered) -> None:
    """A head, totals by reason, and the packages that changed most, newest first."""
    text = good(world, "-n", 2).out
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


def test_the_entries_of_a_series(world: Remembered) -> None:
    """Each revision has one, newest first; the first revision changed from nothing."""
    for series in world.past.history.series_names:
        log = good(world, "--series", series, "--json").json
        steps = world.past.history.neighbours(series)[::-1]
        assert (log["series"], log["num_revisions"]) == (series, len(steps))
        heads = [entry["revision"] for entry in log["entries"]]
        assert heads == [revision_facts(step.head) for step in steps]
        for entry in log["entries"]:
            counts = (entry[f"specs_{kind}"] for kind in ("added", "removed", "changed"))
            assert sum(entry["reasons"].values()) == sum(counts)
        assert log["entries"][-1]["base"] is None
        assert log["entries"][-1]["reasons"] == {"new_package": 2}
        assert [it["name"] for it in log["entries"][-1]["most_changed"]] == ["hdf5", "zlib"]


def test_a_package(world: Remembered) -> None:
    """Only revisions that touched it have an entry."""
    document = good(world, "zlib", "--json").json
    expected = world.past.package_timeline("zlib", "develop")
    assert expected is not None
    assert document["first_seen"] == revision_facts(expected.first_seen)
    assert document["last_seen"] == revision_facts(expected.last_seen)
    assert document["num_entries"] == len(expected.entries)
    assert document["entries"] == [
        {
            "revision": revision_facts(it.head),
            "base": it.base and revision_facts(it.base),
            "kind": it.kind.value,
            "versions_added": list(it.versions_added),
            "versions_removed": list(it.versions_removed),
            "specs_added": it.specs_added,
            "specs_removed": it.specs_removed,
            "specs_changed": it.specs_changed,
            "reasons": {reason.value: count for reason, count in it.reasons.items()},
        }
        for it in expected.entries
    ]


def test_what_people_read_of_a_package(world: Remembered) -> None:
    """When it was seen, and for each entry what became of its versions and specs."""
    lines = good(world, "cmake").lines
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


def span_facts(span: Span) -> dict[str, Any]:
    """Return a span as the document has it."""
    return {
        "series": span.series,
        "first": revision_facts(span.first),
        "last": revision_facts(span.last),
        "is_current": span.is_current,
        "reason_came": span.reason_came.value,
        "reason_gone": span.reason_gone and span.reason_gone.value,
        "gone_in": span.gone_in and revision_facts(span.gone_in),
    }


@pytest.mark.parametrize("spec", [ZLIB, CMAKE], ids=lambda it: it.short[:8])
def test_a_hash(world: Remembered, spec: Any) -> None:
    """Its spans in every series, and the revisions that it came and went in."""
    expected = world.past.hash_history(spec.hash)
    assert expected
    document = good(world, f"/{spec.hash[:9]}", "--json").json
    assert [document[key] for key in ("hash", "name")] == [spec.hash, spec.name]
    assert document["version"] == spec.version
    assert document["newest"] == revision_facts(expected.newest)
    assert document["spans"] == list(map(span_facts, expected.spans))
    taken = [it["revision"]["taken_at"] for it in document["entries"]]
    assert taken == sorted(taken, reverse=True)
    kinds = [it["kind"] for it in document["entries"]]
    assert kinds.count("came") == len(expected.spans)
    assert kinds.count("went") == sum(not it.is_current for it in expected.spans)


def test_what_people_read_of_a_hash(world: Remembered) -> None:
    """Its package, its spans, and each time that it came or went."""
    lines = good(world, f"/{CMAKE.hash}", "--oneline").lines
    assert lines[0] == f"cmake@3.30 /{CMAKE.hash}"
    assert lines[1].startswith("develop: develop of 2025-01-07 (")
    assert lines[1].endswith(") (package gone)")
    assert lines[2].endswith(": returned; still there")
    assert [line.partition(" develop: ")[2] for line in lines[3:]] == [
        "+ came: returned",
        "- went: package gone",
        "+ came: new package",
    ]


def test_one_line_an_entry(world: Remembered) -> None:
    """A series without any comparison, and a package."""
    lines = good(world, "--oneline").lines
    assert [line.partition(" develop: ")[2] for line in lines[1:]] == [
        "+2 -2",
        "+1",
        "+2 -3",
        "+1",
        "+2",
    ]
    assert good(world, "zlib", "--oneline").lines[-1].endswith(": added, +1.2 (+1)")
    releases = good(world, "--oneline", "--series", "vX.Y.Z").lines
    assert releases[1].endswith("v0.3: =1")
    assert releases[2].endswith("v0.2: unchanged")
    whole = good(world, "--series", "vX.Y.Z").lines
    assert [line for line in whole if line.startswith("    ")] == [
        "    = 1 changed",
        "    nothing changed",
        "    + 2 added: 2 of new packages",
    ]


def test_fewer_entries(world: Remembered) -> None:
    """By tag, by time and by number, of each kind of log."""
    tags = good(world, "--tag", "v0.1", "--json").json
    assert [it["revision"]["tag"] for it in tags["entries"]] == ["v0.1"]
    assert tags["series"] == "vX.Y.Z"
    assert tags["num_revisions"] == 3
    for subject in ((), ("zlib",), (f"/{ZLIB.hash}",)):
        every = good(world, *subject, "--json").json["entries"]
        assert good(world, *subject, "--json", "-n", 1).json["entries"] == every[:1]
        late = good(world, *subject, "--json", "--since", "2025-01-09").json["entries"]
        assert late == [it for it in every if it["revision"]["taken_at"] >= "2025-01-09"]
        assert good(world, *subject, "--json", "--limit", 0).json["entries"] == []
    assert good(world, "--json", "--since", "1 week ago").json["entries"] == []
    assert good(world, "--json", "--since", "90 years ago").json == good(world, "--json").json
    one = good(world, f"/{ZLIB.hash}", "--series", "vX.Y.Z", "--json").json
    assert {it["series"] for it in one["spans"]} == {"vX.Y.Z"}


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("no-such",), 1, "PACKAGE: no revision of the series develop has ever had 'no-such'"),
        (("hdf",), 1, "nearest: hdf5"),
        (("cmake", "--series", "vX.Y.Z"), 1, "these had it: develop (--series)"),
        (("vX.Y.Z",), 1, "has ever had 'vX.Y.Z'; that is a series (--series vX.Y.Z)"),
        (("v0.1",), 1, "has ever had 'v0.1'; that is a tag (--tag v0.1)"),
        (("--series", "dev"), 1, "--series: there is no series 'dev'; nearest: develop"),
        (("--tag", "v9"), 1, "--tag: there is no tag 'v9'; nearest: "),
        (("--tag", "v0.1", "--series", "develop"), 2, "v0.1 is not in the series develop"),
        (("/",), 2, "Write a package, or /HASH"),
        ((" ",), 2, "Write a package, or /HASH"),
        (("/zzzz222",), 1, "HASH: no revision has ever had one that begins with 'zzzz222'"),
        (("/0189",), 1, "'0189' begins no hash"),
        (("--since", "soon"), 2, "2025-03-30T12:00:00Z, or '1 week ago'"),
        (("--since", "99999 years ago"), 2, "before the year 1"),
    ],
)
def test_faults(world: Remembered, arguments: tuple[str, ...], code: int, message: str) -> None:
    """Each names the argument at fault, and what there is instead."""
    done = ask(world, *arguments)
    assert (done.code, done.out) == (code, "")
    assert message in done.err


def test_missing_changes_are_made_first(own: Remembered, tmp_path: Path) -> None:
    """A catalog without kept changes is filled by the first command that needs them."""
    before = good(own, "zlib", "--json").json
    for table in ("comparisons", "changes", "hashes"):
        shutil.rmtree(tmp_path / "catalog" / table)
    assert good(own, "zlib", "--json").json == before
    assert (tmp_path / "catalog" / "comparisons").is_dir()
    assert good(own, f"/{ZLIB.hash}", "--json").json["name"] == "zlib"


def test_changes_that_cannot_be_made(own: Remembered, tmp_path: Path) -> None:
    """Where no revision of a series can be read, the error says why and what to do."""
    for table in ("comparisons", "changes", "hashes", "specs"):
        shutil.rmtree(tmp_path / "catalog" / table)
    for arguments in (("zlib",), ()):
        done = ask(own, *arguments)
        assert (done.code, done.out) == (1, "")
        assert "is missing; im" in done.err
        assert "cachelog: the history is not complete: " in done.err


def test_lines_fit_a_terminal(world: Remembered) -> None:
    """Nothing is wider than it; colours are there for people only."""
    for subject in ((), ("zlib",), (f"/{ZLIB.hash}",)):
        done = good(world, *subject, terminal=60)
        assert "\x1b[" in done.out
        assert max(map(len, ESCAPE.sub("", done.out).splitlines())) <= 60
        assert "\x1b[" not in good(world, *subject).out


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
        done = ask(own, "--oneline", *arguments)
        assert done.code == 0
        damage, left_out = done.err.splitlines()
        assert f"the content {broken.digest[:12]} is damaged" in damage
        assert "import the same again to replace it" in damage
        assert f"contents cannot be read: develop@{broken.digest[:12]};" in left_out
        assert broken.digest[:12] not in done.out
    entries = ask(own, "--json", "--series", "develop").json["entries"]
    assert [it["revision"]["digest"] for it in entries] == expected


def test_since_when_a_package_is_there_so(world: Remembered) -> None:
    """Spans in each series, why they ended, what is nearest now, and what came and went when."""
    done = good(world, "zlib", "--version", NEWER_ZLIB.version, "--oneline").out
    days = {
        number: f"develop of 2025-01-{number + 5:02} ({digest(world, number)})"
        for number in (3, 4, 5)
    }
    assert done == (
        "zlib: version 1.3\n"
        f"develop: {days[3]} to {days[4]}: 1 spec; gone in {days[5]} (1 replaced)\n"
        "vX.Y.Z: never\n"
        f"nearest in {days[5]}: {ZLIB.short} /{ZLIB.hash[:7]}\n"
        f"{digest(world, 5)} 2025-01-10 00:00 develop: - went: 1 replaced\n"
        f"{digest(world, 3)} 2025-01-08 00:00 develop: + came\n"
    )
    document = good(world, "cmake", "--stack", "tools", "--series", "develop", "--json").json
    assert [document[key] for key in ("package", "stack", "target")] == ["cmake", "tools", None]
    assert [it["reasons"] for it in document["spans"]] == [{"package_gone": 1}, {}]
    assert [it["hash"] for it in document["nearest"]] == [CMAKE.hash]
    assert [it["kind"] for it in document["entries"]] == ["came", "went", "came"]
    larger = good(world, "hdf5", "--target", "x86_64_v3", "--series", "vX.Y.Z").out
    assert "3 specs" not in larger
    assert "still there" in larger


def test_bad_cells(world: Remembered) -> None:
    """Only of a package, which some revision has to have had; and not with commits."""
    for arguments in (
        ["--target", "a"],
        ["/a", "--stack", "a"],
        ["zlib", "--version", "1", "--commits"],
    ):
        assert "are of a package alone" in ask(world, *arguments).err
    missing = ask(world, "zlibb", "--version", "1")
    assert missing.code == 1
    assert "no revision has ever had 'zlibb'" in missing.err
    assert "zlib" in missing.err
