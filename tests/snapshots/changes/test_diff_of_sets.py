"""What changed between two contents: the same answers as sets of records give."""

from collections import Counter
from collections.abc import Sequence

import msgspec
from hypothesis import given

from snapshots.changes.diff import SpecChangeKind
from snapshots.changes.stack_changes import StackChange, StackChangeKind
from snapshots.models import SPEC_FACTS, Spec
from snapshots.spack.names import natural_key
from tests.snapshots.changes.states import compare, pairs, tell_stacks
from tests.snapshots.factories import SPECS

UNKNOWABLE = ("size", "namespace", "package_hash")
NEVER_COMPARED = [name for name, fact in SPEC_FACTS.items() if not fact.is_compared]
NONE_CHANGED: dict[str, int] = {}


def differing(before: Spec, after: Spec, states: Sequence[Sequence[Spec]]) -> set[str]:
    """Return the facts that count as changed, as deepdiff tells them from the records."""
    from deepdiff import DeepDiff  # takes long to import, in every process of the suite

    values = [msgspec.structs.asdict(spec) for spec in (before, after)]
    unknown = {name for name in UNKNOWABLE if None in [facts[name] for facts in values]}
    if not tell_stacks(states):
        unknown.add("stacks")
    for facts in values:
        facts["stacks"] = [stack for stack in facts["stacks"] if stack != "root"]
        for name in {*NEVER_COMPARED, *unknown}:
            del facts[name]
    old, new = values
    return set(DeepDiff(old, new, ignore_order=True).affected_root_keys)


@given(pairs())
def test_specs(states: tuple[list[Spec], list[Spec]]) -> None:
    """What was added, removed and changed is what sets of records say, by package and hash."""
    base, head = ({spec.hash: spec for spec in specs} for specs in states)
    comparison = compare(*states)
    expected = [(SpecChangeKind.ADDED, head[it].name, it) for it in head.keys() - base.keys()]
    expected += [(SpecChangeKind.REMOVED, base[it].name, it) for it in base.keys() - head.keys()]
    shared = base.keys() & head.keys()
    changed = [it for it in shared if differing(base[it], head[it], states)]
    expected += [(SpecChangeKind.CHANGED, head[it].name, it) for it in changed]
    assert [(it.kind, it.name, it.hash) for it in comparison.specs] == sorted(
        expected, key=lambda change: change[1:]
    )
    assert comparison.num_unchanged == len(shared) - len(changed)
    for change in comparison.specs:
        assert (change.before is not None) == (change.hash in base)
        assert (change.after is not None) == (change.hash in head)
        if change.before is not None:
            assert comparison.base.hashes.at(change.before) == change.hash
        if change.after is not None:
            assert comparison.head.hashes.at(change.after) == change.hash


@given(pairs())
def test_changed_facts(states: tuple[list[Spec], list[Spec]]) -> None:
    """Of each package it is counted how many of its specs have another value of a fact."""
    base, head = ({spec.hash: spec for spec in specs} for specs in states)
    expected: dict[str, Counter[str]] = {}
    for digest in base.keys() & head.keys():
        facts = differing(base[digest], head[digest], states)
        expected.setdefault(head[digest].name, Counter()).update(facts)
    comparison = compare(*states)
    for name in {spec.name for spec in (*states[0], *states[1])}:
        assert comparison.changed_facts(name) == expected.get(name, NONE_CHANGED)


@given(pairs())
def test_stacks(states: tuple[list[Spec], list[Spec]]) -> None:
    """A stack is the set of its hashes; root, the union of all stacks, is left out.

    Where a side tells no stacks, none came and none went.
    """
    if not tell_stacks(states):
        assert not compare(*states).stacks
        return
    names = {stack for specs in states for spec in specs for stack in spec.stacks} - {"root"}
    expected = []
    for name in sorted(names, key=natural_key):
        base, head = (
            {spec.hash: spec.name for spec in specs if name in spec.stacks} for specs in states
        )
        if base.keys() == head.keys():
            continue
        sizes = [
            [spec.size for spec in specs if name in spec.stacks and spec.size is not None]
            for specs in states
        ]
        kind = StackChangeKind.CHANGED if base and head else StackChangeKind.REMOVED
        packages = set(base.values()), set(head.values())
        expected.append(
            StackChange(
                kind=kind if base else StackChangeKind.ADDED,
                name=name,
                num_specs_before=len(base),
                num_specs_after=len(head),
                size_before=sum(sizes[0]) if sizes[0] or not base else None,
                size_after=sum(sizes[1]) if sizes[1] or not head else None,
                specs_added=len(head.keys() - base.keys()),
                specs_removed=len(base.keys() - head.keys()),
                packages_added=tuple(sorted(packages[1] - packages[0], key=natural_key)),
                packages_removed=tuple(sorted(packages[0] - packages[1], key=natural_key)),
            )
        )
    assert list(compare(*states).stacks) == expected


@given(pairs())
def test_packages_fold_the_specs(states: tuple[list[Spec], list[Spec]]) -> None:
    """Every changed package is there once, in natural order, with the changes of its specs."""
    comparison = compare(*states)
    names = [change.name for change in comparison.packages]
    assert names == sorted(set(names), key=natural_key)
    every = {spec.name for specs in states for spec in specs}
    assert comparison.num_packages_unchanged == len(every) - len(names)
    counts = Counter((change.name, change.kind) for change in comparison.specs)
    assert sum(counts.values()) == sum(
        change.specs_added + change.specs_removed + change.specs_changed
        for change in comparison.packages
    )
    for change in comparison.packages:
        assert change.specs_added == counts[change.name, SpecChangeKind.ADDED]
        assert change.specs_removed == counts[change.name, SpecChangeKind.REMOVED]
        assert change.specs_changed == counts[change.name, SpecChangeKind.CHANGED]


@given(SPECS)
def test_a_content_has_no_changes_to_itself(specs: list[Spec]) -> None:
    """Nothing was added, removed or changed, whatever the order of the specs."""
    comparison = compare(specs, specs[::-1])
    assert not comparison.specs
    assert not comparison.packages
    assert not comparison.stacks
    assert comparison.num_unchanged == len(specs)


@given(pairs())
def test_backwards(states: tuple[list[Spec], list[Spec]]) -> None:
    """What was added on the way there is removed on the way back."""
    there, back = compare(*states), compare(*reversed(states))
    swapped = {"ADDED": "REMOVED", "REMOVED": "ADDED", "CHANGED": "CHANGED"}
    assert sorted((swapped[it.kind.name], it.hash) for it in there.specs) == sorted(
        (it.kind.name, it.hash) for it in back.specs
    )
    assert {it.name for it in there.stacks} == {it.name for it in back.stacks}


@given(pairs())
def test_field_changes_agree_with_the_comparison(states: tuple[list[Spec], list[Spec]]) -> None:
    """A hash has changed where some of its facts have, and those are told by name."""
    base, head = ({spec.hash: spec for spec in specs} for specs in states)
    specs = compare(*states).specs
    for change, fields in zip(specs, specs.fields(), strict=True):
        names: set[str] = set()
        if change.kind is SpecChangeKind.CHANGED:
            names = differing(base[change.hash], head[change.hash], states)
        assert [it.path for it in fields] == sorted(names)
        for field in fields:
            values = [getattr(side[change.hash], field.path) for side in (base, head)]
            if field.path == "stacks":
                values = [set(value) - {"root"} for value in values]
                assert [set(field.before), set(field.after)] == values
            elif field.path == "variants":
                assert [tuple(field.before), tuple(field.after)] == values
            else:
                assert [field.before, field.after] == values
