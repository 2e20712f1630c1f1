"""The numbers of release notes, read from their text, are consistent."""

import re
from collections.abc import Sequence
from html import unescape
from itertools import permutations

import pytest
from hypothesis import example, given

from snapshots.models import Spec
from snapshots.notes.changelog import Changelog
from snapshots.notes.sentences import plain
from tests.expensive import FEWER_EXAMPLES
from tests.model import real
from tests.snapshots.factories import SPECS
from tests.snapshots.notes.stories import BASE, HEAD, as_html, as_markdown, log_between
from tests.snapshots.notes.test_rendering import TITLES

WORDS = "no one two three four five six seven eight nine ten eleven twelve".split()  # noqa: SIM905


def number(text: str) -> int:
    """Return a number in digits, with commas between its thousands."""
    return int(text.replace(",", ""))


class NotesReader:
    """Release notes in Markdown, with the numbers that a reader sees."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.highlights = text.split("\n\n")[1].removeprefix("- ").replace("\n- ", " ")
        parts = re.split(r"^#{2,3} (.*)$", text, flags=re.M)
        self.sections = dict(zip(parts[1::2], parts[2::2], strict=True))

    def count_of(self, pattern: str) -> int:
        """Return a number of the highlights, in digits or words; 0 if there is none."""
        match = re.search(rf"([0-9,]+|\b[a-z]+) {pattern}", self.highlights, re.IGNORECASE)
        if match is None:
            return 0
        word = match[1].lower()
        return WORDS.index(word) if word in WORDS else number(word)

    def row(self, name: str) -> list[int]:
        """Return a row of the table of totals: before, after, added, removed, changed."""
        (cells,) = re.findall(rf"^\| {name} \| (.*) \|$", self.text, re.M)
        return [number(cell) for cell in cells.split(" | ")]

    def items(self, title: str) -> list[str]:
        """Return the lines of a section, whose number its heading states."""
        for heading, body in self.sections.items():
            match = re.fullmatch(rf"{title} \(([0-9,]+)\)", heading)
            if match is not None:
                lines = re.findall(r"^- (.*)$", body, re.M)
                for line in [line for line in lines if " with the stack" in line]:
                    # What a stack took along is in one line.
                    lines += re.split(r", (?=`)", line.partition(": ")[2])
                    lines.remove(line)
                if "everywhere" not in title:  # whose lines are cells, counted by package
                    assert len(lines) == number(match[1]), heading
                return lines
        return []

    def causes(self) -> list[tuple[int, str, int]]:
        """Return the rows of the tables of causes: rebuilt, what, reached."""
        body = self.sections.get("What caused the replacements", "")
        rows = re.findall(r"^\| ([0-9,]+) \| (.*) \| ([0-9,]+) \|", body, re.M)
        return [(number(a), cause, number(b)) for a, cause, b in rows]


def assert_numbers_agree(log: Changelog) -> None:
    """Assert that numbers are equal wherever the notes repeat them."""
    notes = NotesReader(as_markdown(log))
    before, after, added, removed, _ = notes.row("Specs")
    assert after - before == added - removed
    assert_specs_agree(notes, added, removed)
    assert_packages_agree(notes)
    assert_causes_agree(notes)
    assert_losses_agree(notes)
    page = unescape(re.sub(r"<[^>]+>", "", as_html(log)))
    assert "\n".join(map(plain, log.highlights)) in page


def assert_specs_agree(notes: NotesReader, added: int, removed: int) -> None:
    """Compare the first sentence, the totals and the lists of hashes."""
    total = notes.row("Specs")[1]
    named = re.match(r"(?:Of|All) ([0-9,]+) spec", notes.highlights)
    assert named is None or number(named[1]) == total
    rebuilt = notes.count_of("(?:specs )?(?:was|were) rebuilt unchanged")
    replacing = notes.count_of("(?:specs )?(?:replace different ones|replaces a different one)")
    new = notes.count_of("(?:specs )?(?:is|are) new")
    alone = notes.count_of("(?:specs? )?(?:was|were) removed without")
    assert rebuilt + replacing + new == added
    assert alone == removed - rebuilt - replacing
    new_lines, old_lines = notes.items("Added hashes"), notes.items("Removed hashes")
    assert (len(new_lines), len(old_lines)) == (added, removed)
    assert sum(" (rebuilt)" in line for line in new_lines) == rebuilt
    assert sum(" (replaces another)" in line for line in new_lines) == replacing
    assert sum("(replaced by `" in line for line in old_lines) == rebuilt + replacing
    match = re.search(r"^([0-9,]+) specs? replaced", notes.text, re.M)
    assert (number(match[1]) if match else 0) == rebuilt + replacing


def assert_packages_agree(notes: NotesReader) -> None:
    """Compare the packages of the highlights, the totals and the sections."""
    before, after, added, removed, changed = notes.row("Packages")
    assert after - before == added - removed
    of_packages = re.search(r"Of the packages, (.*?)\.(?= [A-Z`]|$)", notes.highlights)
    inside = NotesReader(f"\n\n{of_packages[1] if of_packages else ''}\n\n")
    counts = {name: len(notes.items(title)) for name, title in TITLES.items()}
    assert counts["added"] == added == inside.count_of("(?:was|were) added")
    assert (
        len(notes.items("Removed packages")) == removed == inside.count_of("(?:was|were) removed")
    )
    assert counts["upgraded"] == inside.count_of("(?:was|were) upgraded")
    assert counts["downgraded"] == inside.count_of("(?:was|were) downgraded")
    assert sum(counts.values()) - added == changed


def assert_causes_agree(notes: NotesReader) -> None:
    """Compare the two numbers of each cause in the table and in the highlights."""
    rows = notes.causes()
    body = notes.sections.get("What caused the replacements", "")
    unknown = sum(number(n) for n in re.findall(r"^\| ([0-9,]+) \| not known", body, re.M))
    total = re.search(r"^\| \*\*([0-9,]+)\*\*", body, re.M)
    if total is not None:
        assert sum(rebuilt for rebuilt, _, _ in rows) + unknown == number(total[1])
    numbers = {cause: (rebuilt, reached) for rebuilt, cause, reached in rows}
    assert all(rebuilt <= reached for rebuilt, reached in numbers.values())
    sentences = re.findall(
        r"(?<=\. )([^;]*?) accounts for ([0-9,]+) specs?(?: and reached ([0-9,]+))?(?=[;.])",
        notes.highlights,
    )
    for cause, rebuilt, reached in sentences:
        if cause in numbers:
            both = [number(text) for text in (rebuilt, reached or rebuilt)]
            assert (*both,) == numbers[cause]
    first = re.search(
        r"which accounts for ([0-9,]+) specs?(?: and reached ([0-9,]+))?[;,.]", notes.highlights
    )
    if first is not None and not numbers:  # the only cause, which needs no table
        assert number(first[1]) == number(
            re.findall(r"^([0-9,]+) specs? repl", notes.text, re.M)[0]
        )
    elif first is not None:
        both = [number(text) for text in (first[1], first[2] or first[1])]
        assert (*both,) in numbers.values()
        assert both[1] == max(reached for _, reached in numbers.values())


def assert_losses_agree(notes: NotesReader) -> None:
    """Compare the losses in the highlights with their lists, and those with the causes."""
    lost = re.search(r"([^.]*) (?:is|are) no longer available\.", notes.highlights)
    inside = NotesReader(f"\n\n{lost[1] if lost else ''}\n\n")
    assert inside.count_of("packages?") == len(notes.items("Removed packages"))
    assert inside.count_of("versions?") == len(notes.items("Removed versions"))
    if "Every package" in notes.highlights:
        assert "## No longer available" not in notes.text or "### Removed stacks" in notes.text
    everywhere = notes.count_of("(?:other )?packages? (?:is|are) no longer built everywhere")
    cells = notes.items("Packages that are no longer built everywhere")
    assert bool(everywhere) == bool(cells)


@pytest.mark.parametrize("dates", [*permutations(real.dates(), 2)])
def test_numbers_of_real_weeks(dates: Sequence[str]) -> None:
    """Numbers are consistent in both directions."""
    (old, outside), (new, other_outside) = (real.records(date, real.STACKS) for date in dates)
    outside_specs = {spec.hash: spec for spec in (*outside, *other_outside)}
    assert_numbers_agree(log_between(old, new, outside_specs.values()))


@FEWER_EXAMPLES
@given(SPECS, SPECS)
@example(BASE, HEAD)
@example(HEAD, BASE)
@example(BASE, [])
def test_numbers_of_any_contents(base: list[Spec], head: list[Spec]) -> None:
    """Numbers are consistent for any changes."""
    assert_numbers_agree(log_between(base, head))
