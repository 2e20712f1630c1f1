"""docs/notes.md: it describes the variables and filters of templates."""

import re
from pathlib import Path

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


def test_variables_and_filters_are_documented() -> None:
    """Exactly those that templates have."""
    assert variables(log_between(BASE, HEAD)).keys() <= NAMES | {*Changelog.__struct_fields__}
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
    assert text.startswith("## Spack build cache: v0.21.0 → v0.22.0\n\nThe stack ")
    assert text.endswith("- gone: `abinit` 9.10\n")
