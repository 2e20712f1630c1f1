"""Verification of a catalog: no findings without damage, and each kind of damage is named."""

import re
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from msgspec.structs import replace

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.locations import parse_location
from snapshots.catalog.revisions_table import RevisionsTable
from snapshots.catalog.sorted_table import SortedTable
from snapshots.catalog.specs_table import SpecsTable
from snapshots.catalog.storage import Storage
from snapshots.catalog.verification import Verified, verify
from snapshots.changes.cause_names import CauseKind
from snapshots.changes.kept_changes import (
    KeptCause,
    KeptChanges,
    keep_changes,
)
from snapshots.contents import ContentRows
from snapshots.errors import NoCatalog
from snapshots.tables import CHANGES, revisions_table
from tests.snapshots.catalog.pasts import TABLES, forget
from tests.snapshots.changes.graphs import side_of
from tests.snapshots.factories import a_snapshot, a_spec, day
from tests.snapshots.importers import specs_of
from tests.snapshots.keeping import clean, drop, grow_old, hours_ago, publish, stored
from tests.snapshots.templates import copied

STATES = 4


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Publish the states once for all tests."""
    folder = tmp_path_factory.mktemp("template")
    made = Catalog(str(folder))
    for number in range(STATES):
        publish(made, number, number)
    publish(made, 1, 9, "v1.0")
    return folder


@pytest.fixture
def catalog(template: Path, tmp_path: Path) -> Catalog:
    """Return a catalog with states of develop, one per day, and one of a release."""
    return copied(template, tmp_path / "catalog")


def findings(catalog: Catalog, *, deep: bool = False) -> list[tuple[bool, str]]:
    """Return whether each finding is damage, and its text."""
    return [(it.is_damage, str(it)) for it in verify(catalog.location, deep=deep).findings]


def storage_of(catalog: Catalog) -> Storage:
    """Return the storage of a catalog."""
    return Storage(parse_location(catalog.location))


def test_no_catalog(tmp_path: Path) -> None:
    """There is nothing to verify."""
    with pytest.raises(NoCatalog):
        verify(str(tmp_path / "none"))


@pytest.mark.parametrize(("jobs", "deep"), [(1, False), (2, True)])
def test_a_sound_catalog(catalog: Catalog, jobs: int, *, deep: bool) -> None:
    """Nothing is found, and what was read is counted."""
    publish(catalog, 2, 20)
    catalog.publish([a_snapshot([], "empty", day(3))])
    steps: list[tuple[str, int, int | None]] = []
    verified = verify(catalog.location, deep=deep, jobs=jobs, progress=lambda *it: steps.append(it))
    assert verified == Verified(
        num_revisions=STATES + 3,
        num_contents=STATES + 1,
        num_specs=sum(len(specs_of(it)) for it in range(STATES)),
        num_pairs=6,
        findings=(),
    )
    assert verified.is_sound
    assert ("reading contents", STATES + 1, STATES + 1) in steps


def test_an_empty_catalog(catalog: Catalog) -> None:
    """All revisions were removed: that is no damage."""
    drop(catalog, "v1.0", *(f"develop~{number}" for number in range(STATES)))
    assert verify(catalog.location).is_sound


def test_what_a_vacuum_is_for_is_no_damage(catalog: Catalog) -> None:
    """It is a finding until the vacuum has run."""
    with hours_ago():
        drop(catalog, "develop")
    Path(catalog.location, "specs", ".1.tmp").write_bytes(b"half")
    grow_old(catalog)
    ((damaged, text),) = findings(catalog)
    assert not damaged
    assert "2 files out of use" in text
    assert "'cachelog vacuum' deletes it in time" in text
    clean(catalog)
    assert findings(catalog) == []


def test_contents_that_no_row_names(catalog: Catalog) -> None:
    """A killed import left them."""
    content = a_snapshot(specs_of(30)).content
    SpecsTable(storage_of(catalog)).write([ContentRows(content.digest, content.table())], {})
    ((damaged, text),) = findings(catalog)
    assert not damaged
    assert "1 file of contents that no row names" in text


def test_contents_that_the_log_lacks(catalog: Catalog) -> None:
    """Cachelog finds them, other tools do not; a vacuum lists them again."""
    digest = catalog.history.resolve("v1.0").digest
    table(catalog, "specs").delete(f"digest = '{digest}'")
    ((damaged, text),) = findings(catalog)
    assert not damaged
    assert "1 content that rows name: only cachelog finds them" in text
    clean(catalog)
    assert findings(catalog) == []


def test_a_catalog_of_before(catalog: Catalog) -> None:
    """It has no history tables, and no files in its rows."""
    forget(catalog, *TABLES)
    ((damaged, text),) = findings(catalog)
    assert not damaged
    assert "5 of 5 pairs of neighbours are not compared yet; 'cachelog history fill'" in text


def rewrite_row(catalog: Catalog, **facts: object) -> None:
    """Add a row that contradicts the row of the same content that it confirms."""
    row = replace(catalog.history.resolve("develop"), taken_at=day(40), **facts)
    rows = RevisionsTable(storage_of(catalog))
    rows.refresh()
    rows.append(revisions_table([row], rows.files))


def write_other_content(catalog: Catalog) -> None:
    """Write the rows of one content as another content, with valid checksums."""
    digest = catalog.history.resolve("develop").digest
    other = a_snapshot(specs_of(50)).content
    specs = SpecsTable(storage_of(catalog))
    files = specs.write([ContentRows(digest, other.table())], {digest: catalog.files_of(digest)})
    rows = RevisionsTable(storage_of(catalog))
    rows.refresh()
    row = replace(catalog.history.resolve("develop"), taken_at=day(40))
    rows.append(revisions_table([row], files))


def content_file(catalog: Catalog) -> Path:
    """Return the file of the newest content of develop."""
    digest = catalog.history.resolve("develop").digest
    (name,) = (it for it in stored(catalog) if digest in it)
    return Path(catalog.location, "specs", name)


def table(catalog: Catalog, name: str) -> DeltaTable:
    """Open a table as other tools do."""
    return DeltaTable(f"{catalog.location}/{name}")


def flip(file: Path) -> None:
    """Flip a bit in the middle of a file."""
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


def lose_changes(catalog: Catalog) -> None:
    """Remove all changes of one pair in a valid commit."""
    base = catalog.history.resolve("develop~1").digest
    table(catalog, "changes").delete(f"base = '{base}'")


OF_HASH = f"hash = '{specs_of(2)[0].hash}'"


def made_again(catalog: Catalog) -> KeptChanges:
    """Return the computed changes of a pair with removed specs."""
    pair = next(pair for pair, counts in catalog.counts.items() if counts.specs_removed)
    return keep_changes(*map(catalog.load_side, pair))


def change_a_reason(catalog: Catalog) -> None:
    """Replace a reason of changes by another, with the same counts."""
    made = made_again(catalog)
    for name in TABLES:
        table(catalog, name).delete()
    reasons = pa.array(["returned"] * len(made.rows), pa.string())
    place = CHANGES.get_field_index("reason")
    rows = made.rows.set_column(place, "reason", reasons).cast(CHANGES)
    catalog.refresh()
    catalog.keep([replace(made, rows=rows)])


def change_a_package(catalog: Catalog) -> None:
    """Remove a package from a row of comparisons, with the same counts."""
    made = made_again(catalog)
    catalog.keep([replace(made, packages=made.packages[1:])])


def change_a_cause(catalog: Catalog) -> None:
    """Store a pair again, with a wrong cause."""
    made = made_again(catalog)
    cause = KeptCause(CauseKind.VERSION, "zlib", "1.2", "1.3", 1, 1, None)
    catalog.keep([replace(made, causes=(*(made.causes or ()), cause))])


def empty_log(catalog: Catalog) -> None:
    """Truncate the last commit of the table of contents."""
    commits = sorted(Path(catalog.location, "specs", "_delta_log").glob("*.json"))
    commits[-1].write_bytes(b"[1, 2]")


@pytest.mark.parametrize(
    ("damage", "pattern"),
    [
        (
            lambda it: flip(content_file(it)),
            "does not have the bytes that were written.*import the same again",
        ),
        (
            lambda it: content_file(it).unlink(),
            "content [0-9a-f]{12}: is damaged.*import the same again",
        ),
        (write_other_content, "its rows have the digest [0-9a-f]{12}; remove its revisions"),
        (
            lambda it: rewrite_row(it, num_specs=7),
            "revision develop of 2025-02-14: its row says num_specs 7, its content has 13; remove",
        ),
        (lambda it: rewrite_row(it, num_packages=1), "num_packages 1, its content has 7"),
        (lambda it: rewrite_row(it, num_stacks=9), "num_stacks 9, its content has 1"),
        (lambda it: rewrite_row(it, total_size=5), "total_size 5, its content has None"),
        (
            lambda it: flip(Path(table(it, "changes").file_uris()[0])),
            "history: changes/.*does not have the bytes.*cachelog history fill",
        ),
        (lose_changes, r"history: .*\.\..*: its changes are missing; remove the tables"),
        (
            lambda it: table(it, "changes").delete(f"{OF_HASH} AND kind = 'added'"),
            "history: .*: its changes do not lead from the one to the other",
        ),
        (lambda it: table(it, "hashes").delete(OF_HASH), "history: 1 hashes that changes has are"),
        (
            lambda it: table(it, "hashes").update({"name": "'other'"}, predicate=OF_HASH),
            "history: 1 hashes that changes has are missing in hashes",
        ),
        (
            empty_log,
            r"log of specs: .*\d+.json is not a commit of a Delta table; .* else restore it",
        ),
        (
            lambda it: Path(table(it, "revisions").file_uris()[0]).unlink(),
            "revisions: .*No such file.*; restore it from a copy",
        ),
    ],
)
def test_damage(catalog: Catalog, damage: Callable[[Catalog], None], pattern: str) -> None:
    """It is named, with what to do about it."""
    damage(catalog)
    verified = verify(catalog.location)
    assert not verified.is_sound
    texts = [str(it) for it in verified.findings if it.is_damage]
    matching = [text for text in texts if re.search(pattern, text)]
    assert matching, texts
    # No line tells the same advice twice.
    assert all(text.count("; remove the tables") <= 1 for text in texts)


def test_changed_facts_that_are_missing(catalog: Catalog) -> None:
    """A pair in which nothing came or went has changes all the same."""
    specs = [replace(it, target="m1") for it in specs_of(STATES - 1)]
    catalog.publish([a_snapshot(specs, "develop", day(90))])
    digest = catalog.history.resolve("develop").digest
    assert [damaged for damaged, _ in findings(catalog)] == []
    table(catalog, "changes").delete(f"head = '{digest}'")
    texts = [text for damaged, text in findings(catalog) if damaged]
    assert len(texts) == 1
    assert "its changes are missing" in texts[0]


def test_runs_that_another_tool_joined(catalog: Catalog) -> None:
    """What two importers kept may stand in one file then, and counts once."""
    sides = [catalog.load_side(it) for it in catalog.history.pairs[0]]
    catalog.keep([keep_changes(*sides)])
    table(catalog, "changes").optimize.compact()
    assert verify(catalog.location, deep=True).is_sound


def test_changes_of_an_import_that_was_killed(catalog: Catalog) -> None:
    """Rows of a pair that comparisons does not list are never read: that is no damage."""
    changes = SortedTable(storage_of(catalog), "changes", CHANGES, advice="")
    changes.append(keep_changes(side_of([]), side_of([a_spec("of no revision")])).rows)
    assert verify(catalog.location, deep=True).is_sound


@pytest.mark.parametrize(
    ("change", "shallow", "difference"),
    [
        (change_a_reason, [False], "changes"),
        (change_a_cause, [], "causes"),
        (change_a_package, [], None),
    ],
)
def test_other_results_of_a_comparison(
    catalog: Catalog,
    change: Callable[[Catalog], None],
    shallow: list[bool],
    difference: str | None,
) -> None:
    """Only ``deep`` compares again: the rest of what is kept agrees with itself."""
    change(catalog)
    assert [damaged for damaged, _ in findings(catalog)] == shallow
    (text,) = (text for damaged, text in findings(catalog, deep=True) if damaged)
    reason = f"finds other {difference}" if difference else "counts other changes"
    assert f"a comparison {reason}" in text


def test_what_is_done_about_damage_mends_it(catalog: Catalog) -> None:
    """What cannot be replaced is removed, and imported again."""
    write_other_content(catalog)
    digest = catalog.history.resolve("develop").digest
    catalog.refresh()
    while digest in catalog.history.digests:
        drop(catalog, digest)
    publish(catalog, STATES - 1, STATES - 1)
    assert verify(catalog.location, deep=True).is_sound


def test_much_damage_is_told_in_few_lines(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some pairs, and how many more."""
    monkeypatch.setattr("snapshots.catalog.verification._SHOWN", 2)
    table(catalog, "changes").delete()
    texts = [text for _, text in findings(catalog)]
    assert len([text for text in texts if "its changes are missing" in text]) == 2
    assert any("3 pairs more" in text for text in texts)
