"""Changes between two contents: tables of cases, against the model, and narrowed."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import msgspec
import orjson
import pytest
from hypothesis import assume, given
from msgspec.structs import asdict

from snapshots.changes.diff import Comparison, SpecChangeField, SpecChangeKind
from snapshots.changes.package_changes import PackageChangeKind
from snapshots.changes.stack_changes import StackChange, StackChangeKind
from snapshots.changes.summary import summarize
from snapshots.frames.filters import SpecFilter
from snapshots.frames.frame import Frame
from snapshots.models import Spec
from snapshots.spack.names import natural_key
from tests.expensive import FEWER_EXAMPLES
from tests.model.listings import changed_fields
from tests.snapshots.changes.states import compare, narrowed, pairs, state_stacks
from tests.snapshots.factories import a_spec, hash_of
from tests.snapshots.frames.test_frame import FILTERS, meets


def as_json(value: Any) -> Any:
    """Return a value in its JSON form: lists for tuples."""
    return orjson.loads(orjson.dumps(value))


KINDS = [
    ("", "1.2", PackageChangeKind.ADDED),
    ("1.2", "", PackageChangeKind.REMOVED),
    ("1.2", "1.2.1", PackageChangeKind.UPGRADED),
    ("1.9", "1.10", PackageChangeKind.UPGRADED),
    ("1.2", "develop", PackageChangeKind.UPGRADED),
    ("1.2 1.3", "1.4", PackageChangeKind.UPGRADED),
    ("1.2 main", "1.2", PackageChangeKind.DOWNGRADED),
    ("1.2", "1.2 1.1", PackageChangeKind.VERSIONS_CHANGED),
    ("1.2", "git.main", PackageChangeKind.VERSIONS_CHANGED),
    ("git.main", "1.2", PackageChangeKind.VERSIONS_CHANGED),
    ("git.main", "git.develop", PackageChangeKind.VERSIONS_CHANGED),
    ("1.2", "git.main=1.1", PackageChangeKind.DOWNGRADED),
    ("1.2 git.main", "1.3", PackageChangeKind.UPGRADED),
    ("1.2-3", "1.2.3", PackageChangeKind.VERSIONS_CHANGED),
    ("1.2", "1.2+rebuilt", PackageChangeKind.BUILDS_CHANGED),
    ("1.2", "1.2+moved", PackageChangeKind.CHANGED),
    ("1.2 1.1", "1.2+moved 1.1+rebuilt", PackageChangeKind.BUILDS_CHANGED),
    ("1.2", "1.2 1.2+rebuilt", PackageChangeKind.MORE_BUILDS),
    ("1.2 1.2+rebuilt", "1.2+moved", PackageChangeKind.FEWER_BUILDS),
    ("1.2", "1.2", None),
]


ARM, INTEL = ("neoverse_v1", ("ml",)), ("x86_64_v3", ("e4s",))

DOWNGRADES = [
    ([("13", *ARM), ("12", *INTEL)], [("12", *INTEL)], PackageChangeKind.VERSIONS_CHANGED),
    ([("13", *ARM), ("12", *INTEL)], [("11", *INTEL)], PackageChangeKind.DOWNGRADED),
    ([("13", "m1", ("ml",))], [("12", "m2", ("ml",))], PackageChangeKind.DOWNGRADED),
    ([("13", "m1", ("ml",))], [("12", "m1", ("e4s",))], PackageChangeKind.DOWNGRADED),
    ([("13", "m1", ("root",))], [("12", "m2", ("root",))], PackageChangeKind.VERSIONS_CHANGED),
    ([("13", "m1", ()), ("12", "m2", ())], [("12", "m2", ())], PackageChangeKind.VERSIONS_CHANGED),
]
"""Versions with target and stacks, before and after, of a package whose newest version falls."""


@pytest.mark.parametrize(("before", "after", "kind"), DOWNGRADES)
def test_downgrades(before: Sequence[Any], after: Sequence[Any], kind: PackageChangeKind) -> None:
    """A version removed with its architecture or its stack is not a downgrade."""
    sides = [
        [
            a_spec(f"{version}{target}", version=version, target=target, stacks=stacks)
            for version, target, stacks in side
        ]
        for side in (before, after)
    ]
    (change,) = compare(*sides).packages
    assert change.kind is kind


def build(text: str) -> list[Spec]:
    """Return a spec per word: ``+rebuilt`` gives it another hash, ``+moved`` another stack."""
    specs = [a_spec("other", name="other")]
    for word in text.split():
        version, _, suffix = word.partition("+")
        label = word if suffix == "rebuilt" else version
        stacks = ("hep", "root") if suffix == "moved" else ("e4s", "root")
        specs.append(a_spec(label, version=version, stacks=stacks))
    return specs


@pytest.mark.parametrize(("base", "head", "kind"), KINDS)
def test_package_change_kinds(base: str, head: str, kind: PackageChangeKind | None) -> None:
    """The newest version decides, then the set of versions, the hashes, and other facts."""
    changes = compare(build(base), build(head)).packages
    assert [(change.name, change.kind) for change in changes] == ([("hdf5", kind)] if kind else [])


def test_versions_of_a_package_change() -> None:
    """Versions are newest first, as are those added and removed."""
    (change,) = compare(build("1.10 1.9 1.2"), build("1.10 2.0 1.11")).packages
    assert (change.newest_before, change.newest_after) == ("1.10", "2.0")
    assert change.versions_before == ("1.10", "1.9", "1.2")
    assert change.versions_after == ("2.0", "1.11", "1.10")
    assert change.versions_added == ["2.0", "1.11"]
    assert change.versions_removed == ["1.9", "1.2"]
    (added,) = compare(build(""), build("1.2")).packages
    assert (added.newest_before, added.newest_after, added.versions_before) == (None, "1.2", ())


BASE = [a_spec("gone"), a_spec("moved", target="m1"), a_spec("stays", name="Zlib")]
HEAD = [a_spec("come", name="zlib2"), a_spec("moved"), a_spec("stays", name="Zlib")]


def test_select_specs() -> None:
    """A change is selected if its spec matches the conditions before or after."""
    comparison = compare(BASE, HEAD)
    kinds = [SpecChangeKind.REMOVED, SpecChangeKind.CHANGED]
    for target, labels in (("m1", {"moved"}), ("x86_64_v3", {"gone", "moved"})):
        chosen = comparison.specs.select(kinds, SpecFilter(targets=(target,)))
        assert {change.hash for change in chosen} == set(map(hash_of, labels))
        paths = [fact.path for facts in chosen.fields() for fact in facts]
        assert paths == ["target"]


@pytest.mark.parametrize("descending", [False, True])
def test_orders_of_specs(descending: bool) -> None:
    """Changes sort by package and hash, or first by kind; each is found at its position."""
    changes = compare(BASE, HEAD).specs
    kinds = list(SpecChangeKind)
    assert len({change.kind for change in changes}) == len(kinds)
    by_kind = sorted(changes, key=lambda change: kinds.index(change.kind))
    for field, expected in (
        (SpecChangeField.PACKAGE, list(changes)),
        (SpecChangeField.KIND, by_kind),
    ):
        ordered = changes.ordered(field, descending=descending)
        assert list(ordered) == (expected[::-1] if descending else expected)
        assert [ordered.find(change.hash) for change in ordered] == [*range(len(ordered))]


def changed_facts(before: Spec, after: Spec, states: Sequence[Sequence[Spec]]) -> list[Any]:
    """Return the differing facts with their values; stacks only if both sides list any."""
    changes = changed_fields(before, after)
    return (
        changes
        if state_stacks(states)
        else [change for change in changes if change["path"] != "stacks"]
    )


@given(pairs())
def test_specs(states: tuple[list[Spec], list[Spec]]) -> None:
    """Added, removed and changed specs, and changed facts, follow from sets of records."""
    base, head = ({spec.hash: spec for spec in specs} for specs in states)
    comparison = compare(*states)
    shared = base.keys() & head.keys()
    facts = {digest: changed_facts(base[digest], head[digest], states) for digest in shared}
    expected = [(head[key].name, key, SpecChangeKind.ADDED) for key in head.keys() - base.keys()]
    expected += [(base[key].name, key, SpecChangeKind.REMOVED) for key in base.keys() - head.keys()]
    expected += [
        (head[digest].name, digest, SpecChangeKind.CHANGED) for digest in shared if facts[digest]
    ]
    changes = list(comparison.specs)
    assert [(change.name, change.hash, change.kind) for change in changes] == sorted(expected)
    assert comparison.num_unchanged == sum(not changed for changed in facts.values())
    for change, fields in zip(changes, comparison.specs.fields(), strict=True):
        assert hash_at(comparison.base, change.before) == (
            change.hash if change.hash in base else None
        )
        assert hash_at(comparison.head, change.after) == (
            change.hash if change.hash in head else None
        )
        assert [as_json(msgspec.structs.asdict(field)) for field in fields] == facts.get(
            change.hash, []
        )
    names = [change.name for change in comparison.packages]
    # A hash can have another name on the other side, which is a change of two packages.
    assert names == sorted({*names, *(change.name for change in changes)}, key=natural_key)
    every = {spec.name for specs in states for spec in specs}
    assert comparison.num_packages_unchanged == len(every) - len(names)
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for digest, changed in facts.items():
        counts[head[digest].name].update(fact["path"] for fact in changed)
    assert comparison.changed_facts() == {name: count for name, count in counts.items() if count}


def hash_at(frame: Frame, row: int | None) -> str | None:
    """Return the hash of a row."""
    return None if row is None else frame.hashes.at(row)


@given(pairs())
def test_stacks(states: tuple[list[Spec], list[Spec]]) -> None:
    """A stack is a set of hashes; root is left out, and so are all if a side lists none."""
    if not state_stacks(states):
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


def of_hashes(comparison: Comparison) -> list[tuple[str, str, str]]:
    """Return the changed hashes without their rows, which depend on the frames."""
    return [(change.kind.value, change.name, change.hash) for change in comparison.specs]


def assert_equal(one: Comparison, other: Comparison) -> None:
    """Assert that two comparisons have the same changes."""
    assert of_hashes(one) == of_hashes(other)
    assert one.specs.fields() == other.specs.fields()
    assert list(one.packages) == list(other.packages)
    assert list(one.stacks) == list(other.stacks)
    assert asdict(summarize(one)) == asdict(summarize(other))
    assert one.stacks.num_stacks == other.stacks.num_stacks


@FEWER_EXAMPLES
@given(pairs(), FILTERS)
def test_narrowed_comparison(states: tuple[list[Spec], list[Spec]], conditions: SpecFilter) -> None:
    """A narrowed comparison equals that of the matching specs; common hashes stay common.

    Except that a stack is added or removed only if the other side has no spec of it at all.
    """
    hashes = {spec.hash for specs in states for spec in specs if meets(spec, conditions)}
    matching = [[spec for spec in specs if spec.hash in hashes] for specs in states]
    assume(state_stacks(matching) == state_stacks(states))
    comparison, of_matching = compare(*states), compare(*matching)
    kinds = {change.name: change.kind for change in comparison.stacks}
    assume(all(kinds[change.name] is change.kind for change in of_matching.stacks))
    chosen = narrowed(comparison, conditions)
    assert_equal(chosen, of_matching)
    assert list(chosen.specs) == list(comparison.specs.select(conditions=conditions))
