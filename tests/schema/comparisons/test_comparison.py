"""Comparisons: every field, against differences worked out from the records of both sides."""

from collections.abc import Callable
from functools import cache
from itertools import chain, pairwise
from typing import Any

import orjson
import pytest

from snapshots.changes.diff import LEFT_OUT
from snapshots.models import Spec
from snapshots.spack.names import ROOT_STACK
from tests.model import listings
from tests.schema import questions
from tests.schema.worlds import State, World, comparison_id

PAIRS = [*pairwise((0, 2, 4, 5, 0)), (1, 3), (5, 5)]
EVERY_PAIR = pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: "{}-{}".format(*pair))
KINDS = ("ADDED", "REMOVED", "UPGRADED", "DOWNGRADED", "VERSIONS_CHANGED", "REBUILT", "CHANGED")


def sides_of(world: World, pair: tuple[int, int]) -> tuple[State, State]:
    """Return the revisions of a pair of numbers."""
    return world.states[pair[0]], world.states[pair[1]]


@cache
def compared(world: World, pair: tuple[int, int]) -> Any:
    """Return the comparison of two revisions through the API; its changes without their ids."""
    base, head = sides_of(world, pair)
    data = world.data(questions.COMPARISON, base=base.info.digest, head=head.info.digest)["compare"]
    lists = data["packages"]["nodes"], data["specs"]["nodes"], data["stacks"], data["stackChanges"]
    for change in chain.from_iterable(of_kind or () for of_kind in lists):
        del change["id"]
    return data


def of_package(specs: tuple[Spec, ...], name: str) -> list[Spec]:
    """Return the specs of a package."""
    return [spec for spec in specs if spec.name == name]


def package_changes(base: State, head: State) -> list[dict[str, Any]]:
    """Return the packages that changed, as people sort names."""
    changes = []
    for name in listings.by_name({spec.name for spec in (*base.specs, *head.specs)}):
        before, after = of_package(base.specs, name), of_package(head.specs, name)
        kind = listings.package_kind(before, after)
        if kind is None:
            continue
        old, new = ({spec.hash: spec for spec in side} for side in (before, after))
        versions = [listings.package_json(name, side)["versions"] for side in (before, after)]
        changes.append(
            {
                "name": name,
                "kind": kind,
                "versionsAdded": [it for it in versions[1] if it not in versions[0]],
                "versionsRemoved": [it for it in versions[0] if it not in versions[1]],
                "specsAdded": len(new.keys() - old.keys()),
                "specsRemoved": len(old.keys() - new.keys()),
                "specsChanged": sum(
                    bool(listings.changed_fields(old[key], new[key]))
                    for key in old.keys() & new.keys()
                ),
                "sizeDelta": listings.size_delta(before, after),
                "before": {"name": name, "numSpecs": len(before)} if before else None,
                "after": {"name": name, "numSpecs": len(after)} if after else None,
            }
        )
    return changes


def spec_changes(base: State, head: State) -> list[dict[str, Any]]:
    """Return the hashes that were added, removed or changed, by package and hash."""
    old, new = ({spec.hash: spec for spec in side.specs} for side in (base, head))
    changes = []
    for key in old.keys() | new.keys():
        before, after = old.get(key), new.get(key)
        fields = listings.changed_fields(before, after) if before and after else []
        if before and after and not fields:
            continue
        changes.append(
            {
                "kind": "CHANGED" if before and after else "ADDED" if after else "REMOVED",
                "hash": key,
                "name": (after or before).name,  # type: ignore[union-attr]
                "before": listings.spec_json(before) if before else None,
                "after": listings.spec_json(after) if after else None,
                "fields": fields,
            }
        )
    return sorted(changes, key=lambda change: (change["name"], change["hash"]))


