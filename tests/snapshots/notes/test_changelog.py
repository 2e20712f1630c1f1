"""The story of a release: every change is told, in sections, and counted."""

from collections.abc import Sequence

from hypothesis import given
from msgspec.structs import asdict

from snapshots.changes.diff import LEFT_OUT, Comparison, PackageChangeKind, StackChangeKind
from snapshots.models import Spec
from snapshots.notes.changelog import Changelog, changelog
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


@given(SPECS, SPECS)
def test_every_change_is_told_once(base: list[Spec], head: list[Spec]) -> None:
    """The sections together hold all changed packages, each in that of its kind, none is empty."""
    comparison, log = compare(base, head), log_of(base, head)
    told = [entry.change for entries in log.packages.values() for entry in entries]
    assert sorted(told, key=lambda it: natural_key(it.name)) == comparison.packages
    assert all(log.packages.values())
    for kind, entries in log.packages.items():
        names = [entry.change.name for entry in entries]
        assert {entry.change.kind for entry in entries} == {kind}
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


def test_order_of_the_sections() -> None:
    """News come first, then what is gone, then what was only rebuilt or described anew."""
    kinds = ["1.2 1.2", "1.2 1.3", "1.3 1.2", "1.2+1.1 1.2", "1.2 1.2!"]
    base, head = [a_spec("gone", name="gone")], [a_spec("come", name="come")]
    for number, kind in enumerate(kinds):
        for specs, side in zip((base, head), kind.split(), strict=True):
            for version in side.split("+"):
                label = f"{number} {side if number == 4 else version}"
                specs.append(a_spec(label, name=f"p{number}", version=version.rstrip("!")))
    head[1] = a_spec("0 1.2", name="p0", version="1.2", target="m1")
    log = log_of(base, head)
    assert list(log.packages) == [
        PackageChangeKind.ADDED,
        PackageChangeKind.UPGRADED,
        PackageChangeKind.DOWNGRADED,
        PackageChangeKind.VERSIONS_CHANGED,
        PackageChangeKind.REMOVED,
        PackageChangeKind.REBUILT,
        PackageChangeKind.CHANGED,
    ]
    assert all(len(entries) == 1 for entries in log.packages.values())


def test_entries_tell_facts_and_sizes_of_stacks() -> None:
    """An entry says how many specs have another value of a fact, a stack how many packages."""
    base = [a_spec("1"), a_spec("2"), a_spec("3", name="zlib", stacks=("old", "root"))]
    head = [
        a_spec("1", target="m1", stacks=("e4s", "new", "root")),
        a_spec("2", stacks=("e4s", "new", "root")),
        a_spec("3", name="zlib", stacks=("e4s", "root")),
    ]
    log = log_of(base, head)
    entries = log.packages[PackageChangeKind.CHANGED]
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
