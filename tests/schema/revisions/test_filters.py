"""Filters and orders of specs and packages."""

from typing import Any

import pytest

from schema.revisions.spec import SpecFilterInput
from snapshots.frames.filters import SpecFilter
from tests.model import listings
from tests.schema.worlds import World

SPECS = """query($filter: SpecFilter, $order: SpecOrder, $name: String!) {
  revision {
    specs(filter: $filter, orderBy: $order, first: 1000) {
      totalCount nodes { hash }
      compilers: facet(by: COMPILER) { value numSpecs }
      stacks: facet(by: STACK) { value numSpecs }
      versions: facet(by: VERSION) { value numSpecs } }
    package(name: $name) { specs(filter: $filter, orderBy: $order) { nodes { hash } } }
    stack(name: "e4s") { specs(filter: $filter, orderBy: $order) { nodes { hash } } }
  }
}"""
PACKAGES = """query($filter: SpecFilter, $order: PackageOrder) {
  revision {
    packages(filter: $filter, orderBy: $order) { totalCount nodes { name } }
    stack(name: "e4s") { packages(filter: $filter, orderBy: $order) { nodes { name } } }
  }
}"""


CONDITIONS: list[dict[str, Any]] = [
    {},
    {"stacks": ["e4s", "nope"], "search": None},
    {"compilers": ["gcc", "clang@16.0.6"]},
    {"operatingSystems": ["rhel8"], "platforms": ["linux"], "targets": ["neoverse_v2", "m1"]},
    {"search": "LI", "targets": []},
]
OF_SPECS = [
    *CONDITIONS,
    {"packages": ["zlib", "lib2", "hdf5"], "versions": ["1.2", "develop"]},
    {"variants": ["+mpi", "~shared"]},
    {"hashPrefix": ""},
    {"hashPrefix": "!"},
]


DIRECTIONS = (None, "ASC", "DESC")


def test_filters_have_the_fields_of_the_domain() -> None:
    """Each condition on specs is also a field of the input."""
    assert tuple(SpecFilterInput.__annotations__) == SpecFilter.__struct_fields__


@pytest.mark.parametrize("conditions", [None, *OF_SPECS], ids=str)
def test_specs_are_filtered(world: World, conditions: dict[str, Any] | None) -> None:
    """In a revision, a package and a stack; facets agree."""
    name = world.newest.specs[0].name
    revision = world.data(SPECS, filter=conditions, name=name)["revision"]
    selected = [spec for spec in world.newest.specs if listings.matches(spec, conditions or {})]
    expected = listings.ordered(selected)
    hashes = {
        key: [node["hash"] for node in (value or {}).get("specs", value)["nodes"]]
        for key, value in revision.items()
    }
    of_stack = listings.in_stack(expected, "e4s")
    assert hashes == {
        "specs": [spec.hash for spec in expected],
        "package": [spec.hash for spec in expected if spec.name == name],
        "stack": [spec.hash for spec in of_stack][:50],
    }
    assert revision["specs"]["totalCount"] == len(expected)
    facets = {name: revision["specs"][name] for name in ("compilers", "stacks", "versions")}
    assert facets.items() <= listings.facets_json(selected).items()


@pytest.mark.parametrize("conditions", CONDITIONS, ids=str)
@pytest.mark.parametrize("packages", [None, [], ["zlib", "lib2", "nope"]], ids=str)
def test_packages_are_filtered(
    world: World, conditions: dict[str, Any], packages: list[str] | None
) -> None:
    """A single spec of the package meets all conditions; stacks count their own specs."""
    revision = world.data(PACKAGES, filter={**conditions, "packages": packages})["revision"]
    specs = world.newest.specs
    selected = {spec.name for spec in specs if listings.matches(spec, conditions)}
    for stack, listed in (("root", revision["packages"]), ("e4s", revision["stack"]["packages"])):
        assert [node["name"] for node in listed["nodes"]] == [
            name
            for name in listings.names(listings.in_stack(specs, stack))
            if name in selected and (packages is None or name in packages)
        ]
    assert revision["packages"]["totalCount"] == len(revision["packages"]["nodes"])


@pytest.mark.parametrize("field", listings.PACKAGE_ORDERS)
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_packages_are_ordered(world: World, field: str, direction: str | None) -> None:
    """Ascending by default."""
    order = {"field": field} | ({"direction": direction} if direction else {})
    nodes = world.data(PACKAGES, order=order)["revision"]["packages"]["nodes"]
    specs, key = world.newest.specs, listings.PACKAGE_ORDERS[field]
    expected = sorted(listings.names(specs), key=lambda name: key(name, specs))
    assert [node["name"] for node in nodes] == expected[:: -1 if direction == "DESC" else 1]


MATCHES = """query($text: String!, $beside: String!) { revision {
  other: specs(matching: $text) { totalCount } specs(matching: $beside) { totalCount } } }"""
