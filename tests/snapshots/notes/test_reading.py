"""Release notes can be read aloud: short sentences in plain words, without grammatical slips."""

import re
from itertools import permutations

import pytest
from hypothesis import example, given

from snapshots.models import Spec
from snapshots.notes.changelog import Changelog
from snapshots.notes.own_templates import EXAMPLES, render_example
from snapshots.notes.sentences import plain
from tests.expensive import FEWER_EXAMPLES
from tests.model import real
from tests.snapshots.factories import SPECS, a_spec
from tests.snapshots.notes.stories import BASE, HEAD, as_markdown, log_between
from tests.snapshots.notes.test_commits import a_commit, log_of

LONGEST = 60
"""Maximum number of words in a sentence: with a list of four names, each with two versions."""

SLIPS = {
    "a plural after one": r"\b(?:1|[Oo]ne) (?:more |other |smaller )?"
    r"(?:others|ones|specs|packages|causes|hashes|versions|stacks|commits|changes|replacements)\b",
    "a singular after several": r"\b(?:[02-9]|[1-9][0-9]+) (?:more |other |smaller )?"
    r"(?:spec|package|cause|hash|version|stack|commit|change|replacement)\b",
    "words of the trade": r"add up|by date|size class|\broots?\b(?!,)",
    "a number of another site": r"(?<![\w\]\[])#[0-9]",
    "an empty list": r"\(\s*\)|: *\.|, *[.,;]|  +(?=\S)",
}


def assert_readable(log: Changelog) -> None:
    """Assert that a person can read the notes aloud."""
    for sentence in log.highlights:
        text = plain(sentence)
        assert text.endswith(".")
        assert text[0].isupper() or not text[0].isalpha() or sentence.pieces[0] != text
        assert len(text.split()) <= LONGEST, text
        assert text.count(";") <= 1, text
    notes = as_markdown(log)
    headings = re.findall(r"^#+ (.*?)(?: \([0-9,]+\))?$", notes, re.M)
    assert len(headings) == len({*headings})
    one_cause = log.summary.specs_rebuilt + log.summary.specs_replaced == 1
    assert ("What caused the replacements" in headings) <= (not one_cause)
    own_words = re.sub(r"`+[^`]*`+", "x", notes)
    for text in (own_words, *map(plain, log.highlights)):
        for what, pattern in SLIPS.items():
            match = re.search(pattern, text)
            assert match is None, f"{what}: {text[max(0, match.start() - 60) :][:120]!r}"


@FEWER_EXAMPLES
@given(SPECS, SPECS)
@example(BASE, HEAD)
@example(HEAD, BASE)
@example(BASE, [])
@example([a_spec("1", version="1")], [a_spec("2", version="2")])
def test_notes_of_any_contents(base: list[Spec], head: list[Spec]) -> None:
    """Whatever changed, and however little."""
    assert_readable(log_between(base, head))


@pytest.mark.parametrize("dates", [*permutations(real.dates(), 2)])
@pytest.mark.parametrize("stacks", [real.STACKS, real.STACKS[:1]])
def test_notes_of_real_weeks(dates: tuple[str, str], stacks: tuple[str, ...]) -> None:
    """In both directions, with a stack that goes as well."""
    (old, outside), (new, others) = real.records(dates[0]), real.records(dates[1], stacks)
    known = {spec.hash: spec for spec in (*outside, *others)}
    assert_readable(log_between(old, new, known.values()))


def test_notes_with_commits() -> None:
    """With one, and with several of a cause."""
    for commits in ([a_commit()], [a_commit(), a_commit("gettext: another (#5280)")]):
        assert_readable(log_of(*commits))


def test_lost_stack_is_one_event() -> None:
    """It comes first, and what it took along is one line, not one a package."""
    stack = ("lost", "root")
    gone = [a_spec(f"g{number}", name=f"gone{number}", stacks=stack) for number in range(20)]
    log = log_between([*BASE, *gone], BASE)
    notes = as_markdown(log)
    assert plain(log.highlights[0]).startswith("The stack lost")
    (line,) = [line for line in notes.splitlines() if "`gone7`" in line]
    assert line.startswith("- 20 packages with the stack `lost`: `gone0`, `gone1`, ")


def test_open_part_of_a_release() -> None:
    """The text before and between folded lists is short, however much changed."""
    base = [a_spec(f"o{n}", name=f"a-package-with-a-name-{n}", version="1") for n in range(900)]
    head = [a_spec(f"n{n}", name=f"a-package-with-a-name-{n}", version="2") for n in range(450)]
    for example_name in EXAMPLES:
        text = render_example(log_between(base, head), example_name)
        opened = re.sub(r"<details>.*?</details>", "", text, flags=re.S)
        assert len(opened.encode()) <= 10_000
