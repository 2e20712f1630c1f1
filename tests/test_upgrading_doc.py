"""docs/upgrading.md: what it promises is what the code does."""

import re

from graphql import build_schema

from schema import api
from server.cli import FAULT, INTERRUPTED, UNREAD
from server.commands.imports import _NOT_NOTIFIED
from snapshots.catalog.revisions_table import FORMAT
from snapshots.errors import NewerCatalog
from tests.test_docs import DOCUMENTS

TEXT = DOCUMENTS["upgrading.md"]


def test_the_format_and_what_an_older_program_says() -> None:
    """Of the next number, in one line."""
    assert f"#the-format), now {FORMAT}." in TEXT
    refusal = NewerCatalog("/srv/catalog", str(FORMAT + 1), FORMAT)
    assert f"```text\ncachelog: {refusal}\n```" in TEXT


def test_exit_codes_are_those_of_the_code() -> None:
    """Each of them once, beside success and wrong usage."""
    (row,) = re.findall(r"^\| Exit codes \|.*$", TEXT, re.MULTILINE)
    codes = [*map(int, re.findall(r"\b\d+\b", row))]
    assert codes == [0, FAULT, 2, _NOT_NOTIFIED, INTERRUPTED, UNREAD]


def test_what_is_deprecated_names_its_successor() -> None:
    """Another field, argument or value of the same type or field, which is not deprecated."""
    schema = build_schema(api.sdl())
    for type_ in schema.type_map.values():
        parts = [getattr(type_, "fields", {}), getattr(type_, "values", {})]
        parts += [getattr(it, "args", {}) for it in parts[0].values()]
        for part in parts:
            for name, member in part.items():
                if reason := member.deprecation_reason:
                    named = re.match(r"Use `(\w+)`", reason)
                    assert named, (type_.name, name)
                    assert part[named[1]].deprecation_reason is None, (type_.name, name)
