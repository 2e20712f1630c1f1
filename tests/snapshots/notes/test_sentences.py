"""Sentences: own words are verbatim, other texts are escaped for each markup."""

from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots.notes.sentences import (
    Name,
    Sentence,
    Value,
    enumerated,
    html,
    markdown,
    plain,
    size_delta,
    spelled,
)
from snapshots.texts import visible

SENTENCE = Sentence("Of ", Name("hdf5"), " ", Value("1.14.5"), " and ", Value("a*b*"), ".")


def test_each_markup() -> None:
    """Names are code; other texts are code only if they could be markup."""
    assert plain(SENTENCE) == "Of hdf5 1.14.5 and a*b*."
    assert markdown(SENTENCE) == "Of `hdf5` 1.14.5 and `a*b*`."
    assert html(SENTENCE) == "Of <code>hdf5</code> 1.14.5 and a*b*."


@given(st.text(min_size=1), st.text(min_size=1))
def test_texts_are_escaped_in_html(name: str, value: str) -> None:
    """Any texts result in one element, and are shown in full."""
    text = html(Sentence("a ", Name(name), " b ", Value(value)))
    assert text.count("<") == 2
    assert unescape(text.replace("<code>", "", 1).replace("</code>", "", 1)) == (
        f"a {visible(name)} b {visible(value)}"
    )


@pytest.mark.parametrize(
    ("count", "limit", "text"),
    [
        (1, 3, "p0"),
        (2, 3, "p0 and p1"),
        (4, 3, "p0, p1, p2 and p3"),
        (5, 3, "p0, p1, p2 and 2 more"),
        (2_003, 3, "p0, p1, p2 and 2,000 more"),
    ],
)
def test_lists_of_names(count: int, limit: int, text: str) -> None:
    """The first names are listed, the others counted; a single further one is listed too."""
    listed = enumerated([[f"p{number}"] for number in range(count)], limit)
    assert plain(Sentence(*listed)) == text


@pytest.mark.parametrize(
    ("count", "text"), [(1, "one change"), (5, "five changes"), (13, "13 changes")]
)
def test_small_numbers_are_words(count: int, text: str) -> None:
    """Numbers up to twelve are words."""
    assert spelled(count, "change") == text


def test_equal_sentences() -> None:
    """Sentences compare by their plain text."""
    assert Sentence("a ", Name("b")) == Sentence("a b")
    assert Sentence("a") != "a"
    assert repr(Sentence("a ", Name("b"))) == "Sentence('a b')"


@pytest.mark.parametrize(
    ("num_bytes", "text"), [(None, ""), (0, "+0 B"), (999, "+999 B"), (-999, "-999 B")]
)
def test_differences_of_sizes(num_bytes: int | None, text: str) -> None:
    """Differences have a sign; an unknown one is empty."""
    assert size_delta(num_bytes) == text
