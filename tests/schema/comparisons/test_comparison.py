"""Comparisons: each field equals the domain's comparison of the two revisions."""

from enum import Enum
from functools import cache
from typing import Any, TypeVar

import msgspec
import pytest
from strawberry.utils.str_converters import to_camel_case

from schema.comparisons.changes import size_delta
from snapshots.changes.diff import Comparison, SpecChangeField, SpecChangeKind
from snapshots.changes.package_changes import PackageChangeField, PackageChangeKind
from snapshots.changes.summary import LEFT_OUT, Summary, summarize, totals
from snapshots.frames.filters import SpecFilter
from tests.model import listings
from tests.schema import questions
from tests.schema.worlds import State, World, comparison_id, counts, shown

Kind = TypeVar("Kind", bound=Enum)

PAIRS = [(0, 2), (2, 4), (4, 5), (5, 0), (1, 3), (5, 5)]
EVERY_PAIR = pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: "{}-{}".format(*pair))


def sides_of(world: World, pair: tuple[int, int]) -> tuple[State, State]:
    """Return the revisions of a pair of numbers."""
    return world.states[pair[0]], world.states[pair[1]]


def compared(world: World, pair: tuple[int, int]) -> Comparison:
    """Return the domain's comparison of two revisions."""
    base, head = sides_of(world, pair)
    return world.library.comparisons.get((base.info.content, head.info.content))


@cache
def answered(world: World, pair: tuple[int, int]) -> Any:
    """Return the comparison of two revisions through the API."""
    base, head = sides_of(world, pair)
    return world.data(questions.COMPARISON, base=base.info.digest, head=head.info.digest)["compare"]


def state_stacks(*sides: State) -> bool:
    """Return whether both sides state stacks."""
    return all(listings.num_stacks(side.specs) is not None for side in sides)


@EVERY_PAIR
def test_changed_packages(world: World, pair: tuple[int, int]) -> None:
    """Each with its kind, versions added and removed, and both sides."""
    packages, changes = answered(world, pair)["packages"], [*compared(world, pair).packages]
    numbers = "specs_added specs_removed specs_changed"
    for node, change in zip(packages["nodes"], changes, strict=True):
        facts = shown(change, "name kind versions_added versions_removed")
        assert (facts | counts(change, numbers)).items() <= node.items()
        assert node["sizeDelta"] == size_delta(change.size_before, change.size_after)
        for side, state in zip(("before", "after"), sides_of(world, pair), strict=True):
            number = sum(spec.name == change.name for spec in state.specs)
            assert node[side] == ({"name": change.name, "numSpecs": number} if number else None)
    assert len({edge["cursor"] for edge in packages["edges"]}) == len(changes)
    assert packages["totalCount"] == len(changes)


@EVERY_PAIR
def test_changed_specs(world: World, pair: tuple[int, int]) -> None:
    """Each hash with its records before and after, and the facts that differ."""
    base, head = ({spec.hash: spec for spec in side.specs} for side in sides_of(world, pair))
    specs, changes = answered(world, pair)["specs"], [*compared(world, pair).specs]
    for node, change in zip(specs["nodes"], changes, strict=True):
        assert shown(change, "kind hash name").items() <= node.items()
        before, after = base.get(change.hash), head.get(change.hash)
        assert node["before"] == (before and listings.spec_json(before))
        assert node["after"] == (after and listings.spec_json(after))
        if (counterpart := node["counterpart"]) is not None:
            before = before or base[counterpart["hash"]]
            after = after or head[counterpart["hash"]]
        expected = listings.changed_fields(before, after) if before and after else []
        assert node["fields"] == expected
    assert len({edge["cursor"] for edge in specs["edges"]}) == len(changes)
    assert specs["totalCount"] == len(changes)
    for kind in SpecChangeKind:
        hashes = [change.hash for change in changes if change.kind is kind]
        assert answered(world, pair)[f"{kind.name.lower()}Hashes"] == hashes


@EVERY_PAIR
def test_changed_stacks(world: World, pair: tuple[int, int]) -> None:
    """Each with the specs and packages added and removed; null if a side states none."""
    data, changes = answered(world, pair), [*compared(world, pair).stacks]
    if not state_stacks(*sides_of(world, pair)):
        assert data["stackChanges"] is None
        return
    for node, change in zip(data["stackChanges"], changes, strict=True):
        facts = shown(change, "name kind num_specs_before num_specs_after")
        facts |= counts(change, "specs_added specs_removed")
        facts["addedPackageNames"] = list(change.packages_added)
        facts["removedPackageNames"] = list(change.packages_removed)
        assert facts.items() <= node.items()
        assert node["sizeDelta"] == size_delta(change.size_before, change.size_after)


