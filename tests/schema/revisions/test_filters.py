"""Filters and orders: which specs and packages a question is about, and in which order."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.expensive import examples
from tests.model import listings
from tests.schema.worlds import State, World, known_world, pools_of

LISTS = ("packages", "versions", "compilers", "operatingSystems", "platforms", "targets", "stacks")
OF_PACKAGES = ("stacks", "compilers", "operatingSystems", "platforms", "targets")
SPECS = """query($ref: String!, $filter: SpecFilter, $order: SpecOrder, $name: String!) {
  revision(ref: $ref) {
    specs(filter: $filter, orderBy: $order, first: 1000) { totalCount nodes { hash } facets {
      compilers { value numSpecs } stacks { value numSpecs } versions { value numSpecs } } }
    package(name: $name) { specs(filter: $filter, orderBy: $order) { nodes { hash } } }
    stack(name: "e4s") { specs(filter: $filter, orderBy: $order) { nodes { hash } } }
  }
}"""
PACKAGES = """query($ref: String!, $filter: PackageFilter, $order: PackageOrder) {
  revision(ref: $ref) {
    packages(filter: $filter, orderBy: $order) { totalCount nodes { name } }
    stack(name: "e4s") { packages(filter: $filter, orderBy: $order) { nodes { name } } }
  }
}"""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Return a small catalog whose records are known."""
    return known_world(tmp_path_factory.mktemp("catalog"), num_specs=60)


def some_of(values: list[str]) -> st.SearchStrategy[list[str] | None]:
    """Return lists of values, some of which mean nothing; null sets no condition."""
    return st.none() | st.lists(st.sampled_from([*values, "nope", ""]), max_size=4)


def spec_filters(world: World) -> st.SearchStrategy[dict[str, Any]]:
    """Return filters of specs, made of values that the catalog has."""
    pools = pools_of(world)
    canonical = {"compilers": ["gcc", "clang", "gcc@13.2.0", "clang@16.0.6"]}
    conditions: dict[str, st.SearchStrategy[Any]] = {
        name: some_of(canonical.get(name, pools[name])) for name in LISTS
    }
    variants = st.sampled_from(["+mpi", "+shared", "build_type=Release", "~mpi"])
    conditions["variants"] = st.none() | st.lists(variants, max_size=2)
    conditions["search"] = st.sampled_from([None, "", "LI", "py-", "10", "nope"])
    conditions["hashPrefix"] = st.sampled_from([None, "", "!", *pools["hashPrefix"][:40:3]])
    return st.fixed_dictionaries({}, optional=conditions)


def orders(fields: list[str]) -> st.SearchStrategy[dict[str, str] | None]:
    """Return orders, with their direction or without."""
    field = st.sampled_from(fields)
    return st.none() | st.fixed_dictionaries(
        {"field": field}, optional={"direction": st.sampled_from(["ASC", "DESC"])}
    )


def hashes(connection: dict[str, Any]) -> list[str]:
    """Return the hashes of the specs that a connection shows."""
    return [node["hash"] for node in connection["nodes"]]


@examples(100)
@given(data=st.data())
def test_specs_are_those_that_the_filter_means(world: World, data: st.DataObject) -> None:
    """In order, of the revision, of a package and of a stack alike; facets agree."""
    state: State = data.draw(st.sampled_from(world.states), label="state")
    conditions = data.draw(st.none() | spec_filters(world), label="filter")
    order = data.draw(orders(list(listings.ORDERS)), label="order")
    name = state.specs[0].name
    variables = {"ref": state.info.digest, "filter": conditions, "order": order, "name": name}
    found = world.data(SPECS, **variables)["revision"]
    field, direction = (order or {}).get("field", "PACKAGE"), (order or {}).get("direction", "ASC")
    selected = [spec for spec in state.specs if listings.matches(spec, conditions or {})]
    expected = listings.ordered(selected, field, direction)
    assert hashes(found["specs"]) == [spec.hash for spec in expected]
    assert found["specs"]["totalCount"] == len(expected)
    facets = listings.facets_json(selected)
    assert found["specs"]["facets"] == {it: facets[it] for it in found["specs"]["facets"]}
    of_package = [spec.hash for spec in expected if spec.name == name]
    assert hashes(found["package"]["specs"]) == of_package
    if found["stack"] is not None:
        of_stack = [spec.hash for spec in listings.in_stack(expected, "e4s")][:50]
        assert hashes(found["stack"]["specs"]) == of_stack


