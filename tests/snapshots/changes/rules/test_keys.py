"""The reader of rules and their JSON schema accept the same rules."""

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots.changes.rules.measures import MEASURES
from snapshots.changes.rules.rules import (
    DIMENSIONS,
    KEYS,
    SCHEMA_FILE,
    BadRule,
    Forbidden,
    read_rule,
)

SCHEMA = json.loads(SCHEMA_FILE.read_text("utf-8"))
VALIDATOR = jsonschema.Draft7Validator(SCHEMA)

TEXTS = st.sampled_from(("", "a", "e4s", "py-*", "x" * 200, "x" * 201))
LISTS = st.lists(st.one_of(TEXTS, st.integers(0, 3)), max_size=3)
OTHERS: st.SearchStrategy[Any] = st.sampled_from((True, 1.5, {}, [], None, -1))
AMOUNTS = st.one_of(
    st.integers(-1, 10**15 + 1),
    st.sampled_from(("5 %", "5%", "100 %", "100.0 %", "100.1%", "101 %", "5  %", "0.1234567 %")),
    st.sampled_from(("20 GiB", "1.5KiB", "3 B", "3 GB", "7", "07", "", "1e3", "5 percent", "-5 %")),
)
QUERIES = st.sampled_from(("hdf5+mpi", "hdf5", "zlib@1.3: %gcc", "x" * 2_000))
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "name": TEXTS,
    "level": st.sampled_from(("error", "warning", "info")),
    "forbid": st.sampled_from((*(kind.value for kind in Forbidden), "x")),
    "require": QUERIES,
    "limit": st.sampled_from((*MEASURES, "x")),
    "cover": st.sampled_from(("spack.lock", "", "a/b")),
    "for-each": st.lists(st.sampled_from((*DIMENSIONS, "x")), max_size=3),
    "at-most": AMOUNTS,
    "at-least": AMOUNTS,
    "stack": TEXTS,
    "package": st.one_of(TEXTS, LISTS),
    "matching": QUERIES,
    "except": st.one_of(TEXTS, LISTS),
}


@st.composite
def rules(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a rule: usually of one kind, with few keys, and valid values."""
    kinds = draw(st.lists(st.sampled_from(("forbid", "require", "limit", "cover")), min_size=1))
    names = {"name", *kinds[: draw(st.sampled_from((1, 1, 1, 2)))]}
    names |= {*draw(st.lists(st.sampled_from([*KEYS]), max_size=3))}
    rule = {name: draw(VALUES[name]) for name in sorted(names)}
    odd = draw(st.sampled_from((None,) * 9 + (*VALUES, "color")))
    return rule if odd is None else rule | {odd: draw(OTHERS)}


def is_valid(rule: dict[str, Any]) -> bool:
    """Return whether the reader accepts a rule."""
    try:
        read_rule(rule, lambda _path: ())
    except BadRule:
        return False
    return True


@given(rule=rules())
def test_schema_and_reader_agree(rule: dict[str, Any]) -> None:
    """The schema accepts a rule if, and only if, the reader does, for valid queries."""
    assert VALIDATOR.is_valid({"rule": [rule]}) is is_valid(rule)


def test_schema_is_valid() -> None:
    """The schema is valid in the draft that it names."""
    jsonschema.Draft7Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("document", [{}, {"rule": []}, {"rule": {}}, {"rules": []}])
def test_invalid_documents(document: dict[str, Any]) -> None:
    """A document has a list of rules, and no other keys."""
    assert not VALIDATOR.is_valid(document)
