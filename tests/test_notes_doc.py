"""docs/notes.md: it describes the values and filters of templates."""

import re
from pathlib import Path

from snapshots.notes.own_templates import (
    EXAMPLES,
    example_file,
    render_own,
)
from snapshots.notes.templates import FILTERS, values
from tests.snapshots.notes.stories import BASE, HEAD, log_between

TEXT = (Path(__file__).parents[1] / "docs" / "notes.md").read_text(encoding="utf-8")


def test_values_and_filters_are_documented() -> None:
    """Exactly those that templates have, and the keys of sections."""
    given = values(log_between(BASE, HEAD))
    described = names_in_table("| Value |")
    assert given.keys() <= described
    assert given["sections"].keys() <= described
    assert names_in_table("| Filter |") == FILTERS.keys()


def names_in_table(heading: str) -> set[str]:
    """Return the names in code in the rows of a table."""
    rows = TEXT.partition(heading)[2].partition("\n\n")[0].splitlines()[1:]
    return {name for row in rows for name in re.findall(r"`([a-z_]+)[`(]", row)}


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
    assert text.endswith("- gone: 1 package with the stack `old`: `abinit`\n")
