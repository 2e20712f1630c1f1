"""Limits before execution: each refuses one too many, and nothing else."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from graphql import parse

from schema.api import API
from schema.documents import bounds
from schema.documents.bounds import FragmentCycle, Measures, measured
from schema.limits import Limits
from tests.schema.worlds import World, plain


def list_literal(number: int) -> str:
    """Return a list of `number` values."""
    return "[" + '"a" ' * number + "]"


def deep(depth: int) -> str:
    """Return nested selections of this depth."""
    inner = (depth - 2) // 2
    return "{ revision { " + "tag { latest { " * inner + "ref" + " } }" * inner + " } }"


def aliased(number: int) -> str:
    """Return a fragment with `number` aliases."""
    return f"fragment F on Query {{ {' '.join(f'a{n}: __typename' for n in range(number))} }}"


DOCUMENTS: dict[str, tuple[str, Callable[[int], str]]] = {
    "max_document_bytes": ("Bytes", lambda size: "{ __typename } #".ljust(size - 20) + "é" * 10),
    "max_depth": ("Depth of selections", lambda size: deep(size)),
    "max_aliases": (
        "Aliases",
        lambda size: f"{{ {'z: __typename ' * (size % 2)}...F ...F }} {aliased(size // 2)}",
    ),
    "max_text_length": ("text", lambda size: f'{{ tag(name: "{"x" * size}") {{ name }} }}'),
    "max_selections": ("Fields", lambda size: "{ revision { %s } }" % ("__typename " * (size - 1))),
}
SMALL = 12
"""An even limit for the tests."""


@pytest.mark.parametrize("name", DOCUMENTS)
def test_document_up_to_the_limit_is_executed(world: World, name: str) -> None:
    """One more is refused, with the number found and the limit."""
    message, make = DOCUMENTS[name]
    size = 40 if name == "max_document_bytes" else SMALL
    api = API(Limits(**{name: size}))
    assert api.execute(make(size), context=world.context()).executed
    answer = api.execute(make(size + (1 if name != "max_depth" else 2)), context=world.context())
    assert not answer.executed
    (error,) = plain(answer)["errors"]
    assert error["extensions"] == {"code": "LIMIT_EXCEEDED"}
    assert message in error["message"]
    assert f"{size} are allowed" in error["message"]


NAMES = (
    "query($names: [String!]) { revision { packages(filter: {packages: $names}) { totalCount } } }"
)


def nested(depth: int) -> Any:
    """Return nested lists."""
    value: Any = "a"
    for _ in range(depth):
        value = [value]
    return value


VARIABLES: dict[str, tuple[str, Callable[[int], Any]]] = {
    "max_variable_bytes": ("Bytes of the variables", lambda size: ["x" * (size - 14)]),
    "max_variable_depth": ("Depth of lists and objects", nested),
    "max_list_length": ("Values in a list", lambda size: ["a"] * size),
    "max_text_length": ("Characters", lambda size: ["a" * size]),
}


@pytest.mark.parametrize("name", VARIABLES)
def test_variables_up_to_the_limit_are_accepted(world: World, name: str) -> None:
    """One more is refused; variables that the operation does not declare do not count."""
    message, make = VARIABLES[name]
    size = 30
    api = API(Limits(**{name: size}))

    def errors(variables: dict[str, Any]) -> list[dict[str, Any]]:
        answer = plain(api.execute(NAMES, variables, context=world.context()))
        all_errors: list[dict[str, Any]] = answer.get("errors", [])
        return [error for error in all_errors if error["extensions"]["code"] == "LIMIT_EXCEEDED"]

    assert errors({"names": make(size)}) == []
    assert errors({"names": [], "other": make(size * 2)}) == []
    (error,) = errors({"names": make(size + 1)})
    assert message in error["message"]
    assert f"{size + 1} found, {size} are allowed" in error["message"]


FILTER = "query($f: SpecFilter) { revision { specs(filter: $f) { totalCount } } }"


@pytest.mark.parametrize(("number", "is_refused"), [(15, False), (16, True)])
def test_values_of_a_filter_are_limited(world: World, number: int, is_refused: bool) -> None:
    """In all of its lists together, in a document and in a variable."""
    api = API(Limits(max_filter_values=30))
    lists = {"stacks": ["a"] * 15, "targets": ["a"] * number}
    written = f"{{stacks: {list_literal(15)}, targets: {list_literal(number)}}}"
    literal = f"{{ revision {{ specs(filter: {written}) {{ totalCount }} }} }}"
    for text, variables in ((FILTER, {"f": lists}), (literal, {})):
        answer = plain(api.execute(text, variables, context=world.context()))
        assert ("errors" in answer) == is_refused
        if is_refused:
            assert answer["errors"][0]["extensions"] == {"code": "LIMIT_EXCEEDED"}
            assert "31 found, 30 are allowed" in answer["errors"][0]["message"]


def test_huge_numbers_are_refused(world: World) -> None:
    """A number of 5,000 digits is a client error at any position."""
    huge = 10**5_000
    text = "query($n: Int) { revisions(first: $n) { totalCount } }"
    for value in (huge, -huge, [huge], {"a": huge}):
        answer = API().execute(text, {"n": value}, context=world.context())
        assert plain(answer)["errors"][0]["extensions"] == {"code": "LIMIT_EXCEEDED"}
    answer = API().execute(
        f"{{ revisions(first: 1{'0' * 5_000}) {{ totalCount }} }}", context=world.context()
    )
    assert plain(answer)["errors"][0]["extensions"] == {"code": "LIMIT_EXCEEDED"}


def test_fragments_are_measured_at_each_spread() -> None:
    """Each spread counts at its depth; each fragment is traversed once."""
    parts = [f"fragment F{n} on Query {{ ...F{n + 1} ...F{n + 1} }}" for n in range(60)]
    text = "{ ...F0 } " + " ".join(parts) + " fragment F60 on Query { a: revision { tagName } }"
    assert list(measured(parse(text))) == [Measures(2 * 2**60, 2**60, 2)]


@pytest.mark.parametrize(
    "text",
    [
        "{ ...A } fragment A on Query { ...A }",
        "{ ...A } fragment A on Query { ...B } fragment B on Query { revision { ...C } } "
        "fragment C on Revision { tagName ...A }",
    ],
)
def test_recursive_fragments_are_invalid(world: World, text: str) -> None:
    """They are detected before they are followed."""
    with pytest.raises(FragmentCycle):
        list(measured(parse(text)))
    (error,) = plain(API().execute(text, context=world.context()))["errors"]
    assert error["extensions"] == {"code": "GRAPHQL_VALIDATION_FAILED"}
    assert "within itself" in error["message"]


def test_huge_counts_are_abbreviated() -> None:
    """2^2000 fields are reported as more than 10^15."""
    refusal = bounds.refuse("Fields", 2**2_000, 5)
    assert refusal is not None
    assert refusal["message"] == "Fields: more than 10^15 found, 5 are allowed."


def of_revision(parts: Iterable[str]) -> str:
    """Return a document that selects fields of a revision."""
    return f"{{ revision {{ {' '.join(parts)} }} }}"


FRAGMENTS = " ".join(f"fragment F{n} on Revision {{ tag {{ name }} }}" for n in range(120))
WORST = {
    "equal objects": of_revision(["tag { name }"] * 390),
    "objects that differ below": of_revision(f"tag {{ a{n}: name }}" for n in range(190)),
    "fragments of equal fields": of_revision(f"...F{n}" for n in range(120)) + FRAGMENTS,
    "unknown fields": of_revision(f"tga{n}" for n in range(900)),
    "variables": f"query({' '.join(f'$v{n}: Int' for n in range(390))}) {{ __typename }}",
}


@pytest.mark.parametrize("text", WORST.values(), ids=WORST)
def test_expensive_validation_is_refused(text: str) -> None:
    """Work quadratic in the size of the document ends early, as do unlimited errors."""
    document = API().documents.get(text)
    assert 0 < len(document.errors) <= Limits().max_errors
    assert {error["extensions"]["code"] for error in document.errors} <= {
        "GRAPHQL_VALIDATION_FAILED",
        "TOO_MANY_ERRORS",
    }


def test_fields_may_be_selected_more_than_once() -> None:
    """As by components that each select the fields that they need."""
    text = of_revision(["tagName tag { name } source { kind } ...F"] * 20)
    document = API().documents.get(
        text + " fragment F on Revision { tagName tag { name series { name } } }"
    )
    assert document.errors == ()
