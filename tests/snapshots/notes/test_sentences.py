"""Sentences: our own words as they are, texts from outside escaped by the rules of each markup."""

from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from snapshots.notes.sentences import (
    Name,
    Sentence,
    Value,
    enumerated,
    html,
    markdown,
    names,
    plain,
    spelled,
)
from snapshots.texts import visible

SENTENCE = Sentence("Of ", Name("hdf5"), " ", Value("1.14.5"), " and ", Value("a*b*"), ".")


def test_each_markup_has_its_own_way() -> None:
    """Names are code, other texts are code only where they could be markup."""
    assert plain(SENTENCE) == "Of hdf5 1.14.5 and a*b*."
    assert markdown(SENTENCE) == "Of `hdf5` 1.14.5 and `a*b*`."
    assert html(SENTENCE) == "Of <code>hdf5</code> 1.14.5 and a*b*."


@given(st.text(min_size=1), st.text(min_size=1))
def test_texts_from_outside_are_no_html(name: str, value: str) -> None:
    """Whatever they hold, there is one element, and the text is shown whole."""
    text = html(Sentence("a ", Name(name), " b ", Value(value)))
    assert text.count("<") == 2
    assert unescape(text.replace("<code>", "", 1).replace("</code>", "", 1)) == (
        f"a {visible(name)} b {visible(value)}"
    )


@given(
    st.text("`*_#<>[]()|!&\\\n ab", min_size=1).filter(str.strip),
    st.text("`*_#<>[]()|!&\\\n ab", min_size=1).filter(str.strip),
)
def test_texts_from_outside_are_no_markdown(name: str, value: str) -> None:
    """They begin no heading, element, link or emphasis: all of the sentence is text and code."""
    tokens = MarkdownIt("commonmark").parse(
        markdown(Sentence("a ", Name(name), " b ", Value(value), " c"))
    )
    assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"]
    assert {child.type for child in tokens[1].children or ()} <= {"text", "code_inline"}


@pytest.mark.parametrize(
    ("count", "limit", "told"),
    [
        (1, 3, "p0"),
        (2, 3, "p0 and p1"),
        (4, 3, "p0, p1, p2 and p3"),
        (5, 3, "p0, p1, p2 and 2 more"),
        (2_003, 3, "p0, p1, p2 and 2,000 more"),
    ],
)
def test_lists_of_names(count: int, limit: int, told: str) -> None:
    """The first few are named, the others counted; one more is named rather than counted."""
    listed = names((f"p{number}" for number in range(count)), limit)
    assert plain(Sentence(*listed)) == told


def test_nothing_is_enumerated() -> None:
    """An empty list has no words."""
    assert enumerated([]) == []


@pytest.mark.parametrize(
    ("count", "told"), [(1, "one change"), (5, "five changes"), (13, "13 changes")]
)
def test_small_numbers_are_words(count: int, told: str) -> None:
    """Up to twelve."""
    assert spelled(count, "change") == told


def test_equal_sentences() -> None:
    """Sentences are values: equal where they say the same."""
    assert Sentence("a ", Name("b")) == Sentence("a b")
    assert len({Sentence("a"), Sentence("a"), Sentence("b")}) == 2
    assert Sentence("a") != "a"
    assert repr(Sentence("a ", Name("b"))) == "Sentence('a b')"