@examples(100)
@given(data=st.data())
def test_packages_are_those_that_the_filter_means(world: World, data: st.DataObject) -> None:
    """One spec of the package meets all conditions on specs; stacks count their own specs alike."""
    state: State = data.draw(st.sampled_from(world.states), label="state")
    of_specs = spec_filters(world).map(
        lambda it: {name: value for name, value in it.items() if name in OF_PACKAGES}
    )
    conditions = data.draw(of_specs, label="conditions on specs")
    search = data.draw(st.sampled_from([None, "", "LI", "py-", "10", "nope"]), label="search")
    names = data.draw(some_of(pools_of(world)["names"]), label="names")
    order = data.draw(orders(list(listings.PACKAGE_ORDERS)), label="order")
    variables = {"filter": {**conditions, "search": search, "names": names}, "order": order}
    found = world.data(PACKAGES, ref=state.info.digest, **variables)["revision"]

    def expected(stack: str) -> list[str]:
        chosen = [
            name
            for name in listings.names(listings.in_stack(state.specs, stack))
            if (search or "").lower() in name.lower()
            and (names is None or name in names)
            and any(
                spec.name == name and listings.matches(spec, conditions) for spec in state.specs
            )
        ]
        if order:
            key = listings.PACKAGE_ORDERS[order["field"]]
            chosen.sort(key=lambda name: key(name, state.specs))
        falling = order and order.get("direction") == "DESC"
        return chosen[::-1] if falling else chosen

    assert [node["name"] for node in found["packages"]["nodes"]] == expected("root")
    assert found["packages"]["totalCount"] == len(expected("root"))
    if found["stack"] is not None:
        assert [node["name"] for node in found["stack"]["packages"]["nodes"]] == expected("e4s")


SPELLINGS = {
    "compilers": [["gcc@13.2.0"], ["gcc@=13.2.0"]],
    "variants": [
        ["patches=26090f4,b231fcc"],
        ["patches:=26090f4,b231fcc"],
        ["patches=b231fcc,26090f4"],
    ],
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_filters_take_every_spelling(world: World, name: str) -> None:
    """What an older page would have written finds the same specs as the canonical spelling."""
    question = "query($filter: SpecFilter) { revision { specs(filter: $filter) { totalCount } } }"
    counts = [
        world.data(question, filter={name: value})["revision"]["specs"]["totalCount"]
        for value in SPELLINGS[name]
    ]
    canonical = {name: SPELLINGS[name][0]}
    expected = sum(listings.matches(spec, canonical) for spec in world.newest.specs)
    assert counts == [expected] * len(counts)
    assert expected


MATCHES = """query($text: String!, $beside: String!) { revision {
  matches(query: $text) { totalCount } specs(matching: $beside) { totalCount } } }"""


def test_a_query_that_cannot_be_answered_nulls_its_own_field(world: World) -> None:
    """The fields beside it are answered; a query that can be answered matches as elsewhere."""
    name = world.newest.specs[0].name
    both = world.data(MATCHES, text=name, beside=name)["revision"]
    assert both["matches"] == both["specs"] != {"totalCount": 0}
    response = world.ask(MATCHES, text="no-such-package", beside=name)
    assert [error["path"] for error in response["errors"]] == [["revision", "matches"]]
    assert response["data"]["revision"] == {"matches": None, "specs": both["specs"]}
