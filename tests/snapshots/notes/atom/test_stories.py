"""Stories of the newest revisions in feeds, and their cached form."""

import re
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest
from lxml import etree
from msgspec.structs import replace

from snapshots.history import History, Neighbours
from snapshots.notes.atom import EntryStory, series_feed
from snapshots.notes.sentences import html
from snapshots.notes.stories import (
    FORMAT,
    NUM_STORIES,
    StoredStory,
    from_text,
    neighbours_in_feed,
    to_text,
)
from snapshots.notes.templates import story, story_of
from tests.snapshots.factories import a_spec
from tests.snapshots.notes.atom.feed_readers import Somewhere, read_feed
from tests.snapshots.notes.atom.test_feeds import PAST, grown
from tests.snapshots.notes.stories import BASE, HEAD, explained, log_between, revision

NUM_MANY = 2_000
MAX_BYTES = 1 << 20


def elements(story: str) -> set[str]:
    """Return the names of the elements of a story, which are balanced and have no attributes."""
    root = etree.fromstring(f"<div>{story}</div>")
    assert not any(element.attrib for element in root.iter())
    return {element.tag for element in root.iter()} - {"div"}


def test_story() -> None:
    """A story has the highlights, lost and added packages, in elements that every reader shows."""
    log = log_between(BASE, HEAD)
    story = story_of(log)
    assert " ".join(map(html, log.highlights)) in story
    assert "<h3>No longer available (" in story
    assert "<h3>Added packages (2)</h3>" in story
    assert "<code>abinit</code>" in story
    assert "Left out" not in story
    assert elements(story) <= {"p", "h3", "ul", "li", "code", "em"}


def test_long_story() -> None:
    """Long lists are truncated, with the number of omitted packages."""
    many = [a_spec(f"x{n}", name=f"package-with-a-long-name-{n}") for n in range(NUM_MANY)]
    story = story_of(log_between(BASE, [*HEAD, *many]))
    assert f"<h3>Added packages ({NUM_MANY + 2:,})</h3>" in story
    shown = story.count("<code>package-with")
    assert 50 < shown < NUM_MANY
    left_out = f"Left out for want of room: {NUM_MANY + 2 - shown - 2:,} packages of"
    assert left_out in story
    assert elements(story)


def test_feed_of_long_stories_is_bounded() -> None:
    """A feed has at most a mebibyte, even if all of its text is escaped twice."""
    awkward = "&" * 150
    base = [a_spec(f"b{n}", name=f"p{n}", version=f"1{awkward}{n}") for n in range(500)]
    head = [a_spec(f"h{n}", name=f"p{n}", version=f"2{awkward}{n}") for n in range(500)]
    story = EntryStory(story_of(log_between(base, head)))
    history = grown(60)
    stories = dict.fromkeys(neighbours_in_feed(history, "develop"), story)
    assert len(stories) == NUM_STORIES
    document = series_feed(history, "develop", Somewhere(), counts={}, stories=stories).xml
    assert len(document) < MAX_BYTES
    assert read_feed(document).entries[0].content[0].value.startswith("<p>All 500 specs")


def test_unchanged_revisions_have_no_story() -> None:
    """Neither does the first revision of a series have one."""
    days = [story.head.taken_at.day for story in neighbours_in_feed(PAST.history, "develop")]
    assert days == [8, 6]
    assert neighbours_in_feed(grown(1), "develop") == []
    again = [
        replace(revision, tag=tag)
        for revision, tag in zip(grown(1).revisions * 2, ("v1", "v2"), strict=True)
    ]
    assert neighbours_in_feed(History(again), "vX.Y.Z") == []


def test_story_of_two_revisions() -> None:
    """The story is that of their changelog; the first of a series has none."""
    base, head = revision("v0.21.0", 0, BASE), revision("v0.22.0", 30, HEAD)
    explanation = explained(BASE, HEAD)
    assert story(Neighbours(base, head), explanation) == story_of(log_between(BASE, HEAD))
    with pytest.raises(ValueError, match="the first of a series has no story"):
        story(Neighbours(None, head), explanation)


# -- cached stories

REAL = Neighbours(revision("v0.21.0", 0, BASE), revision("v0.22.0", 30, HEAD))
MADE_UP = Neighbours(REAL.base, revision("v0.22.0", 30, HEAD, synthetic=True))

CACHED = {
    "format": FORMAT,
    "synthetic": False,
    "html": "<p>Of 2 specs, <code>a</code> &lt; b.</p>\n",
}


def test_cached_story() -> None:
    """A story is restored byte by byte, but not one of real data for synthetic data or reverse."""
    explanation = explained(BASE, HEAD)
    for neighbours in (REAL, MADE_UP):
        html = story(neighbours, explanation)
        assert from_text(neighbours, to_text(neighbours, html).encode()) == html
    assert from_text(REAL, msgspec.json.encode(CACHED)) == CACHED["html"]
    for first, second in ((REAL, MADE_UP), (MADE_UP, REAL)):
        assert from_text(second, to_text(first, "<p>a</p>").encode()) is None


@pytest.mark.parametrize(
    "text",
    [
        None,
        b"null",
        b"\xff",
        msgspec.json.encode(CACHED)[:-9],
        msgspec.json.encode(CACHED).replace(b"Of", b"\xff"),
        *(
            msgspec.json.encode(CACHED | other)
            for other in (
                {"format": FORMAT + 1},
                {"html": None},
                {"html": "<p>a</p><script>alert(1)</script>"},
                {"html": "<p onclick='a()'>a</p>"},
                {"html": "a < b"},
                {"html": "<p>" * 5_000 + "<"},
                {"more": 1},
            )
        ),
    ],
)
def test_invalid_cached_story(text: bytes | None) -> None:
    """Damaged stories, other versions and other elements are ignored."""
    assert from_text(REAL, text) is None


def test_format_of_cached_stories() -> None:
    """If this fails, cached stories have other contents: FORMAT has to be raised."""
    html = story(MADE_UP, explained(BASE, HEAD))
    assert (FORMAT, sha256(html.encode()).hexdigest()[:16]) == (5, "0cee915869124f13")


def test_documented_format() -> None:
    """The document lists the fields, the format and the elements."""
    text = (Path(__file__).parents[4] / "docs" / "tables.md").read_text("utf-8")
    (section,) = re.findall(r"\nA story is (.*?)\n\n", text, re.DOTALL)
    for name in (*StoredStory.__struct_fields__, "p", "em", "h3", "ul", "li", "code"):
        assert f"`{name}`" in section
    assert f"`format` is {FORMAT}, " in section
