"""Stories as texts: what was kept is told, and anything else is made anew."""

import re
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest

from snapshots.history import Neighbours
from snapshots.notes.stories import FORMAT, KeptStory, from_text, to_text
from snapshots.notes.templates import story
from tests.snapshots.notes.stories import BASE, HEAD, explained, revision

REAL = Neighbours(revision("v0.21.0", 0, BASE), revision("v0.22.0", 30, HEAD))
MADE_UP = Neighbours(REAL.base, revision("v0.22.0", 30, HEAD, synthetic=True))

KEPT = {"format": FORMAT, "synthetic": False, "html": "<p>Of 2 specs, <code>a</code> &lt; b.</p>\n"}


def test_what_was_kept_is_told() -> None:
    """The same to the byte, of real data and of what was made up."""
    explanation = explained(BASE, HEAD)
    for neighbours in (REAL, MADE_UP):
        html = story(neighbours, explanation)
        assert from_text(neighbours, to_text(neighbours, html).encode()) == html
    assert from_text(REAL, msgspec.json.encode(KEPT)) == KEPT["html"]


def test_sources_decide_whether_it_is_what_is_told() -> None:
    """One content can be read of a generator's pages, and elsewhere: the story says so or not."""
    for first, second in ((REAL, MADE_UP), (MADE_UP, REAL)):
        assert from_text(second, to_text(first, "<p>a</p>").encode()) is None


@pytest.mark.parametrize(
    "text",
    [
        None,
        b"",
        b"null",
        b"\xff",
        msgspec.json.encode(KEPT)[:-9],
        msgspec.json.encode(KEPT).replace(b"Of", b"\xff"),
        *(
            msgspec.json.encode(KEPT | other)
            for other in (
                {"format": FORMAT + 1},
                {"format": str(FORMAT)},
                {"html": None},
                {"html": "<p>a</p><script>alert(1)</script>"},
                {"html": "<p onclick='a()'>a</p>"},
                {"html": "<P>a</P>"},
                {"html": "a < b"},
                {"html": "<p>" * 5_000 + "<"},
                {"more": 1},
            )
        ),
    ],
)
def test_what_is_none_of_ours_is_ignored(text: bytes | None) -> None:
    """Damaged, of another version, or with elements that no story has."""
    assert from_text(REAL, text) is None


def test_the_format_stands_for_what_stories_say() -> None:
    """Where this fails, what is kept in catalogs says something else: raise FORMAT as well."""
    html = story(MADE_UP, explained(BASE, HEAD))
    assert (FORMAT, sha256(html.encode()).hexdigest()[:16]) == (4, "fbbc0839f9731016")


def test_the_document_says_what_is_kept() -> None:
    """The fields, the format and the elements."""
    text = (Path(__file__).parents[4] / "docs" / "tables.md").read_text("utf-8")
    (section,) = re.findall(r"\nA story is (.*?)\n\n", text, re.DOTALL)
    for name in (*KeptStory.__struct_fields__, "p", "em", "h3", "ul", "li", "code"):
        assert f"`{name}`" in section
    assert f"`format` is {FORMAT}, " in section
