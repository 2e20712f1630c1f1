"""Texts from outside in messages: seen, in one line, and short."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots.errors import SourceError
from snapshots.sources.reports import Report
from snapshots.wording import is_plain, quoted, shortened, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("gcc@13 ü 日本", "gcc@13 ü 日本"),
        ("a\nb", r"a\x0ab"),
        ("\x1b[31m", r"\x1b[31m"),
        ("\u202etxt", r"\u202etxt"),
        ("a\u3164", r"a\u3164"),
        ("\U000e0041", r"\U000e0041"),
        ("\ud800", r"\ud800"),
    ],
)
def test_what_is_not_seen_is_written_out(text: str, shown: str) -> None:
    """The rest stays as it is."""
    assert visible(text) == shown


@given(st.text())
def test_visible_texts_are_plain(text: str) -> None:
    """Nothing that acts on a terminal is left, and it can be encoded."""
    assert is_plain(visible(text))
    visible(text).encode()


@given(st.text(min_size=1, max_size=300))
def test_quotes(text: str) -> None:
    """A quote is short and plain, however long and odd the text is."""
    assert is_plain(quoted(text))
    assert len(quoted(text)) <= 80 * 10 + 2


@given(st.text(max_size=50), st.integers(5, 60))
def test_shortened(text: str, longest: int) -> None:
    """A text that is too long keeps its beginning and its end."""
    short = shortened(text, longest)
    assert len(short) <= max(longest, 0)
    assert short == text or (text.startswith(short[:1]) and "..." in short)


def test_errors_and_warnings_are_plain() -> None:
    """What an input says does not reach the terminal as it is, be it in a place or in a reason."""
    error = SourceError("a\x1b[2J", "b\nforged: line", key="c\u202e" + "d" * 1_000)
    assert is_plain(str(error))
    assert len(str(error)) < 700
    report = Report()
    report.warn("meta.\x1b]0;title\x07 says " + "9" * 10_000)
    assert is_plain(report.warnings[0])
    assert len(report.warnings[0]) <= 2_000
