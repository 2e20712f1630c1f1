"""Release notes as text: complete, reproducible, with the same contents in every format."""

import re
from pathlib import Path
from typing import Any

import msgspec
import orjson
import pytest
from hypothesis import given
from msgspec.structs import replace

from snapshots.models import Spec, revision_facts
from snapshots.notes.changelog import Changelog, changelog
from snapshots.notes.formats import NotesFormat
from snapshots.notes.sentences import plain
from snapshots.notes.templates import render
from tests.expensive import FEWER_EXAMPLES
from tests.snapshots.changes.graphs import explained
from tests.snapshots.factories import SPECS, a_spec
from tests.snapshots.notes.stories import (
    BASE,
    HEAD,
    as_html,
    as_json,
    as_markdown,
    log_between,
    revision,
)

GOLDEN = Path(__file__).with_name("release-notes.md")
"""The release notes of BASE and HEAD."""


def test_markdown() -> None:
    """Each kind of change has its section and its own kind of line; names sort naturally."""
    assert as_markdown(log_between(BASE, HEAD)) == GOLDEN.read_text("utf-8")


def test_markdown_without_changes() -> None:
    """Empty sections are omitted; synthetic data is marked."""
    text = as_markdown(log_between(BASE, BASE))
    assert "Nothing changed." in text
    assert "## " not in text
    assert "| Packages | 9 | 9 | 0 | 0 | 0 |" in text
    assert "Size" not in text
    assert "Synthetic" not in text
    assert "*Synthetic data" in as_markdown(log_between(BASE, BASE, synthetic=True))


@pytest.mark.parametrize(
    ("before", "after", "sizes", "delta", "sentence"),
    [
        (0, None, "0 B | unknown", "", None),
        (1023, 1024, "1023 B | 1.0 KiB", "+1 B ", "grew by 1 B to 1.0 KiB"),
        (1_048_575, 1 << 30, "1.0 MiB | 1.0 GiB", "+1023.0 MiB ", "grew by 1023.0 MiB to 1.0 GiB"),
        (1 << 20, 1024, "1.0 MiB | 1.0 KiB", "-1023.0 KiB ", "shrank by 1023.0 KiB to 1.0 KiB"),
        (7, 7, "7 B | 7 B", "+0 B ", "is 7 B, as before"),
        (None, 1 << 52, "unknown | 4,096.0 TiB", "", None),
    ],
)
def test_sizes(
    before: int | None, after: int | None, sizes: str, delta: str, sentence: str | None
) -> None:
    """Sizes have the largest unit that fits, and are shown if one of them is available."""
    log = log_between([a_spec(size=before)], [a_spec(size=after)])
    assert f"| Size | {sizes} | | | {delta}|" in as_markdown(log).splitlines()
    texts = [text for text in map(plain, log.highlights) if text.startswith("The size ")]
    assert texts == ([] if sentence is None else [f"The size {sentence}."])


@pytest.mark.parametrize(
    ("stack", "remaining"), [("e4s", "package, version and target"), ("old", "package and version")]
)
def test_what_remains(stack: str, remaining: str) -> None:
    """Targets of a removed stack may be unavailable elsewhere, so they are not named."""
    old = [a_spec("1", stacks=(stack, "root")), a_spec("2", stacks=("e4s", "root"))]
    last = plain(log_between(old, old[1:]).highlights[-1])
    assert last == f"Every {remaining} remains."


def test_unknown_causes() -> None:
    """Without known causes, a sentence with the reason replaces the table."""
    text = as_markdown(log_between([a_spec("1")], [a_spec("2")]))
    section = text.partition("## What caused the replacement\n\n")[2].partition("\n\n## ")[0]
    assert section == (
        "1 spec replaced another.\n\n"
        "The cause of 1 spec is unknown: "
        "the source lists neither dependencies nor package hashes."
    )


def test_html_is_a_page() -> None:
    """The page has its own style, and no scripts, links or images."""
    page = as_html(log_between(BASE, HEAD))
    assert page.startswith('<!DOCTYPE html>\n<html lang="en">\n')
    assert page.endswith("</html>\n")
    assert "<title>Spack build cache: v0.21.0 → v0.22.0</title>" in page
    assert not re.search(r"<(script|link|img|iframe|a)\b|url\(|https?:", page)


def test_json() -> None:
    """The JSON notes have every fact of the Markdown ones, under stable names."""
    log = log_between(BASE, HEAD)
    document = orjson.loads(as_json(log))
    assert [*document] == [*Changelog.__struct_fields__]
    assert document["format"] == 2
    assert document["base"] == orjson.loads(msgspec.json.encode(revision_facts(log.base)))
    assert document["only"] == {"package": None, "stack": None, "matching": None}
    assert document["after"] == {"num_packages": 10, "num_specs": 14, "num_stacks": 2}
    assert document["highlights"][4] == "Three changes reached only their own packages."
    assert (
        document["causes"][1].items()
        >= {
            "key": "version|cmake|3.29.0|3.28.0",
            "kind": "version",
            "title": "cmake 3.29.0 → 3.28.0",
            "facts": [{"path": "version", "before": "3.29.0", "after": "3.28.0"}],
            "num_specs": 1,
        }.items()
    )
    (boost,) = document["packages"]["upgraded"]
    assert (
        boost.items()
        >= {
            "name": "boost",
            "versions_after": ["1.86.0", "1.85.0"],
            "versions_replaced": {"1.84.0": ["1.86.0"]},
            "reasons": {"replaces": 1, "replaced": 1},
            "size_before": None,
        }.items()
    )
    assert document["stacks"] == {
        "added": [{"name": "hep", "num_specs": 4, "num_packages": 3}],
        "removed": [{"name": "old", "num_specs": 1, "num_packages": 1}],
    }
    assert document["stacks_changed"] == 1
    assert as_json(log).endswith("}\n")


