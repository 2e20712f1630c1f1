"""Feeds: valid for any history, one entry per revision, with stable ids and stories."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from lxml import etree
from msgspec.structs import replace

from snapshots.errors import RevisionNotFound
from snapshots.history import History, Neighbours
from snapshots.notes.atom import (
    NUM_STORIES,
    PAGE,
    EntryStory,
    neighbours_in_feed,
    package_feed,
    series_feed,
)
from snapshots.notes.sentences import html
from snapshots.notes.templates import html_story, story_of
from snapshots.timelines.packages import package_timeline
from tests.expensive import examples
from tests.model.histories import HistoryQueries
from tests.snapshots.changes.graphs import explained
from tests.snapshots.factories import NAMES, a_revision, a_spec
from tests.snapshots.notes.atom.feed_readers import Somewhere, read_feed
from tests.snapshots.notes.stories import BASE, HEAD, log_between
from tests.snapshots.timelines.generated_histories import PASTS, a_past

ONE, OTHER, THIRD = a_spec("1"), a_spec("2", version="1.14.6"), a_spec("3", name="zlib")
PAST = a_past(("develop", 0, [ONE]), ("develop", 1, [ONE, THIRD]), ("develop", 3, [OTHER, THIRD]))


def of_series(past: HistoryQueries, series: str = "develop", *, after: str | None = None) -> Any:
    """Return the parsed feed of a series, with all available counts."""
    counts = {pair: past.counts(pair) for pair in past.history.pairs}
    return of_history(past.history, series, counts=counts, after=after)


def of_history(history: History, series: str = "develop", **facts: Any) -> Any:
    """Return the parsed feed of a series, with these counts and stories."""
    return read_feed(
        series_feed(history, series, Somewhere(), **({"counts": {}, "stories": {}} | facts)).xml
    )


def of_package(past: HistoryQueries, name: str, series: str = "develop") -> Any:
    """Return the parsed feed of a package; None if the series never had it."""
    timeline = package_timeline(past.rows(), name, series, past.history)
    return None if timeline is None else read_feed(package_feed(timeline, Somewhere(), {}).xml)


@examples(20)
@given(PASTS)
def test_every_feed_is_valid(past: HistoryQueries) -> None:
    """They have one entry per revision, newest first; no two entries of any feeds have one id."""
    feeds = []
    for series in past.history.series_names:
        feed = of_series(past, series)
        tags = [revision.tag for revision in past.history.of_series(series)]
        assert [entry.tags[0].term for entry in feed.entries] == tags
        of_packages = [of_package(past, name, series) for name in NAMES[:4]]
        feeds += [feed, *filter(None, of_packages)]
    assert all(feed.entries for feed in feeds)
    ids = [feed.feed.id for feed in feeds] + [entry.id for feed in feeds for entry in feed.entries]
    assert len(ids) == len(set(ids))


def test_entries_of_a_series() -> None:
    """Titles and summaries have counts; the first entry has totals."""
    entries = of_series(PAST).entries
    assert [entry.title for entry in entries] == [
        "develop of 8 January 2025: 1 spec replaced",
        "develop of 6 January 2025: 1 spec new",
        "develop of 5 January 2025: the first of its series, 1 spec",
    ]
    assert entries[0].summary.startswith("Of 2 specs, 1 replaces a different one. Packages: 1 ")
    assert entries[2].summary == "The first revision of its series, with 1 spec of 1 package."
    assert all(entry.summary.split(".")[0] in entry.content[0].value for entry in entries)


def test_entries_of_a_package() -> None:
    """Entries list added and removed versions, and reasons; other revisions are left out."""
    entries = of_package(PAST, "hdf5").entries
    assert [entry.title for entry in entries] == [
        "hdf5: upgraded, 1.14.6 added, 1.14.5 removed in develop of 8 January 2025",
        "hdf5: added, 1.14.5 added in develop of 5 January 2025",
    ]
    assert "Specs: 1 added, 1 removed. By reason: " in entries[0].summary
    assert "1 replaced" in entries[0].summary
    assert of_package(PAST, "cmake") is None


def test_story_replaces_counts() -> None:
    """A story is the content; without counts the entry compares totals."""
    history = grown(3)
    newest = neighbours_in_feed(history, "develop")[0]
    story = "<p>Café &amp; <code>&lt;b&gt;</code></p>\n<ul>\n<li>x</li>\n</ul>\n"
    entries = of_history(history, stories={newest: EntryStory(story)}).entries
    assert entries[0].content[0].value.strip() == story.strip()
    assert entries[1].content[0].value.startswith("<p>")
    assert entries[0].title.endswith("2025: 5 specs, 1 more than before")
    assert "There are 5 specs, 1 more than before." in entries[0].summary


# -- ids and times


def test_stable_ids() -> None:
    """Another id would be a new entry to every reader."""
    feed = of_series(PAST)
    assert feed.feed.id == "urn:uuid:8e3a8938-a171-56b8-8984-1cd6c5568310"
    assert feed.entries[0].id == "urn:uuid:e42c6a88-5b62-5ae2-94c1-060cc6b51061"
    assert of_package(PAST, "hdf5").feed.id == "urn:uuid:477e8d2f-de87-5d56-8848-548d70124c59"


def test_updated_is_when_the_contents_changed() -> None:
    """A revision inserted before another changes its time, and not its id."""
    old, new = a_revision("develop", 0, "a"), a_revision("develop", 9, "b")
    late = a_revision("develop", 5, "c")
    late = replace(late, published_at=new.published_at + timedelta(days=30))
    before, after = (of_history(History(rows)) for rows in ([old, new], [old, late, new]))
    assert before.entries[0].id == after.entries[0].id
    for feed, newest in ((before, new), (after, late)):
        moment = newest.published_at.isoformat().replace("+00:00", "Z")
        assert feed.entries[0].updated == feed.feed.updated == moment
    assert after.entries[-1] == before.entries[-1]
    published = {datetime.fromisoformat(entry.published) for entry in after.entries}
    assert published == {revision.taken_at for revision in (old, late, new)}


# -- pages after the first


def grown(number: int) -> History:
    """Return a series of ``number`` revisions, each with one spec more."""
    return History(
        replace(a_revision("develop", day, str(day)), num_specs=3 + day, total_size=None)
        for day in range(number)
    )


@pytest.mark.parametrize("number", [1, PAGE, PAGE + 1, 2 * PAGE + 2])
def test_pages_have_every_entry_once(number: int) -> None:
    """Each page links to the next until the last, and to the first."""
    history, after, seen = grown(number), None, []
    while True:
        feed = of_history(history, after=after)
        links = {link.rel: link.href for link in feed.feed.links}
        assert links["self"] == Somewhere().feed("develop", None, after)
        seen += [entry.id for entry in feed.entries]
        if "next" not in links:
            break
        assert len(feed.entries) == PAGE
        assert links["first"] == Somewhere().feed("develop", None)
        after = links["next"].partition("=")[2]
    assert len(seen) == len(set(seen)) == number


def test_pages_after_a_revision() -> None:
    """A page begins after its revision; the oldest and revisions of other series are errors."""
    newest, *_, oldest = PAST.history.of_series("develop")
    assert len(of_series(PAST, after=newest.ref).entries) == 2
    for after, reason in (("0" * 18, "no entry of this feed"), (oldest.ref, "follows that")):
        with pytest.raises(RevisionNotFound, match=reason):
            of_series(PAST, after=after)


@pytest.mark.parametrize("text", ["\x00", "\x1b[31m", "\ufffe", "a\u202eb", "]]>", "<&>"])
def test_characters_that_xml_does_not_allow(text: str) -> None:
    """The document is well formed with any characters of a source."""
    awkward = a_past(("develop", 0, [a_spec("1", version=f"1{text}")]))
    assert of_package(awkward, "hdf5").entries
    history = grown(2)
    story = EntryStory(f"<p>{text}</p>")
    assert of_history(history, stories={history.neighbours("develop")[-1]: story}).entries


# -- stories


NUM_MANY = 1_000
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
    assert all(f"<li>{html(sentence)}</li>" in story for sentence in log.highlights)
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
    assert read_feed(document).entries[0].content[0].value.startswith("<ul>\n<li>All 500 specs")


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
    with pytest.raises(ValueError, match="the first of a series has no story"):
        html_story(Neighbours(None, again[0]), explained([], BASE))
