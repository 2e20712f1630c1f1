"""What changed between two contents: the kinds of change, and what is no change."""

from collections.abc import Sequence
from typing import Any

import orjson
import pytest

from snapshots.changes.diff import Comparison, SpecChangeField, SpecChangeKind
from snapshots.changes.package_changes import PackageChangeField, PackageChangeKind
from snapshots.frames.filters import SpecFilter
from snapshots.models import Spec
from tests.snapshots.factories import a_spec, full_spec, hash_of
from tests.snapshots.records import frame_of

UNKNOWABLE = ("size", "tarball", "namespace", "package_hash", "dependencies")


def compare(base: Sequence[Spec], head: Sequence[Spec]) -> Comparison:
    """Compare two contents."""
    return Comparison(frame_of(base), frame_of(head))


def as_json(value: Any) -> Any:
    """Return a value as JSON has it: lists for tuples."""
    return orjson.loads(orjson.dumps(value))


KINDS = [
    ("", "1.2", PackageChangeKind.ADDED),
    ("1.2", "", PackageChangeKind.REMOVED),
    ("1.2", "1.2.1", PackageChangeKind.UPGRADED),
    ("1.9", "1.10", PackageChangeKind.UPGRADED),
    ("1.2rc1", "1.2", PackageChangeKind.UPGRADED),
    ("1.2", "develop", PackageChangeKind.UPGRADED),
    ("1.2 1.3", "1.4", PackageChangeKind.UPGRADED),
    ("1.10", "1.9", PackageChangeKind.DOWNGRADED),
    ("1.2 main", "1.2", PackageChangeKind.DOWNGRADED),
    ("1.2", "1.2rc1 1.1", PackageChangeKind.DOWNGRADED),
    ("1.2", "1.2 1.1", PackageChangeKind.VERSIONS_CHANGED),
    ("1.2 1.1", "1.2", PackageChangeKind.VERSIONS_CHANGED),
    ("1.2 1.1", "1.2 1.0", PackageChangeKind.VERSIONS_CHANGED),
    ("1.2-3", "1.2.3", PackageChangeKind.VERSIONS_CHANGED),
    ("1.2", "1.2+rebuilt", PackageChangeKind.REBUILT),
    ("1.2", "1.2 1.2+rebuilt", PackageChangeKind.REBUILT),
    ("1.2 1.2+rebuilt", "1.2", PackageChangeKind.REBUILT),
    ("1.2", "1.2+moved", PackageChangeKind.CHANGED),
    ("1.2 1.1", "1.2+moved 1.1", PackageChangeKind.CHANGED),
    ("1.2 1.1", "1.2+moved 1.1+rebuilt", PackageChangeKind.REBUILT),
    ("1.2", "1.2", None),
]


def build(text: str) -> list[Spec]:
    """Return one spec a word: ``+rebuilt`` gives it another hash, ``+moved`` another stack."""
    specs = [a_spec("other", name="other")]
    for word in text.split():
        version, _, what = word.partition("+")
        label = word if what == "rebuilt" else version
        stacks = ("hep", "root") if what == "moved" else ("e4s", "root")
        specs.append(a_spec(label, version=version, stacks=stacks))
    return specs


@pytest.mark.parametrize(("base", "head", "kind"), KINDS)
def test_package_change_kinds(base: str, head: str, kind: PackageChangeKind | None) -> None:
    """The newest version decides first, then the set of versions, the hashes, other facts."""
    changes = compare(build(base), build(head)).packages
    assert [(change.name, change.kind) for change in changes] == ([("hdf5", kind)] if kind else [])


