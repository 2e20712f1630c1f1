"""The story of a release: every change is told, in sections, and counted."""

from hypothesis import given
from msgspec.structs import asdict

from snapshots.changes.package_changes import PackageChange, PackageChangeKind
from snapshots.changes.reasons import SpecChangeReason
from snapshots.changes.stack_changes import StackChangeKind
from snapshots.models import Spec
from snapshots.notes.sections import ChangedPackage, Section
from snapshots.spack.names import natural_key
from tests.expensive import FEWER_EXAMPLES
from tests.snapshots.changes.states import state_stacks
from tests.snapshots.factories import SPECS, a_spec
from tests.snapshots.notes.stories import BASE, HEAD, explained, told


def section_of(change: PackageChange) -> str:
    """Return where the notes should tell of a change."""
    if change.kind is not PackageChangeKind.REBUILT or (
        change.specs_added and change.specs_removed
    ):
        return change.kind.value
    return "more_builds" if change.specs_added else "fewer_builds"


@FEWER_EXAMPLES
@given(SPECS, SPECS)
def test_every_change_is_told_once(base: list[Spec], head: list[Spec]) -> None:
    """The sections hold all changed packages, each in that of its kind; no section is empty."""
    comparison, log = explained(base, head).comparison, told(base, head)
    changes = {change.name: change for change in comparison.packages}
    entries = [entry for section in log.packages.values() for entry in section]
    assert sorted(entry.name for entry in entries) == sorted(changes)
    assert all(log.packages.values())
    for section, of_section in log.packages.items():
        names = [entry.name for entry in of_section]
        assert {section_of(changes[name]) for name in names} == {section}
        assert names == sorted(names, key=natural_key)
    for entry in entries:
        change = changes[entry.name]
        facts = comparison.changed_facts().get(entry.name, {})
        assert entry == ChangedPackage.of(change, entry.versions_replaced, entry.reasons, facts)
        assert set(entry.versions_replaced) <= {*entry.versions_removed}
        assert sum(entry.reasons.values()) == change.specs_added + change.specs_removed
    stacks = [entry.name for of_kind in log.stacks.values() for entry in of_kind]
    assert all(log.stacks.values())
    assert set(stacks) == {
        stack.name for stack in comparison.stacks if stack.kind is not StackChangeKind.CHANGED
    }
    assert len(stacks) + (log.stacks_changed or 0) == len(comparison.stacks)


@FEWER_EXAMPLES
@given(SPECS, SPECS)
def test_summary_adds_up(base: list[Spec], head: list[Spec]) -> None:
    """The figures together are the packages, specs and stacks of both sides."""
    summary = asdict(told(base, head).summary)
    packages = sum(count for name, count in summary.items() if name.startswith("packages_"))
    assert packages == len({spec.name for spec in (*base, *head)})
    kinds = ("added", "removed", "changed", "unchanged")
    specs = {f"specs_{kind}": summary[f"specs_{kind}"] for kind in kinds}
    assert sum(specs.values()) == len({spec.hash for spec in (*base, *head)})
    assert len(head) - len(base) == specs["specs_added"] - specs["specs_removed"]
    before, after = (
        {stack for spec in specs for stack in spec.stacks} - {"root"} for specs in (base, head)
    )
    is_told = state_stacks((base, head))
    assert summary["stacks_added"] == (len(after - before) if is_told else None)
    assert summary["stacks_removed"] == (len(before - after) if is_told else None)
    for side, specs_of in (("before", base), ("after", head)):
        sizes = [spec.size for spec in specs_of if spec.size is not None]
        assert summary[f"total_size_{side}"] == (sum(sizes) if sizes else None)
    before_size, after_size = summary["total_size_before"], summary["total_size_after"]
    is_known = before_size is not None and after_size is not None
    assert summary["total_size_delta"] == (after_size - before_size if is_known else None)


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
    log = told(*sides)
    found = [
        (entry.name, package) for package, entries in log.packages.items() for entry in entries
    ]
    assert found == [
        (f"p{number}", section.value) for number, (_, _, section) in enumerate(SECTIONS)
    ]
    assert list(log.packages) == [section.value for section in Section]


def test_entries_tell_facts_and_sizes_of_stacks() -> None:
    """An entry says how many specs have another value of a fact, a stack how many packages."""
    base = [a_spec("1"), a_spec("2"), a_spec("3", name="zlib", stacks=("old", "root"))]
    head = [
        a_spec("1", target="m1", stacks=("e4s", "new", "root")),
        a_spec("2", stacks=("e4s", "new", "root")),
        a_spec("3", name="zlib", stacks=("e4s", "root")),
    ]
    log = told(base, head)
    entries = log.packages["changed"]
    assert [entry.changed_facts for entry in entries] == [{"target": 1, "stacks": 2}, {"stacks": 1}]
    ((added,), (removed,)) = log.stacks.values()
    assert (added.name, added.num_packages, added.num_specs) == ("new", 1, 2)
    assert (removed.name, removed.num_packages, removed.num_specs) == ("old", 1, 1)
    assert log.stacks_changed == 1


def test_entries_tell_reasons() -> None:
    """Why specs came and went, counted package by package."""
    log = told(BASE, HEAD)
    reasons = {entry.name: entry.reasons for entries in log.packages.values() for entry in entries}
    assert reasons["boost"] == {"replaces": 1, "replaced": 1}
    assert reasons["eigen"] == {"rebuilt": 1, "replaced": 1}
    assert reasons["lib2"] == {"new_package": 2}
    assert reasons["hypre"] == {"build_gone": 2}
    assert reasons["fftw"] == {}
    assert {name for of_one in reasons.values() for name in of_one} <= {
        reason.value for reason in SpecChangeReason
    }