def stack_changes(base: State, head: State) -> list[dict[str, Any]]:
    """Return the stacks that were added, removed or have other specs; root is none of them."""
    changes = []
    names = {stack for spec in (*base.specs, *head.specs) for stack in spec.stacks} - {ROOT_STACK}
    for name in listings.by_name(names):
        before, after = (listings.in_stack(side.specs, name) for side in (base, head))
        old, new = ({spec.hash for spec in side} for side in (before, after))
        if before and after and old == new:
            continue
        packages = [set(listings.names(side)) for side in (before, after)]
        changes.append(
            {
                "name": name,
                "kind": "CHANGED" if before and after else "ADDED" if after else "REMOVED",
                "numSpecsBefore": len(before),
                "numSpecsAfter": len(after),
                "sizeDelta": listings.size_delta(before, after),
                "specsAdded": len(new - old),
                "specsRemoved": len(old - new),
                "packagesAdded": listings.by_name(packages[1] - packages[0]),
                "packagesRemoved": listings.by_name(packages[0] - packages[1]),
            }
        )
    return changes


@EVERY_PAIR
def test_packages_that_changed(world: World, pair: tuple[int, int]) -> None:
    """Each with the first kind that applies, versions added and removed, and both sides."""
    expected = package_changes(*sides_of(world, pair))
    packages = compared(world, pair)["packages"]
    assert packages["nodes"] == expected
    assert [edge["cursor"] for edge in packages["edges"]] == [it["name"] for it in expected]
    assert packages["totalCount"] == len(expected)


@EVERY_PAIR
def test_specs_that_changed(world: World, pair: tuple[int, int]) -> None:
    """Each hash with both of its records, and the facts that differ."""
    base, head = ({it.hash: it for it in side.specs} for side in sides_of(world, pair))
    expected = spec_changes(*sides_of(world, pair))
    specs = compared(world, pair)["specs"]
    for node, change in zip(specs["nodes"], expected, strict=True):
        change["counterpart"] = counterpart = node["counterpart"]
        if counterpart is not None:
            one, other = node["hash"], counterpart["hash"]
            before, after = (one, other) if node["kind"] == "REMOVED" else (other, one)
            change["fields"] = listings.changed_fields(base[before], head[after])
    assert specs["nodes"] == expected
    assert [edge["cursor"] for edge in specs["edges"]] == [it["hash"] for it in expected]
    assert specs["totalCount"] == len(expected)


@EVERY_PAIR
def test_stacks_that_changed(world: World, pair: tuple[int, int]) -> None:
    """Each with what it gained and lost."""
    base, head = sides_of(world, pair)
    data, expected = compared(world, pair), stack_changes(base, head)
    assert data["stacks"] == expected
    assert data["stackChanges"] == (expected if tell_stacks(base, head) else None)


def tell_stacks(*sides: State) -> bool:
    """Tell whether both sides state stacks."""
    return all(listings.num_stacks(side.specs) is not None for side in sides)


