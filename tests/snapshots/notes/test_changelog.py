"""The story of a release: every change is told, in sections, and counted."""

from collections.abc import Sequence

from hypothesis import given
from msgspec.structs import asdict

from snapshots.changes.diff import LEFT_OUT, Comparison
from snapshots.changes.package_changes import PackageChange, PackageChangeKind
from snapshots.changes.stack_changes import StackChangeKind
from snapshots.models import Spec
from snapshots.notes.changelog import Changelog, Section, changelog
from snapshots.spack.names import natural_key
from tests.snapshots.factories import SPECS, a_revision, a_spec
from tests.snapshots.records import frame_of

BASE, HEAD = a_revision("develop", 1, "base"), a_revision("develop", 2, "head")


def compare(base: Sequence[Spec], head: Sequence[Spec]) -> Comparison:
    """Compare two contents."""
    return Comparison(frame_of(base), frame_of(head))


def log_of(base: Sequence[Spec], head: Sequence[Spec]) -> Changelog:
    """Return the changelog between two contents."""
    return changelog(BASE, HEAD, compare(base, head))


def section_of(change: PackageChange) -> str:
    """Return where the notes should tell of a change."""
    if change.kind is not PackageChangeKind.REBUILT or (
        change.specs_added and change.specs_removed
    ):
        return change.kind.value
    return "more_builds" if change.specs_added else "fewer_builds"


@given(SPECS, SPECS)
def test_every_change_is_told_once(base: list[Spec], head: list[Spec]) -> None:
    """The sections hold all changed packages, each in that of its kind; no section is empty."""
    comparison, log = compare(base, head), log_of(base, head)
    told = [entry.change for entries in log.packages.values() for entry in entries]
    assert sorted(told, key=lambda it: natural_key(it.name)) == list(comparison.packages)
    assert all(log.packages.values())
    for section, entries in log.packages.items():
        names = [entry.change.name for entry in entries]
        assert {section_of(entry.change) for entry in entries} == {section.value}
        assert names == sorted(names, key=natural_key)
    stacks = [entry.change for entries in log.stacks.values() for entry in entries]
    assert all(log.stacks.values())
    assert {it.name for it in stacks} == {
        it.name for it in comparison.stacks if it.kind is not StackChangeKind.CHANGED
    }
    assert len(stacks) + log.stacks_changed == len(comparison.stacks)


@given(SPECS, SPECS)
def test_summary_adds_up(base: list[Spec], head: list[Spec]) -> None:
    """The figures together are the packages, specs and stacks of both sides."""
    summary = asdict(log_of(base, head).summary)
    packages = sum(count for name, count in summary.items() if name.startswith("packages_"))
    assert packages == len({spec.name for spec in (*base, *head)})
    specs = {name: count for name, count in summary.items() if name.startswith("specs_")}
    assert sum(specs.values()) == len({spec.hash for spec in (*base, *head)})
    assert len(head) - len(base) == specs["specs_added"] - specs["specs_removed"]
    before, after = (
        {stack for spec in specs for stack in spec.stacks} - {"root"} for specs in (base, head)
    )
    assert summary["stacks_added"] == len(after - before)
    assert summary["stacks_removed"] == len(before - after)
    for side, specs_of in (("before", base), ("after", head)):
        sizes = [spec.size for spec in specs_of if spec.size is not None]
        assert summary[f"total_size_{side}"] == (sum(sizes) if sizes else None)


SECTIONS = [
    ("", "1.2", Section.ADDED),
    ("1.2", "1.3", Section.UPGRADED),
    ("1.3", "1.2", Section.DOWNGRADED),
    ("1.2 1.1", "1.2", Section.VERSIONS_CHANGED),
    ("1.2", "", Section.REMOVED),
    ("1.2", "1.2!", Section.REBUILT),
    ("1.2", "1.2 1.2!", Section.MORE_BUILDS),
    ("1.2 1.2!", "1.2", Section.FEWER_BUILDS),
    ("1.2", "1.2~", Section.CHANGED),
]
"""Versions before and after: ``!`` marks another build of a version, ``~`` another target."""


def test_the_sections_and_their_order() -> None:
    """News come first, then what was removed, then what was only rebuilt or described anew."""
    sides: tuple[list[Spec], list[Spec]] = ([], [])
    for number, (*versions, _) in enumerate(SECTIONS):
        for specs, side in zip(sides, versions, strict=True):
            for word in side.split():
                label, version = f"{number} {word.rstrip('~')}", word.rstrip("!~")
                target = "m1" if word.endswith("~") else "x86_64_v3"
                specs.append(a_spec(label, name=f"p{number}", version=version, target=target))
    log = log_of(*sides)
    told = [(entry.change.name, it) for it, entries in log.packages.items() for entry in entries]
    assert told == [(f"p{number}", it) for number, (_, _, it) in enumerate(SECTIONS)]
    assert list(log.packages) == list(Section)


def test_entries_tell_facts_and_sizes_of_stacks() -> None:
    """An entry says how many specs have another value of a fact, a stack how many packages."""
    base = [a_spec("1"), a_spec("2"), a_spec("3", name="zlib", stacks=("old", "root"))]
    head = [
        a_spec("1", target="m1", stacks=("e4s", "new", "root")),
        a_spec("2", stacks=("e4s", "new", "root")),
        a_spec("3", name="zlib", stacks=("e4s", "root")),
    ]
    log = log_of(base, head)
    entries = log.packages[Section.CHANGED]
    assert [entry.facts for entry in entries] == [{"target": 1, "stacks": 2}, {"stacks": 1}]
    ((added,), (removed,)) = log.stacks.values()
    assert (added.change.name, added.num_packages, added.change.num_specs_after) == ("new", 1, 2)
    assert (removed.change.name, removed.num_packages) == ("old", 1)
    assert log.stacks_changed == 1


def test_nothing_changed() -> None:
    """Of a content and itself there is nothing to tell but what is never told."""
    log = log_of([a_spec()], [a_spec()])
    assert (log.packages, log.stacks, log.stacks_changed) == ({}, {}, 0)
    assert log.left_out == LEFT_OUT
    assert (log.base, log.head) == (BASE, HEAD)
