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
        parts = re.split(r"^## (.*)$", text, flags=re.M)
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

    def causes(self) -> dict[str, tuple[int, int]]:
        """Return the numbers that each cause accounts for and reached."""
        lines = self.items("What caused the replacements?")
        return dict(map(effect_of, (line for line in lines if "is unknown" not in line)))


def effect_of(line: str) -> tuple[str, tuple[int, int]]:
    """Return a cause, and the numbers of specs that it accounts for and reached."""
    main = r"account(?:s|ed) for ([0-9,]+) specs?"
    match = re.fullmatch(rf"(.*?) (?:{main})?(?: and )?(?:reached ([0-9,]+)(?: specs?)?)?", line)
    assert match is not None, line
    accounts_for = number(match[2] or "0")
    return match[1], (accounts_for, number(match[3]) if match[3] else accounts_for)


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
    """Compare the first sentence and the totals."""
    total = notes.row("Specs")[1]
    named = re.match(r"(?:Of|All) ([0-9,]+) spec", notes.highlights)
    assert named is None or number(named[1]) == total
    rebuilt = notes.count_of("(?:specs )?(?:was|were) rebuilt unchanged")
    replacing = notes.count_of("(?:specs )?(?:replace different ones|replaces a different one)")
    new = notes.count_of("(?:specs )?(?:is|are) new")
    alone = notes.count_of("(?:specs? )?(?:was|were) removed without")
    assert rebuilt + replacing + new == added
    assert alone == removed - rebuilt - replacing
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
    numbers = notes.causes()
    body = "".join(text for title, text in notes.sections.items() if "What caused" in title)
    unknown = re.search(r"The cause of ([0-9,]+) specs? is unknown", body)
    total = re.search(r"^([0-9,]+) specs? replaced", body, re.M)
    main = sum(main for main, _ in numbers.values())
    assert main + number(unknown[1] if unknown else "0") == number(total[1] if total else "0")
    assert all(main <= reached for main, reached in numbers.values())
    sentences = re.findall(
        r"(?<=\. )([^;.]*? accounts for [0-9,]+ specs?(?: and reached [0-9,]+)?)(?=[;.])",
        notes.highlights,
    )
    for cause, both in map(effect_of, sentences):
        assert both == numbers.get(cause, both)
    first = re.search(
        r"which accounts for ([0-9,]+) specs?(?: and reached ([0-9,]+))?[;,.]", notes.highlights
    )
    if first is not None:
        both = number(first[1]), number(first[2] or first[1])
        assert both in numbers.values()
        assert both[1] == max(reached for _, reached in numbers.values())


def assert_losses_agree(notes: NotesReader) -> None:
    """Compare the losses in the highlights with their lists, and those with the causes."""
    lost = re.search(r"([^.]*) (?:is|are) no longer available\.", notes.highlights)
    inside = NotesReader(f"\n\n{lost[1] if lost else ''}\n\n")
    assert inside.count_of("packages?") == len(notes.items("Removed packages"))
    assert inside.count_of("versions?") == len(notes.items("Removed versions"))
    if "Every package remains" in notes.highlights:
        assert not notes.items("Removed packages")
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