@EVERY_PAIR
def test_the_summary_counts_the_changes(world: World, pair: tuple[int, int]) -> None:
    """Totals agree with the lists; what is in none of them is unchanged."""
    base, head = sides_of(world, pair)
    packages = [change["kind"] for change in package_changes(base, head)]
    specs = [change["kind"] for change in spec_changes(base, head)]
    stacks = [change["kind"] for change in stack_changes(base, head)]
    names = {spec.name for spec in (*base.specs, *head.specs)}
    hashes = {spec.hash for spec in (*base.specs, *head.specs)}
    data = compared(world, pair)
    assert data["summary"] == {
        "packagesAdded": packages.count("ADDED"),
        "packagesRemoved": packages.count("REMOVED"),
        "packagesUpgraded": packages.count("UPGRADED"),
        "packagesDowngraded": packages.count("DOWNGRADED"),
        "packagesVersionsChanged": packages.count("VERSIONS_CHANGED"),
        "packagesRebuilt": packages.count("REBUILT"),
        "packagesChanged": packages.count("CHANGED"),
        "packagesUnchanged": len(names) - len(packages),
        "specsAdded": specs.count("ADDED"),
        "specsRemoved": specs.count("REMOVED"),
        "specsChanged": specs.count("CHANGED"),
        "specsUnchanged": len(hashes) - len(specs),
        "stacksAdded": stacks.count("ADDED"),
        "stacksRemoved": stacks.count("REMOVED"),
        "numPackagesBefore": len({spec.name for spec in base.specs}),
        "numPackagesAfter": len({spec.name for spec in head.specs}),
        "numSpecsBefore": len(base.specs),
        "numSpecsAfter": len(head.specs),
        "numStacksAdded": stacks.count("ADDED") if tell_stacks(base, head) else None,
        "numStacksRemoved": stacks.count("REMOVED") if tell_stacks(base, head) else None,
        "numStacksBefore": listings.num_stacks(base.specs),
        "numStacksAfter": listings.num_stacks(head.specs),
        "totalSizeBefore": listings.total_size(base.specs),
        "totalSizeAfter": listings.total_size(head.specs),
        "totalSizeDelta": listings.size_delta(base.specs, head.specs),
    }
    assert data["id"] == comparison_id(base.info, head.info)
    assert (data["base"], data["head"]) == tuple(
        {"digest": side.info.digest} for side in (base, head)
    )
    assert (data["baseStack"], data["headStack"]) == (None, None)
    assert data["leftOut"] == list(LEFT_OUT)


def test_the_pairs_have_every_kind_of_change(world: World) -> None:
    """So that the tests above are about all of them."""
    sides = [sides_of(world, pair) for pair in PAIRS]
    every: tuple[tuple[Callable[..., Any], set[str]], ...] = (
        (package_changes, set(KINDS) - {"CHANGED"}),
        (spec_changes, {"ADDED", "REMOVED", "CHANGED"}),
        (stack_changes, {"ADDED", "REMOVED", "CHANGED"}),
    )
    for changes, kinds in every:
        assert kinds <= {change["kind"] for pair in sides for change in changes(*pair)}


SELECTED = """query($base: String!, $head: String!, $kinds: [PackageChangeKind!], $search: String,
  $specKinds: [SpecChangeKind!], $filter: SpecFilter) {
  compare(base: $base, head: $head) {
    packages(kinds: $kinds, search: $search) { nodes { name } }
    specs(kinds: $specKinds, filter: $filter, first: 1000) { nodes { hash } }
  }
}"""


@pytest.mark.parametrize("kinds", [None, [], *([kind] for kind in KINDS), ["ADDED", "REBUILT"]])
@pytest.mark.parametrize("search", [None, "LI", "nope"])
def test_packages_are_chosen_by_kind_and_name(
    world: World, kinds: list[str] | None, search: str | None
) -> None:
    """Null and leaving out choose all; an empty list of kinds chooses none."""
    base, head = sides_of(world, (0, 5))
    refs = {"base": base.info.digest, "head": head.info.digest}
    found = world.data(SELECTED, **refs, kinds=kinds, search=search)["compare"]["packages"]["nodes"]
    assert [node["name"] for node in found] == [
        change["name"]
        for change in package_changes(base, head)
        if (kinds is None or change["kind"] in kinds)
        and (search or "").lower() in change["name"].lower()
    ]


def all_pages(world: World, document: str, field: str, **variables: Any) -> list[Any]:
    """Return the nodes of all pages of a field of a comparison, each page asked for by a cursor."""
    found: list[Any] = []
    at = None
    while edges := world.data(document, **variables, at=at)["compare"][field]["edges"]:
        found += [edge["node"] for edge in edges]
        at = edges[-1]["cursor"]
    return found


ORDERED = """query($base: String!, $head: String!, $%(list)sOrder: %(type)s, $at: String) {
  compare(base: $base, head: $head) {
    %(list)s(orderBy: $%(list)sOrder, after: $at, first: %(first)d) {
      edges { cursor node { %(name)s kind } }
    }
  }
}"""
PACKAGE_ORDER = {"list": "packages", "type": "PackageChangeOrder", "first": 2, "name": "name"}
SPEC_ORDER = {"list": "specs", "type": "SpecChangeOrder", "first": 9, "name": "hash"}