def test_hashes_in_json() -> None:
    """Each hash has its reason and its counterpart; unlisted stacks are null, not zero."""
    document = orjson.loads(as_json(log_between(BASE, [replace(spec, stacks=()) for spec in HEAD])))
    sides = (document[name]["num_stacks"] for name in ("base", "before", "head", "after"))
    assert list(sides) == [2, 2, None, None]
    specs = orjson.loads(as_json(log_between(BASE, HEAD)))["specs"]
    assert [len(specs[kind]) for kind in ("added", "removed")] == [8, 7]
    boost, old_boost = specs["added"][0], specs["removed"][1]
    assert [*boost] == ["hash", "name", "version", "reason", "counterpart"]
    assert (boost["counterpart"], old_boost["counterpart"]) == (old_boost["hash"], boost["hash"])
    assert (boost["version"], boost["reason"]) == ("1.86.0", "replaces")
    assert specs["removed"][0]["counterpart"] is None


def test_limit_of_hashes() -> None:
    """Above the limit no hash is listed, and the notes say so."""
    lines = revision("v0.21.0", 0, BASE), revision("v0.22.0", 30, HEAD)
    all_, none = (changelog(*lines, explained(BASE, HEAD), most_specs=most) for most in (15, 14))
    assert len(all_.specs["added"]) == 8 if all_.specs else False
    assert none.specs is None
    for write in (as_markdown, as_html):
        assert "too many to list here" in write(none)
        assert "too many to list here" not in write(all_)
        assert "Added hashes" not in write(none)
    assert orjson.loads(as_json(none))["specs"] is None


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


def lines_of(markdown: str, title: str) -> list[str]:
    """Return the names that a section of the Markdown notes lists, in order."""
    _, _, section = markdown.partition(f"# {title} (")
    section = section.partition("\n#")[0].partition("\n---")[0]
    return [
        name for line in section.splitlines() if line.startswith("- ") for name in _names_in(line)
    ]


def _names_in(line: str) -> list[str]:
    _, is_of_stack, packages = line.partition(" with the stack")
    if is_of_stack:
        return re.findall(r"`([^`]*)`", packages.partition(": ")[2])
    return [line.split("`")[1]]


@FEWER_EXAMPLES
@given(SPECS, SPECS)
def test_all_formats_have_the_same_entries(base: list[Spec], head: list[Spec]) -> None:
    """Sections and their entries are the same in every format, in the same order."""
    log = log_between(base, head)
    markdown, page = as_markdown(log), as_html(log)
    assert_tidy(markdown)
    document = orjson.loads(as_json(log))

    def names(section: list[dict[str, Any]]) -> list[str]:
        return [entry["name"] for entry in section]

    assert {kind: lines_of(markdown, title) for kind, title in TITLES.items()} == {
        kind: names(document["packages"].get(kind, [])) for kind in TITLES
    }
    for kind, title in (("added", "Added stacks"), ("removed", "Removed stacks")):
        assert lines_of(markdown, title) == names(document["stacks"].get(kind, []))
    lost = document["no_longer_available"]
    assert sorted(lines_of(markdown, "Removed packages")) == sorted(names(lost["packages"]))
    assert names(lost["packages"]) == names(document["packages"].get("removed", []))
    assert re.findall(r"^- (.*)$", markdown, re.M) == [
        re.sub(r"</?code>", "`", line) for line in re.findall(r"^<li>(.*)</li>$", page, re.M)
    ]
    titles = re.findall(r"^#+ (.*?)(?: \(|$)", markdown, re.M)
    assert titles == re.findall(r"<h[1-3]>(.*?)(?: <small>.*)?</h", page)


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
    """A folded list has all entries; blank lines keep them Markdown."""
    short, long = as_markdown(many(30)), as_markdown(many(31))
    assert "<summary>30 packages</summary>" not in short
    assert long.count("<summary>31 packages</summary>\n\n- `") == 2
    assert lines_of(long, "Removed packages") == [f"gone{n}" for n in range(31)]
    assert_tidy(long)


def test_smaller_causes_are_counted_and_folded() -> None:
    """The table adds up, and the causes that it omits are below it."""
    text = as_markdown(many(31))
    table, _, folded = text.partition("## What caused")[2].partition("<details>")
    rows = [int(number) for number in re.findall(r"^\| ([0-9]+) \|", table, re.M)]
    assert (len(rows), sum(rows)) == (11, 31)
    assert "| 21 | 21 smaller causes, below | |" in table
    assert "| **31** | | |" in table
    folded = folded.partition("|\n\n</details>")[0]
    assert_tidy(text)
    assert len(re.findall(r"^\| 1 \|", folded, re.M)) == 21


def test_ambiguous_counterparts() -> None:
    """Of equal specs the notes count those that were replaced."""
    base = [a_spec(f"{name}{n}", name=name) for name in "abcdefg" for n in range(2)]
    head = [a_spec(f"{name}2", name=name) for name in "abcdefg"]
    log = log_between(base, head)
    assert orjson.loads(as_json(log))["ambiguous"] == [
        {"package": name, "num_replaced": 1, "num_specs": 2} for name in "abcdefg"
    ]
    listed = ", ".join(f"{{}}{name}{{}} (1 of 2)" for name in "abcde")
    for form, quotes in ((NotesFormat.MARKDOWN, "``"), (NotesFormat.HTML, ("", ""))):
        quoted = listed.format(*[*quotes] * 5)
        text = f"It is unknown which specs replaced which for {quoted} and 2 more."
        assert text in render(log, form)
    assert "It is unknown" not in render(log_between(base, head[:0]), NotesFormat.MARKDOWN)
