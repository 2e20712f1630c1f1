"""User templates: sandboxed, strict, with errors that name file and line."""

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from msgspec.structs import replace

from snapshots.changes.scope import ComparisonFilter
from snapshots.errors import SourceError
from snapshots.models import Spec
from snapshots.notes.own_templates import EXAMPLES, render_example, render_own
from snapshots.notes.sentences import markdown
from snapshots.notes.templates import values
from tests.expensive import FEWER_EXAMPLES
from tests.snapshots.factories import SPECS, a_revision, a_spec, digest_of
from tests.snapshots.notes.stories import BASE, HEAD, log_between
from tests.snapshots.notes.test_rendering import assert_tidy

LOG = log_between(BASE, HEAD)

LONGEST_RELEASE = 125_000
"""Maximum length of the text of a release on GitHub, in characters."""


def fill(folder: Path, text: str, name: str = "own.md.jinja") -> str:
    """Render a template with this text."""
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return render_own(LOG, file)


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("a\n\n{{ nothing }}", 3, "'nothing' is undefined"),
        ("a\n{{ base.nothing }}", 2, "has no attribute 'nothing'"),
        ("a\n{% for x in sections %}", 2, "Unexpected end of template"),
        ("{{ 1 / 0 }}", 1, "ZeroDivisionError: division by zero"),
        ("{{ ''.__class__ }}", 1, "access to attribute '__class__' of 'str' object is unsafe"),
        (
            "{{ highlights.append(1) }}",
            1,
            "access to attribute 'append' of 'list' object is unsafe",
        ),
        ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", 1, "RecursionError"),
        ("\n{% include 'beside.md' %}", 2, "there is no template 'beside.md'"),
        ("\n{% include '../own.md.jinja' %}", 2, "there is no template '../own.md.jinja'"),
        ("\n{{ range(100001) }}", 2, "OverflowError: Range too big"),
        ("{{ '\\ud800' }}", None, "writes what is not a character: U+D800"),
    ],
)
def test_errors_name_file_line_and_reason(
    tmp_path: Path, text: str, line: int | None, reason: str
) -> None:
    """The error has the file, the line from 1, and the reason."""
    with pytest.raises(SourceError) as caught:
        fill(tmp_path, text)
    assert (caught.value.location, caught.value.line) == (str(tmp_path / "own.md.jinja"), line)
    assert reason in caught.value.reason


def test_unreadable_files(tmp_path: Path) -> None:
    """The error has the system's reason, the invalid byte, or the included file with its line."""
    (tmp_path / "latin").write_bytes("grün".encode("latin-1"))
    (tmp_path / "part.md").write_text("\n\n{{ nothing }}")
    (tmp_path / "whole.md").write_text("{% include 'part.md' %}")
    for name, expected, reason in (
        ("nothing", ("nothing", None), "No such file or directory"),
        ("", ("", None), "Is a directory"),
        ("latin", ("latin", None), "is not UTF-8 at byte 3"),
        ("whole.md", ("part.md", 3), "'nothing' is undefined"),
    ):
        with pytest.raises(SourceError, match=reason) as caught:
            render_own(LOG, tmp_path / name)
        assert (caught.value.location, caught.value.line) == (
            str(tmp_path / expected[0]),
            expected[1],
        )


def test_chat_example() -> None:
    """The message has the title and the highlights."""
    highlights = "".join(f"- {markdown(sentence)}\n" for sentence in LOG.highlights)
    text = f"**Spack build cache: v0.21.0 → v0.22.0**\n\n{highlights}"
    assert render_example(LOG, "chat") == text


@pytest.mark.parametrize("name", EXAMPLES)
@FEWER_EXAMPLES
@given(base=SPECS, head=SPECS)
def test_examples_of_any_contents(name: str, base: list[Spec], head: list[Spec]) -> None:
    """Examples render any contents without an error, and tidily."""
    assert_tidy(render_example(log_between(base, head), name))


def test_github_release_example() -> None:
    """Every package of every section is listed."""
    text = render_example(LOG, "github-release")
    assert text.startswith("- The stack `hep` with 4 specs was added.\n")
    lines = [line for section in LOG.sections.values() for line in section.lines]
    assert all(f"\n- {markdown(line)}\n" in text for line in lines)
    assert "- 1 package with the stack `old`: `abinit`\n" in text
    assert "Left out" not in text


def test_github_release_example_is_bounded() -> None:
    """The most important sections come first; omitted entries are counted."""
    length, count = 150, 900
    names = [f"{'p' * length}{number}" for number in range(count)]
    old = [a_spec(f"o{n}", name=name, version="1") for n, name in enumerate(names)]
    old += [a_spec(f"g{n}", name=f"gone{n}", version="1") for n in range(100)]
    new = [a_spec(f"n{n}", name=name, version="2") for n, name in enumerate(names)]
    text = render_example(log_between(old, new), "github-release")
    assert 0.9 * LONGEST_RELEASE < len(text) <= LONGEST_RELEASE
    assert all(f"- `gone{n}` 1 (1 spec)\n" in text for n in range(100))
    assert text.count("<details>") == text.count("</details>") > 0
    shown = len(re.findall(r"^- `p+[0-9]+` 1 → 2$", text, re.M))
    (left_out,) = re.findall(r"([0-9,]+) packages? of “Upgraded packages”", text)
    assert shown + int(left_out.replace(",", "")) == count
    assert_tidy(text)


# -- the variables of templates


@pytest.mark.parametrize(
    ("base", "head", "title"),
    [
        (("v1", 1), ("v2", 1), "v1 → v2"),
        (("develop", 0), ("develop", 7), "develop (2025-01-05) → develop (2025-01-12)"),
        (
            ("develop", 0, "a"),
            ("develop", 0, "b"),
            f"develop ({digest_of('a')[:12]}) → develop ({digest_of('b')[:12]})",
        ),
    ],
)
def test_title_of_two_revisions(base: Any, head: Any, title: str) -> None:
    """Revisions are told apart by tag, else by day as well, else by digest."""
    log = replace(LOG, base=a_revision(*base), head=a_revision(*head))
    assert markdown(values(log)["title"]) == f"Spack build cache: {title}"


def test_title_of_a_scope() -> None:
    """The scope has the words of the options."""
    only = ComparisonFilter(package="hdf5", stack="e4s", matching="hdf5+mpi")
    assert markdown(values(replace(LOG, only=only))["title"]) == (
        "Spack build cache: v0.21.0 → v0.22.0, stack `e4s`, package `hdf5`, "
        "specs that match `hdf5+mpi`"
    )
