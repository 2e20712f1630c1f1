"""docs/notes.md: it describes all names, variables and filters of templates."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec
import pytest
from msgspec.structs import fields

from snapshots.notes.changelog import Changelog
from snapshots.notes.own_templates import (
    EXAMPLES,
    example_file,
    render_own,
)
from snapshots.notes.templates import HTML, MARKDOWN, variables
from tests.snapshots.notes.stories import BASE, HEAD, log_between

TEXT = (Path(__file__).parents[1] / "docs" / "notes.md").read_text(encoding="utf-8")
NAMES = frozenset(re.findall(r"`([a-z_]+)(?:\([a-z]+\))?`", TEXT))


def structs_of(kind: Any) -> Iterator[type[msgspec.Struct]]:
    """Yield a struct, and all structs in its fields."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        yield kind
        for hint in get_type_hints(kind).values():
            yield from structs_of(hint)
    for argument in get_args(kind):
        yield from structs_of(argument)


STRUCTS = {struct.__name__: struct for struct in structs_of(Changelog)}


@pytest.mark.parametrize("name", sorted(STRUCTS.keys() - {"Source"}))
def test_names_are_documented(name: str) -> None:
    """Those of JSON and of templates."""
    assert {field.encode_name for field in fields(STRUCTS[name])} <= NAMES


def test_variables_and_filters_are_documented() -> None:
    """Exactly those that templates have."""
    assert variables(log_between(BASE, HEAD)).keys() <= NAMES
    assert MARKDOWN.filters.keys() == HTML.filters.keys()
    described = re.findall(r"^\| (`.*?) \|", TEXT.partition("| Filter |")[2], re.M)
    listed = {name for cell in described for name in re.findall(r"`([a-z_]+)", cell)}
    assert listed == MARKDOWN.filters.keys()


def test_built_in_templates_are_documented() -> None:
    """The document names all of them."""
    for name in EXAMPLES:
        assert f"`{name}`" in TEXT
        assert example_file(name).is_file()


def test_example_of_a_template_renders(tmp_path: Path) -> None:
    """It renders unchanged."""
    (template,) = re.findall(r"```jinja\n(.+?)```", TEXT, re.S)
    file = tmp_path / "own.md.jinja"
    file.write_text(template, encoding="utf-8")
    text = render_own(log_between(BASE, HEAD), file)
    assert text.startswith("## Spack build cache: v0.21.0 → v0.22.0\n\nOf 14 specs, ")
    assert text.endswith("- gone: `abinit` 9.10\n")