def test_package_change_tells_versions() -> None:
    """Versions are newest first, what was added and what was removed too."""
    (change,) = compare(build("1.10 1.9 1.2"), build("1.10 2.0 1.11")).packages
    assert (change.newest_before, change.newest_after) == ("1.10", "2.0")
    assert change.versions_before == ("1.10", "1.9", "1.2")
    assert change.versions_after == ("2.0", "1.11", "1.10")
    assert change.versions_added == ["2.0", "1.11"]
    assert change.versions_removed == ["1.9", "1.2"]
    (added,) = compare(build(""), build("1.2")).packages
    assert (added.newest_before, added.newest_after, added.versions_before) == (None, "1.2", ())


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"stacks": ("e4s", "root")}, {"stacks": ("e4s",)}),
        ({"stacks": ("root",)}, {"stacks": ()}),
        ({"stacks": ("e4s", "root")}, {"stacks": ()}),
        ({"stacks": ("root",)}, {"stacks": ("e4s", "root")}),
        *[({name: None}, {}) for name in UNKNOWABLE],
        *[({}, {name: None}) for name in UNKNOWABLE],
    ],
)
def test_noise(before: dict[str, Any], after: dict[str, Any]) -> None:
    """The stack root and facts that one side does not know are no change."""
    old, new = full_spec(**before), full_spec(**after)
    comparison = compare([old], [new])
    assert not any(map(len, (comparison.specs, comparison.packages, comparison.stacks)))
    assert not comparison.changed_facts("hdf5")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("version", "1.14.6"),
        ("compiler", None),
        ("operating_system", "rhel8"),
        ("platform", "darwin"),
        ("target", "m1"),
        ("variants", ("+mpi",)),
        ("variants", ()),
        ("stacks", ("hep", "root")),
        ("size", 0),
        ("namespace", "mine"),
        ("package_hash", "other===="),
    ],
)
def test_one_fact(name: str, value: Any) -> None:
    """A fact of a hash that both have is told with its values before and after."""
    old, new = full_spec(), full_spec(**{name: value})
    comparison = compare([old], [new])
    (change,) = comparison.specs
    assert change.kind is SpecChangeKind.CHANGED
    assert comparison.changed_facts("hdf5") == {name: 1}
    values = [getattr(spec, name) for spec in (old, new)]
    if name in ("variants", "stacks"):
        values = [[item for item in value if item != "root"] for value in values]
    (fact,) = comparison.field_changes(change)
    assert comparison.specs.fields() == [[fact]]
    assert fact.path == name
    assert [as_json(fact.before), as_json(fact.after)] == values


BASE = [a_spec("gone"), a_spec("moved", target="m1"), a_spec("stays", name="Zlib")]
HEAD = [a_spec("come", name="zlib2"), a_spec("moved"), a_spec("stays", name="Zlib")]


@pytest.mark.parametrize(
    ("kinds", "conditions", "labels"),
    [
        (None, None, {"gone", "come", "moved"}),
        ([SpecChangeKind.ADDED], None, {"come"}),
        ([SpecChangeKind.REMOVED, SpecChangeKind.CHANGED], None, {"gone", "moved"}),
        ([], None, set()),
        (None, SpecFilter(targets=("m1",)), {"moved"}),
        (None, SpecFilter(targets=("x86_64_v3",)), {"gone", "come", "moved"}),
        ([SpecChangeKind.CHANGED], SpecFilter(packages=("hdf5",)), {"moved"}),
        ([SpecChangeKind.CHANGED], SpecFilter(packages=("zlib2",)), set()),
    ],
)
def test_select_specs(
    kinds: list[SpecChangeKind] | None, conditions: SpecFilter | None, labels: set[str]
) -> None:
    """A change is chosen where its spec meets the conditions, as it was or as it is."""
    changes = compare(BASE, HEAD).select_specs(kinds, conditions)
    assert {change.hash for change in changes} == set(map(hash_of, labels))


@pytest.mark.parametrize(
    ("kinds", "search", "names"),
    [
        (None, None, ["hdf5", "zlib2"]),
        ([PackageChangeKind.ADDED], None, ["zlib2"]),
        ([], None, []),
        (None, "LIB", ["zlib2"]),
        ([PackageChangeKind.ADDED], "hdf", []),
    ],
)
def test_select_packages(
    kinds: list[PackageChangeKind] | None, search: str | None, names: list[str]
) -> None:
    """Changes are chosen by kind and by a text in the name, in any case."""
    changes = compare(BASE, HEAD).select_packages(kinds, search)
    assert [change.name for change in changes] == names


@pytest.mark.parametrize(
    ("field", "descending", "names"),
    [
        (PackageChangeField.NAME, False, ["hdf5", "zlib2"]),
        (PackageChangeField.NAME, True, ["zlib2", "hdf5"]),
        (PackageChangeField.KIND, False, ["zlib2", "hdf5"]),
        (PackageChangeField.KIND, True, ["hdf5", "zlib2"]),
    ],
)
def test_packages_in_order(field: PackageChangeField, descending: bool, names: list[str]) -> None:
    """What was added comes before what has other specs; each is found at its place."""
    changes = compare(BASE, HEAD).packages.ordered(field, descending=descending)
    assert [change.name for change in changes] == names
    assert [changes.find(name) for name in [*names, "zlib", "nope"]] == [0, 1, None, None]


@pytest.mark.parametrize("descending", [False, True])
def test_specs_in_order(descending: bool) -> None:
    """By package and hash, or by kind and then so; each is found at its place."""
    changes = compare(BASE, HEAD).specs
    kinds = list(SpecChangeKind)
    assert len({it.kind for it in changes}) == len(kinds)
    by_kind = sorted(changes, key=lambda it: kinds.index(it.kind))
    for field, expected in (
        (SpecChangeField.PACKAGE, list(changes)),
        (SpecChangeField.KIND, by_kind),
    ):
        ordered = changes.ordered(field, descending=descending)
        assert list(ordered) == (expected[::-1] if descending else expected)
        assert [ordered.find(it.hash) for it in ordered] == [*range(len(ordered))]
