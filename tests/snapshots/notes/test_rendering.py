"""Release notes as text: complete, reproducible, with the same contents in every format."""

import re
from pathlib import Path

import pytest
from hypothesis import given

from snapshots.models import Spec
from snapshots.notes.changelog import Changelog
from snapshots.notes.sections import MAX_CAUSES
from snapshots.notes.sentences import html, markdown, plain
from tests.expensive import FEWER_EXAMPLES
from tests.snapshots.factories import SPECS, a_spec
from tests.snapshots.notes.stories import (
    BASE,
    HEAD,
    as_html,
    as_markdown,
    log_between,
)

GOLDEN = Path(__file__).with_name("release-notes.md")
"""The release notes of BASE and HEAD."""


def test_markdown() -> None:
    """Each kind of change has its section and its own kind of line; names sort naturally."""
    assert as_markdown(log_between(BASE, HEAD)) == GOLDEN.read_text("utf-8")


def test_markdown_without_changes() -> None:
    """Empty sections are omitted; synthetic data is marked."""
    text = as_markdown(log_between(BASE, BASE))
    assert "- No spec was added, removed or changed.\n" in text
    assert "## " not in text
    assert "| Packages | 9 | 9 | 0 | 0 | 0 |" in text
    assert "Size" not in text
    assert "Synthetic" not in text
    assert "*Synthetic data" in as_markdown(log_between(BASE, BASE, synthetic=True))


@pytest.mark.parametrize(
    ("before", "after", "sizes", "delta", "sentence"),
    [
        (0, None, "0 B | unknown", "", None),
        (1023, 1024, "1023 B | 1.0 KiB", "+1 B", "grew by 1 B to 1.0 KiB"),
        (1_048_575, 1 << 30, "1.0 MiB | 1.0 GiB", "+1023.0 MiB", "grew by 1023.0 MiB to 1.0 GiB"),
        (1 << 20, 1024, "1.0 MiB | 1.0 KiB", "-1023.0 KiB", "shrank by 1023.0 KiB to 1.0 KiB"),
        (7, 7, "7 B | 7 B", "+0 B", "is 7 B, as before"),
        (None, 1 << 52, "unknown | 4,096.0 TiB", "", None),
    ],
)
def test_sizes(
    before: int | None, after: int | None, sizes: str, delta: str, sentence: str | None
) -> None:
    """Sizes have the largest unit that fits, and are shown if one of them is available."""
    log = log_between([a_spec(size=before)], [a_spec(size=after)])
    assert (
        f"| Size | {sizes} | | |{f' {delta}' if delta else ''} |" in as_markdown(log).splitlines()
    )
    texts = [text for text in map(plain, log.highlights) if text.startswith("The size ")]
    assert texts == ([] if sentence is None else [f"The size {sentence}."])


def test_unknown_causes() -> None:
    """Without known causes, a sentence with the reason replaces the table."""
    text = as_markdown(log_between([a_spec("1")], [a_spec("2")]))
    section = text.partition("## What caused the replacement (1)\n\n")[2].partition("\n\n## ")[0]
    assert section == (
        "1 spec replaced another.\n\n"
        "- The cause of 1 spec is unknown: "
        "the source lists neither dependencies nor package hashes."
    )


def test_html_is_a_page() -> None:
    """The page has its own style, and no scripts, links or images."""
    page = as_html(log_between(BASE, HEAD))
    assert page.startswith('<!DOCTYPE html>\n<html lang="en">\n')
    assert page.endswith("</html>\n")
    assert "<title>Spack build cache: v0.21.0 → v0.22.0</title>" in page
    assert not re.search(r"<(script|link|img|iframe|a)\b|url\(|https?:", page)


TITLES = {
    "added": "Added packages",
    "upgraded": "Upgraded packages",
    "downgraded": "Downgraded packages",
    "versions_changed": "Other version changes",
    "builds_changed": "Packages with other builds",
    "more_builds": "Packages with more builds",
    "fewer_builds": "Packages with fewer builds",
    "changed": "Changed facts",
}


@FEWER_EXAMPLES
@given(SPECS, SPECS)
def test_all_formats_have_the_same_entries(base: list[Spec], head: list[Spec]) -> None:
    """Sections and their entries are the same in every format, in the same order."""
    log = log_between(base, head)
    text, page = as_markdown(log), as_html(log)
    assert_tidy(text)
    lines = [*log.highlights, *(line for it in log.sections.values() for line in it.lines)]
    assert re.findall(r"^- (.*)$", text, re.M) == [*map(markdown, lines)]
    assert re.findall(r"^<li>(.*)</li>$", page, re.M) == [*map(html, lines)]
    titles = re.findall(r"^#+ (.*?)(?: \(|$)", text, re.M)
    assert titles == re.findall(r"<h[12]>(.*?)(?: <small>.*)?</h", page)
    assert titles[1:] == [it.title for it in log.sections.values() if it.lines]


def assert_tidy(text: str) -> None:
    """Assert that there are no double blank lines or trailing spaces, and one final newline."""
    assert "\n\n\n" not in text
    assert all(line == line.rstrip() for line in text.split("\n"))
    assert text.strip() + "\n" == text


def many(count: int) -> Changelog:
    """Return the changelog of ``count`` upgraded and as many removed packages."""
    old = [a_spec(f"u{n}", name=f"up{n}", version="1") for n in range(count)]
    old += [a_spec(f"g{n}", name=f"gone{n}", version="1") for n in range(count)]
    return log_between(old, [a_spec(f"v{n}", name=f"up{n}", version="2") for n in range(count)])


def test_long_lists_are_folded() -> None:
    """Ten lines are shown, the others folded; blank lines keep them Markdown."""
    short, long = as_markdown(many(30)), as_markdown(many(31))
    assert "<details>" not in short
    assert long.count("\n\n<details>\n<summary>21 more packages</summary>\n\n- `") == 1
    assert long.count("<summary>21 more causes</summary>\n\n- `") == 1
    assert long.count("\n\n</details>\n") == 3
    assert [f"- `gone{n}` 1 (1 spec)" for n in range(31)] == re.findall("- `gone.*", long)
    assert_tidy(long)


def test_many_causes_are_counted() -> None:
    """Those beyond the first ones share a line, so that the numbers still add up."""
    (*lines, rest) = many(MAX_CAUSES + 10).sections["causes"].lines
    assert len(lines) == MAX_CAUSES
    assert plain(rest) == "10 more causes accounted for 10 specs"
