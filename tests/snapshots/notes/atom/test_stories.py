"""Stories: what entries tell of the newest revisions, short and with everything escaped."""

import pytest
from lxml import etree
from msgspec.structs import replace

from snapshots.history import History, Neighbours
from snapshots.notes.atom import EntryStory, series_feed
from snapshots.notes.sentences import html
from snapshots.notes.stories import NUM_STORIES, neighbours_in_feed
from snapshots.notes.templates import story, story_of
from tests.snapshots.factories import a_spec
from tests.snapshots.notes.atom.feed_readers import Somewhere, read_feed
from tests.snapshots.notes.atom.test_feeds import PAST, grown
from tests.snapshots.notes.stories import BASE, HEAD, explained, revision, told

NUM_MANY = 2_000
MOST_BYTES = 1 << 20


def elements(story: str) -> set[str]:
    """Return the names of the elements of a story, which are balanced and have no attributes."""
    root = etree.fromstring(f"<div>{story}</div>")
    assert not any(element.attrib for element in root.iter())
    return {element.tag for element in root.iter()} - {"div"}


def test_a_story_tells_what_the_notes_begin_with() -> None:
    """The highlights, what is gone and what came, in elements that every reader shows."""
    log = told(BASE, HEAD)
    story = story_of(log)
    assert " ".join(map(html, log.highlights)) in story
    assert "<h3>No longer available (" in story
    assert "<h3>Added packages (2)</h3>" in story
    assert "<code>abinit</code>" in story
    assert "Left out" not in story
    assert elements(story) <= {"p", "h3", "ul", "li", "code", "em"}


def test_a_story_says_what_it_left_out() -> None:
    """The first of long lists are told, and how many more there are."""
    many = [a_spec(f"x{n}", name=f"package-with-a-long-name-{n}") for n in range(NUM_MANY)]
    story = story_of(told(BASE, [*HEAD, *many]))
    assert f"<h3>Added packages ({NUM_MANY + 2:,})</h3>" in story
    shown = story.count("<code>package-with")
    assert 50 < shown < NUM_MANY
    left_out = f"Left out for want of room: {NUM_MANY + 2 - shown - 2:,} packages of"
    assert left_out in story
    assert elements(story)


def test_a_feed_of_long_stories_is_no_larger_than_a_mebibyte() -> None:
    """Even where all that it tells has to be escaped twice."""
    awkward = "&" * 150
    base = [a_spec(f"b{n}", name=f"p{n}", version=f"1{awkward}{n}") for n in range(NUM_MANY)]
    head = [a_spec(f"h{n}", name=f"p{n}", version=f"2{awkward}{n}") for n in range(NUM_MANY)]
    story = EntryStory(story_of(told(base, head)))
    history = grown(60)
    stories = dict.fromkeys(neighbours_in_feed(history, "develop"), story)
    assert len(stories) == NUM_STORIES
    document = series_feed(history, "develop", Somewhere(), counts={}, stories=stories).xml
    assert len(document) < MOST_BYTES
    assert read_feed(document).entries[0].content[0].value.startswith("<p>All 2,000 specs")


def test_no_story_is_told_of_what_did_not_change() -> None:
    """Nor of the first revision, which is a change from nothing."""
    assert [story.head.taken_at.day for story in neighbours_in_feed(PAST.history, "develop")] == [8, 6]
    assert neighbours_in_feed(grown(1), "develop") == []
    again = [
        replace(revision, tag=tag)
        for revision, tag in zip(grown(1).revisions * 2, ("v1", "v2"), strict=True)
    ]
    assert neighbours_in_feed(History(again), "vX.Y.Z") == []


def test_a_story_is_of_two_revisions() -> None:
    """It is that of their changelog; the first of a series has none."""
    base, head = revision("v0.21.0", 0, BASE), revision("v0.22.0", 30, HEAD)
    explanation = explained(BASE, HEAD)
    assert story(Neighbours(base, head), explanation) == story_of(told(BASE, HEAD))
    with pytest.raises(ValueError, match="the first of a series has no story"):
        story(Neighbours(None, head), explanation)