@EVERY_PAIR
def test_summary_counts_the_changes(world: World, pair: tuple[int, int]) -> None:
    """Totals of both sides and of the changes; stacks are null if none are listed."""
    base, head = sides_of(world, pair)
    comparison, data = compared(world, pair), answered(world, pair)
    summary, sizes = summarize(comparison), ("total_size_before", "total_size_after")
    numbers = [name for name in Summary.__struct_fields__ if name not in sizes]
    expected = counts(summary, " ".join(numbers)) | shown(summary, " ".join(sizes))
    for side, of_side in zip(("Before", "After"), totals(comparison), strict=True):
        facts = msgspec.structs.asdict(of_side).items()
        expected |= {to_camel_case(name) + side: value for name, value in facts}
    delta = size_delta(expected["totalSizeBefore"], expected["totalSizeAfter"])
    assert data["summary"] == expected | {"totalSizeDelta": delta}
    assert data["id"] == comparison_id(base.info, head.info)
    assert data["base"] == {"digest": base.info.digest}
    assert data["head"] == {"digest": head.info.digest}
    assert data["baseStack"] is data["headStack"] is None
    assert data["leftOut"] == list(LEFT_OUT)


def test_pairs_have_every_kind_of_change(world: World) -> None:
    """Ensures that the tests above cover each kind."""
    comparisons = [compared(world, pair) for pair in PAIRS]
    packages = {change.kind for comparison in comparisons for change in comparison.packages}
    rare = {PackageChangeKind.FEWER_BUILDS, PackageChangeKind.CHANGED}
    assert {*PackageChangeKind} - rare <= packages
    for name in ("specs", "stacks"):
        kinds = {change.kind.name for each in comparisons for change in getattr(each, name)}
        assert kinds == {"ADDED", "REMOVED", "CHANGED"}


FILTERED = """query($base: String!, $head: String!, $kinds: [PackageChangeKind!], $search: String,
  $specKinds: [SpecChangeKind!], $filter: SpecFilter, $order: PackageChangeOrder,
  $specOrder: SpecChangeOrder, $after: String, $first: Int) {
  compare(base: $base, head: $head) {
    packages(kinds: $kinds, search: $search, orderBy: $order, after: $after, first: $first) {
      edges { cursor node { name kind } }
    }
    specs(kinds: $specKinds, filter: $filter, orderBy: $specOrder, first: 1000) {
      nodes { hash }
    }
  }
}"""


def filtered(world: World, **variables: Any) -> Any:
    """Return the filtered changes from the first to the last revision."""
    base, head = sides_of(world, (0, 5))
    refs = {"base": base.info.digest, "head": head.info.digest}
    return world.data(FILTERED, **refs, **variables)["compare"]


@pytest.mark.parametrize("kinds", [None, [], ["ADDED"], ["ADDED", "REMOVED"]])
@pytest.mark.parametrize(
    ("search", "targets"), [(None, None), (None, ["m1"]), ("LI", ["m1"]), ("nope", None)]
)
def test_changes_are_filtered(
    world: World, kinds: list[str] | None, search: str | None, targets: list[str] | None
) -> None:
    """Null or no argument selects all; an empty list of kinds selects none."""
    conditions = {"search": search, "targets": targets}
    data = filtered(world, kinds=kinds, search=search, specKinds=kinds, filter=conditions)
    comparison = compared(world, (0, 5))
    packages = comparison.packages.select(members(PackageChangeKind, kinds), search)
    names = [edge["node"]["name"] for edge in data["packages"]["edges"]]
    assert names == [change.name for change in packages]
    of_domain = SpecFilter(search=search, targets=None if targets is None else (*targets,))
    specs = comparison.specs.select(members(SpecChangeKind, kinds), of_domain)
    assert [node["hash"] for node in data["specs"]["nodes"]] == [change.hash for change in specs]


def members(kind: type[Kind], names: list[str] | None) -> list[Kind] | None:
    """Return members of an enum by their names."""
    return None if names is None else [kind[name] for name in names]


@pytest.mark.parametrize("direction", ["ASC", "DESC"])
@pytest.mark.parametrize("field", ["KIND", "NAME"])
def test_changes_are_ordered(world: World, field: str, direction: str) -> None:
    """Packages page by page, specs on one page."""
    comparison, descending = compared(world, (0, 5)), direction == "DESC"
    order = {"field": field, "direction": direction}
    names, after = [], None
    while edges := filtered(world, order=order, after=after, first=2)["packages"]["edges"]:
        names += [edge["node"]["name"] for edge in edges]
        after = edges[-1]["cursor"]
    packages = comparison.packages.ordered(PackageChangeField[field], descending=descending)
    assert names == [change.name for change in packages]
    field = field.replace("NAME", "PACKAGE")
    nodes = filtered(world, specOrder={"field": field, "direction": direction})["specs"]["nodes"]
    specs = comparison.specs.ordered(SpecChangeField[field], descending=descending)
    assert [node["hash"] for node in nodes] == [change.hash for change in specs]


def test_release_notes(world: World) -> None:
    """Markdown by default; the highlights are its first sentences."""
    assert "No spec was added, removed or changed." in answered(world, (5, 5))["releaseNotes"]
    data = answered(world, (1, 3))
    assert data["releaseNotes"].startswith("# Spack build cache: v0.22.0 → v0.22.1\n")
    text = '{ compare(base: "v0.22.0", head: "v0.22.1") { highlights } }'
    for sentence in world.data(text)["compare"]["highlights"]:
        assert sentence in data["releaseNotes"].replace("`", "")
