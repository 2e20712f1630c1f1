"""Relay's connections: a page is the part of a list that its arguments select."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schema.fields.relay import PAGE_DEFAULT, PAGE_MAX
from tests.expensive import examples
from tests.model import listings
from tests.schema.worlds import World

PAGING = "$first: Int, $after: String, $last: Int, $before: String"
PAGE = "first: $first, after: $after, last: $last, before: $before"
SHOWN = "{ totalCount nodes { %s } edges { cursor node { %s } } pageInfo { ...I } }"
INFO = " fragment I on PageInfo { hasNextPage hasPreviousPage startCursor endCursor startIndex }"


class Listing:
    """A connection of the schema: its path, its own arguments, and the field that names an item."""

    def __init__(self, path: str, arguments: str, declared: str, item: str = "hash") -> None:
        shown = SHOWN.replace("%s", item)
        *parents, name = path.split(" > ")
        begins = "".join(f"{parent} {{ " for parent in parents)
        call = ", ".join(filter(None, (arguments, PAGE)))
        ends = " }" * len(parents)
        heads = ", ".join(filter(None, (declared, PAGING)))
        self.question = f"query({heads}) {{ {begins}page: {name}({call}) {shown}{ends} }}{INFO}"
        self.parents = [parent.split("(")[0] for parent in parents]
        self.item = item

    def of(self, data: Any) -> dict[str, Any]:
        """Return the connection from the data of a response."""
        for parent in self.parents:
            data = data[parent]
        page: dict[str, Any] = data["page"]
        return page


FILTERED = "filter: $filter, orderBy: $order"
OF_SPECS = "$filter: SpecFilter, $order: SpecOrder"
OF_PACKAGES = "$filter: SpecFilter, $order: PackageOrder"
COMPARED = 'compare(base: "develop-2025-01-05", head: "develop")'
SPEC = 'revision(ref: "v0.22.1") > spec(hash: "zh7lxl53wvxarodizic3kethrn3u3ann")'
"""A spec that most others need."""

WANTED = " ".join(
    f'{{hash: "{letter * 32}", name: "lib{number % 3}", isRoot: {str(number % 2 == 0).lower()}}}'
    for number, letter in enumerate("bcdefghij")
)
"""Specs that the revision lacks."""

LISTINGS = {
    "specs": Listing("revision > specs", FILTERED, OF_SPECS),
    "packages": Listing("revision > packages", FILTERED, OF_PACKAGES, "name"),
    "specs of a package": Listing('revision > package(name: "lib2") > specs', FILTERED, OF_SPECS),
    "specs of a stack": Listing('revision > stack(name: "e4s") > specs', FILTERED, OF_SPECS),
    "packages of a stack": Listing(
        'revision > stack(name: "e4s") > packages', FILTERED, OF_PACKAGES, "name"
    ),
    "missing specs": Listing(f"revision > lookup(specs: [{WANTED}]) > missing", "", "", "hash"),
    "revisions": Listing("revisions", "", "", "id"),
    "revisions of a tag": Listing('tag(name: "develop") > revisions', "", "", "id"),
    "changed packages": Listing(f"{COMPARED} > packages", "", "", "name"),
    "changed specs": Listing(f"{COMPARED} > specs", "filter: $filter", "$filter: SpecFilter"),
    "added specs": Listing(f"{COMPARED} > specs", "kinds: [ADDED]", ""),
    "causes": Listing(f"{COMPARED} > causes", "", "", "id"),
    "coverage": Listing(f"{COMPARED} > coverage", "by: []", "", "packageName"),
    "packages of the catalog": Listing("packages", "", "", "name"),
    "revisions with hashes": Listing("revisionsHolding", "hashes: []", "", "id"),
    "dependents": Listing(f"{SPEC} > dependents", "transitive: true", ""),
}


@st.composite
def questions(draw: st.DrawFn) -> tuple[Listing, dict[str, Any]]:
    """Return a connection with arguments for its filter and order."""
    listing = LISTINGS[draw(st.sampled_from(sorted(LISTINGS)))]
    variables: dict[str, Any] = {}
    if "$filter" in listing.question and draw(st.booleans()):
        variables["filter"] = {"targets": draw(st.sampled_from([["m1"], ["m1", "rhel8"], []]))}
    if "$order" in listing.question and draw(st.booleans()):
        fields = [*(listings.PACKAGE_ORDERS if listing.item == "name" else listings.ORDERS)]
        field, direction = draw(st.sampled_from(fields)), draw(st.sampled_from(["ASC", "DESC"]))
        variables["order"] = {"field": field, "direction": direction}
    return listing, variables


def names(listing: Listing, page: dict[str, Any]) -> list[str]:
    """Return the items of a page, which nodes and edges agree on."""
    shown: list[str] = [node[listing.item] for node in page["nodes"]]
    assert [edge["node"][listing.item] for edge in page["edges"]] == shown
    return shown


@examples(120)
@given(question=questions(), data=st.data())
def test_page_is_the_part_that_its_arguments_select(
    world: World, question: tuple[Listing, dict[str, Any]], data: st.DataObject
) -> None:
    """Relay's algorithm: cut after and before, then take from the start, then from the end."""
    listing, variables = question
    whole = listing.of(world.data(listing.question, **variables, first=PAGE_MAX))
    expected, cursors = names(listing, whole), [edge["cursor"] for edge in whole["edges"]]
    assert len({*expected}) == len({*cursors}) == len(expected) == whole["totalCount"]
    sizes = st.none() | st.integers(0, 12)
    first, last = data.draw(sizes, label="first"), data.draw(sizes, label="last")
    positions = st.none() | st.integers(0, len(expected) - 1) if expected else st.none()
    after, before = data.draw(positions, label="after"), data.draw(positions, label="before")
    arguments = {
        "first": first,
        "last": last,
        "after": None if after is None else cursors[after],
        "before": None if before is None else cursors[before],
    }
    page = listing.of(world.data(listing.question, **variables, **arguments))
    start, stop = 0 if after is None else after + 1, len(expected) if before is None else before
    numbers = list(range(start, stop))
    if first is None and last is None:
        first = PAGE_DEFAULT
    if first is not None:
        numbers = numbers[:first]
    if last is not None:
        numbers = numbers[-last:] if last else []
    assert names(listing, page) == [expected[number] for number in numbers]
    assert page["totalCount"] == len(expected)
    if numbers:
        assert page["pageInfo"] == {
            "hasNextPage": numbers[-1] + 1 < len(expected),
            "hasPreviousPage": numbers[0] > 0,
            "startCursor": cursors[numbers[0]],
            "endCursor": cursors[numbers[-1]],
            "startIndex": numbers[0],
        }
    else:
        assert (page["pageInfo"]["startCursor"], page["pageInfo"]["endCursor"]) == (None, None)