@pytest.mark.parametrize(
    ("listed", "changes", "fields"),
    [
        (PACKAGE_ORDER, package_changes, [None, "NAME", "KIND"]),
        (SPEC_ORDER, spec_changes, [None, "PACKAGE", "KIND"]),
    ],
    ids=["packages", "specs"],
)
@pytest.mark.parametrize("direction", ["ASC", "DESC"])
def test_changes_stand_in_order(
    world: World,
    listed: dict[str, Any],
    changes: Callable[..., list[dict[str, Any]]],
    fields: list[str | None],
    direction: str,
) -> None:
    """As they stand without an order, or by kind and then so; page by page there are all."""
    base, head = sides_of(world, (0, 5))
    refs = {"base": base.info.digest, "head": head.info.digest}
    for field in fields:
        order = field and {"field": field, "direction": direction}
        expected = changes(base, head)
        if field == "KIND":
            expected.sort(key=lambda change: KINDS.index(change["kind"]))
        if field is not None and direction == "DESC":
            expected.reverse()
        name, kind = listed["name"], listed["list"]
        shown = all_pages(world, ORDERED % listed, kind, **refs, **{f"{kind}Order": order})
        assert shown == [{name: change[name], "kind": change["kind"]} for change in expected]
        assert len({change["kind"] for change in shown}) > 1


@pytest.mark.parametrize("kinds", [None, [], ["ADDED"], ["REMOVED", "CHANGED"]])
@pytest.mark.parametrize(
    "conditions",
    [None, {}, {"stacks": ["e4s"]}, {"compilers": ["gcc"], "targets": ["m1"]}],
    ids=str,
)
def test_specs_are_chosen_by_kind_and_filter(
    world: World, kinds: list[str] | None, conditions: dict[str, Any] | None
) -> None:
    """A change is chosen where the spec met the filter before or meets it after."""
    base, head = sides_of(world, (0, 5))
    old, new = ({spec.hash: spec for spec in side.specs} for side in (base, head))
    refs = {"base": base.info.digest, "head": head.info.digest}
    found = world.data(SELECTED, **refs, specKinds=kinds, filter=conditions)["compare"]["specs"]
    assert [node["hash"] for node in found["nodes"]] == [
        change["hash"]
        for change in spec_changes(base, head)
        if (kinds is None or change["kind"] in kinds)
        and any(
            listings.matches(side[change["hash"]], conditions or {})
            for side in (old, new)
            if change["hash"] in side
        )
    ]


def test_release_notes_of_a_revision_and_itself(world: World) -> None:
    """They say that nothing changed."""
    assert "Nothing changed." in compared(world, (5, 5))["releaseNotes"]


def test_release_notes_in_both_formats(world: World) -> None:
    """Markdown by default; JSON has both revisions, the totals and the packages."""
    data, (base, head) = compared(world, (1, 3)), sides_of(world, (1, 3))
    assert data["releaseNotes"].startswith("# Spack build cache: v0.22.0 → v0.22.1\n")
    notes = world.data(
        '{ compare(base: "v0.22.0", head: "v0.22.1") { md: releaseNotes(format: MARKDOWN) '
        "json: releaseNotes(format: JSON) } }"
    )["compare"]
    assert notes["md"] == data["releaseNotes"]
    facts = orjson.loads(notes["json"])
    assert facts["base"]["digest"] == base.info.digest
    assert facts["head"]["digest"] == head.info.digest
    assert facts["summary"]["specs_added"] == data["summary"]["specsAdded"]
    for kind, changes in facts["packages"].items():
        nodes = [it["name"] for it in data["packages"]["nodes"] if it["kind"] == kind.upper()]
        assert [change["name"] for change in changes] == nodes
