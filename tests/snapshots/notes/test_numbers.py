"""The numbers of release notes, read from their text: none contradicts another."""

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
from tests.snapshots.notes.stories import BASE, HEAD, as_html, as_markdown, told
from tests.snapshots.notes.test_rendering import TITLES

WORDS = "no one two three four five six seven eight nine ten eleven twelve".split()  # noqa: SIM905


def number(text: str) -> int:
    """Return a number in digits, with commas between its thousands."""
    return int(text.replace(",", ""))


class Read:
    """Release notes in Markdown, as a reader finds numbers in them."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.highlights = text.split("\n\n")[1]
        parts = re.split(r"^#{2,3} (.*)$", text, flags=re.M)
        self.sections = dict(zip(parts[1::2], parts[2::2], strict=True))

    def said(self, pattern: str) -> int:
        """Return a number that the highlights say, in digits or words; 0 where they do not."""
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
        """Return the lines of a section, which its heading counts."""
        for heading, body in self.sections.items():
            match = re.fullmatch(rf"{title} \(([0-9,]+)\)", heading)
            if match is not None:
                lines = re.findall(r"^- (.*)$", body, re.M)
                if (
                    "everywhere" not in title
                ):  # there a line is a place, the heading counts packages
                    assert len(lines) == number(match[1]), heading
                return lines
        return []

    def causes(self) -> list[tuple[int, str, int]]:
        """Return the rows of the tables of causes: rebuilt, what, reached."""
        body = self.sections.get("What caused the rebuilds", "")
        rows = re.findall(r"^\| ([0-9,]+) \| (.*) \| ([0-9,]+) \|", body, re.M)
        return [(number(a), what, number(b)) for a, what, b in rows]


def assert_numbers_agree(log: Changelog) -> None:
    """Hold all that two places of the notes say of one thing against each other."""
    read = Read(as_markdown(log))
    before, after, added, removed, _ = read.row("Specs")
    assert after - before == added - removed
    assert_specs_agree(read, added, removed)
    assert_packages_agree(read)
    assert_causes_agree(read)
    assert_losses_agree(read, removed)
    page = unescape(re.sub(r"<[^>]+>", "", as_html(log)))
    assert " ".join(map(plain, log.highlights)) in page
    for title, lines in ((name, read.items(name)) for name in TITLES.values()):
        assert not lines or f"{title} {len(lines):,}" in page


def assert_specs_agree(read: Read, added: int, removed: int) -> None:
    """Hold the first sentence, the totals and the lists of hashes against each other."""
    total = read.row("Specs")[1]
    named = re.match(r"(?:Of|All) ([0-9,]+) spec", read.highlights)
    assert named is None or number(named[1]) == total
    rebuilt = read.said("(?:specs )?(?:was|were) rebuilt unchanged")
    replacing = read.said("(?:specs )?(?:replace different ones|replaces a different one)")
    new = read.said("(?:specs )?(?:is|are) new")
    alone = read.said("(?:specs? )?(?:was|were) removed without")
    assert rebuilt + replacing + new == added
    assert alone == removed - rebuilt - replacing
    came, went = read.items("Added hashes"), read.items("Removed hashes")
    assert (len(came), len(went)) == (added, removed)
    assert sum(" (rebuilt)" in line for line in came) == rebuilt
    assert sum(" (replaces another)" in line for line in came) == replacing
    assert sum("(replaced by `" in line for line in went) == rebuilt + replacing
    took = re.search(r"^([0-9,]+) specs? replaced", read.text, re.M)
    assert (number(took[1]) if took else 0) == rebuilt + replacing


def assert_packages_agree(read: Read) -> None:
    """Hold what became of packages in the highlights, the totals and the sections together."""
    before, after, added, removed, changed = read.row("Packages")
    assert after - before == added - removed
    of_packages = re.search(r"Of the packages, (.*?)\.(?= [A-Z`]|$)", read.highlights)
    inside = Read(f"\n\n{of_packages[1] if of_packages else ''}\n\n")
    counts = {name: len(read.items(title)) for name, title in TITLES.items()}
    assert counts["added"] == added == inside.said("(?:was|were) added")
    assert len(read.items("Removed packages")) == removed == inside.said("(?:was|were) removed")
    assert counts["upgraded"] == inside.said("went up")
    assert counts["downgraded"] == inside.said("went down")
    assert sum(counts.values()) - added == changed


def assert_causes_agree(read: Read) -> None:
    """Hold the two numbers of each cause, in the table and in the highlights, together."""
    rows = read.causes()
    body = read.sections.get("What caused the rebuilds", "")
    unknown = sum(number(n) for n in re.findall(r"^\| ([0-9,]+) \| not known", body, re.M))
    whole = re.search(r"^\| \*\*([0-9,]+)\*\*", body, re.M)
    if whole is not None:
        assert sum(rebuilt for rebuilt, _, _ in rows) + unknown == number(whole[1])
    numbers = {what: (rebuilt, reached) for rebuilt, what, reached in rows}
    assert all(rebuilt <= reached for rebuilt, reached in numbers.values())
    said = re.findall(
        r"; (?!what )([^;]*?) rebuilt ([0-9,]+) specs?(?: and reached ([0-9,]+))?(?=[;.])",
        read.highlights,
    )
    for what, rebuilt, reached in said:
        if what in numbers:
            both = [number(text) for text in (rebuilt, reached or rebuilt)]
            assert (*both,) == numbers[what]
    first = re.search(
        r"which rebuilt ([0-9,]+) specs?(?: and reached ([0-9,]+))?[;,.]", read.highlights
    )
    if first is not None:
        both = [number(text) for text in (first[1], first[2] or first[1])]
        assert (*both,) in numbers.values()
        assert both[1] == max(reached for _, reached in numbers.values())


def assert_losses_agree(read: Read, removed: int) -> None:
    """Hold what is gone in the highlights against the lists of it, and these against causes."""
    assert read.said("hash(?:es)? (?:is|are) gone") == removed
    lost = re.search(r"and with (?:it|them) ([^;]*)", read.highlights)
    inside = Read(f"\n\n{lost[1] if lost else ''}\n\n")
    versions = read.items("Removed versions")
    if removed:
        assert inside.said("packages?") == len(read.items("Removed packages"))
        assert inside.said("versions?") == len(versions)
    if "every package" in read.highlights:
        assert "## No longer available" not in read.text or "### Removed stacks" in read.text
    everywhere = read.said("(?:other )?packages? (?:is|are) no longer built everywhere")
    places = read.items("Packages that are no longer built everywhere")
    assert bool(everywhere) == bool(places)
    steps = {
        tuple(match)
        for _, what, _ in read.causes()
        for match in re.findall(r"`([^`]+)` (\S+) → ", what)
    }
    gone = {tuple(re.findall(r"^`([^`]+)` (\S+) ", line)[0]) for line in versions}
    assert not steps & gone


@pytest.mark.parametrize("dates", [*permutations(real.dates(), 2)])
def test_numbers_of_real_weeks(dates: Sequence[str]) -> None:
    """Forth and back."""
    (old, outside), (new, beside) = (real.records(date, real.STACKS) for date in dates)
    beyond = {spec.hash: spec for spec in (*outside, *beside)}
    assert_numbers_agree(told(old, new, beyond.values()))


def test_numbers_where_stacks_come_and_go() -> None:
    """What went with a stack fell nowhere, and what came with one rose nowhere."""
    (every, outside), (some, beside) = (
        real.records(real.dates()[-1], stacks) for stacks in (real.STACKS, real.STACKS[:1])
    )
    beyond = {spec.hash: spec for spec in (*outside, *beside)}
    for sides in ((every, some), (some, every)):
        assert_numbers_agree(told(*sides, beyond.values()))
    assert "downgraded" not in told(every, some, beyond.values()).packages


def test_numbers_of_another_format() -> None:
    """A cache whose hashes are all other ones, for a single reason."""
    date = real.dates()[-1]
    old, new = (real.records(date, ("e4s",), in_format_6=anew)[0] for anew in (False, True))
    assert_numbers_agree(told(old, new))


@pytest.mark.untraced
@FEWER_EXAMPLES
@given(SPECS, SPECS)
@example(BASE, HEAD)
@example(HEAD, BASE)
@example(BASE, [])
def test_numbers_of_any_contents(base: list[Spec], head: list[Spec]) -> None:
    """Whatever changed."""
    assert_numbers_agree(told(base, head))