@examples(60)
@given(data=st.data())
def test_cursor_is_the_same_spec_in_every_order_and_filter(
    world: World, data: st.DataObject
) -> None:
    """A client can change the order or filter and continue from the displayed position."""
    listing = LISTINGS["specs"]
    spec = data.draw(st.sampled_from(world.newest.specs))
    field = data.draw(st.sampled_from(list(listings.ORDERS)))
    direction = data.draw(st.sampled_from(["ASC", "DESC"]))
    targets = data.draw(st.sampled_from([["m1"], ["neoverse_v2", "m1"]]))
    everything = listings.ordered(world.newest.specs, field, direction)
    place = everything.index(spec)
    variables = {"order": {"field": field, "direction": direction}, "filter": {"targets": targets}}
    whole = listing.of(world.data(listing.question, first=PAGE_MAX))
    cursor = next(edge["cursor"] for edge in whole["edges"] if edge["node"]["hash"] == spec.hash)
    later = listing.of(world.data(listing.question, **variables, after=cursor))
    earlier = listing.of(world.data(listing.question, **variables, before=cursor))
    for page, specs in ((later, everything[place + 1 :]), (earlier, everything[:place])):
        assert names(listing, page) == [spec.hash for spec in specs if spec.target in targets]


FIRST = "(first: 1, after: $after) { edges { cursor } }"
OF_A_REF = {
    "specs": f"revision(ref: $ref) {{ page: specs{FIRST} }}",
    "packages": f"revision(ref: $ref) {{ page: packages{FIRST} }}",
    "specs of a package": 'revision(ref: $ref) { package(name: "lib2") '
    f"{{ page: specs{FIRST} }} }}",
    "changed packages": f'compare(base: "v0.22.1", head: $ref) {{ page: packages{FIRST} }}',
    "changed specs": f'compare(base: $ref, head: "v0.22.1") {{ page: specs{FIRST} }}',
    "causes": f'compare(base: "v0.22.1", head: $ref) {{ page: causes{FIRST} }}',
}


@pytest.mark.parametrize("selection", OF_A_REF.values(), ids=OF_A_REF)
def test_cursor_of_another_content_has_expired(world: World, selection: str) -> None:
    """A list never continues in another content, to which the same ref may have moved."""
    question = f"query($ref: String!, $after: String) {{ {selection} }}"
    (subject,) = world.data(question, ref="develop").values()
    (edge,) = (subject.get("page") or subject["package"]["page"])["edges"]
    (error,) = world.ask(question, ref="develop-2025-01-05", after=edge["cursor"])["errors"]
    assert error["extensions"] == {"code": "CURSOR_EXPIRED"}
    assert error["path"][-1] == "page"
    same = world.data("{ revision { ref } }")["revision"]["ref"]
    assert "errors" not in world.ask(question, ref=same, after=edge["cursor"])


BAD = {
    "first: -1": {"first": -1},
    "last: -1": {"last": -1},
    "first: 1001": {"first": 1001},
    "last: 1001": {"last": 1001},
    "an empty cursor": {"before": ""},
    "a cursor of another kind": {"after": "a" * 32},
    "a cursor with special characters": {"before": "ü\n\"'"},
}


@pytest.mark.parametrize("arguments", BAD.values(), ids=BAD)
def test_invalid_arguments_are_client_errors(world: World, arguments: dict[str, Any]) -> None:
    """The message names the argument and its value."""
    ((name, value),) = arguments.items()
    for listing in LISTINGS.values():
        (error,) = world.ask(listing.question, **arguments)["errors"]
        assert error["extensions"] == {"code": "BAD_USER_INPUT"}
        assert name in error["message"]
        assert repr(value) in error["message"]


SIZES = {
    "breaches": (
        f'{{ {COMPARED} {{ check(rules: [{{name: "a", forbid: "spec-removed"}}]) '
        "{ rules { breaches(first: %d) { message } } } } }",
        1_000,
    ),
    "best revisions": ("{ bestCovering(specs: [], first: %d) { numFound } }", 1_000),
    "holes": (
        '{ revision(ref: "v0.22.1") { holes(first: 1) { nodes { affected(first: %d) '
        "{ hash } } } } }",
        1_000,
    ),
    "suggestions": ('{ suggest(text: "z", first: %d) { value } }', 100),
}


@pytest.mark.parametrize(("text", "most"), SIZES.values(), ids=SIZES)
def test_sizes_of_lists_without_pages(world: World, text: str, most: int) -> None:
    """Up to a maximum; a number out of range is a client error."""
    for first in (0, most):
        assert world.data(text % first)
    for first in (-1, most + 1):
        (error, *_) = world.ask(text % first)["errors"]
        assert error["extensions"] == {"code": "BAD_USER_INPUT"}
        assert error["message"].startswith(f"first: {first} is not between 0 and {most}")
