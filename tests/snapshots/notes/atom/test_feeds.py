"""Feeds: valid for any history, one entry per revision, with stable ids and their causes."""

from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given
from msgspec.structs import replace

from snapshots.changes.reasons import SpecChangeReason
from snapshots.changes.stored_changes import NO_COUNTS, PairCounts, StoredCause
from snapshots.errors import RevisionNotFound
from snapshots.history import History
from snapshots.models import CauseKind
from snapshots.notes.atom import PAGE, package_feed, series_feed
from snapshots.notes.causes import StoredCauses, stored_cause
from snapshots.recipes.commits import Commit, links_of
from snapshots.timelines.growth import MainChanges, main_changes
from snapshots.timelines.packages import package_timeline
from tests.expensive import examples
from tests.model.histories import HistoryQueries
from tests.snapshots.factories import NAMES, a_revision, a_spec
from tests.snapshots.notes.atom.feed_readers import SOMEWHERE, read_feed
from tests.snapshots.timelines.generated_histories import PASTS, a_past

ONE, OTHER, THIRD = a_spec("1"), a_spec("2", version="1.14.6"), a_spec("3", name="zlib")
PAST = a_past(("develop", 0, [ONE]), ("develop", 1, [ONE, THIRD]), ("develop", 3, [OTHER, THIRD]))


def of_series(past: HistoryQueries, series: str = "develop", *, after: str | None = None) -> Any:
    """Return the parsed feed of a series, with its changes."""
    counts = {pair: past.counts(pair) for pair in past.history.pairs}
    changes = main_changes(counts, past.comparisons(), series, past.history)
    return of_history(past.history, series, changes=changes, after=after)


def of_history(history: History, series: str = "develop", changes: Any = None, **facts: Any) -> Any:
    """Return the parsed feed of a series; without its changes, each revision has none."""
    if changes is None:
        changes = {revision.ref: MainChanges(NO_COUNTS, (), ()) for revision in history.revisions}
    facts = {"causes": {}, "packages": {}} | facts
    return read_feed(series_feed(history, series, SOMEWHERE, changes, **facts))


def of_package(past: HistoryQueries, name: str, series: str = "develop") -> Any:
    """Return the parsed feed of a package; None if the series never had it."""
    timeline = package_timeline(past.rows(), name, series, past.history)
    return None if timeline is None else read_feed(package_feed(timeline, SOMEWHERE, {}))


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
    """The title has the main change, the summary all of them; the content lists the same."""
    entries = of_series(PAST).entries
    assert [entry.title for entry in entries] == [
        "develop of 8 January 2025: Of 2 specs, 1 replaces a different one",
        "develop of 6 January 2025: Of 2 specs, 1 is new",
        "develop of 5 January 2025: The first revision, with 1 spec",
    ]
    assert entries[0].summary == "Of 2 specs, 1 replaces a different one."
    items = entries[0].content[0].value
    assert items.replace("<ul><li>", "").replace("</li></ul>", "") == entries[0].summary


def test_entries_of_a_package() -> None:
    """Entries list added and removed versions, and reasons; other revisions are left out."""
    entries = of_package(PAST, "hdf5").entries
    assert [entry.title for entry in entries] == [
        "hdf5: upgraded, 1.14.6 added, 1.14.5 removed in develop of 8 January 2025",
        "hdf5: added, 1.14.5 added in develop of 5 January 2025",
    ]
    assert entries[0].summary == ("hdf5: upgraded, 1.14.6 added, 1.14.5 removed. 1 spec replaced.")
    assert of_package(PAST, "cmake") is None


GITHUB = links_of("", "https://github.com/spack/spack-packages")


def caused(history: History, *commits: Commit) -> Any:
    """Return the newest entry of a series whose specs gettext rebuilt, with commits on it."""
    cause = StoredCause(CauseKind.RECIPE, "gettext", None, None, 378, 387, None)
    step = history.neighbours("develop")[-1]
    counts = PairCounts(
        specs_added=394,
        specs_removed=394,
        reasons={SpecChangeReason.REBUILT: 376, SpecChangeReason.REPLACES: 18},
    )
    explained = StoredCauses([stored_cause(cause, commits, GITHUB)], KNOWN if commits else None)
    changes = {step.head.ref: MainChanges(counts, (), (cause,))}
    return of_history(history, changes=changes, causes={step: explained}).entries[0]


KNOWN = datetime(2026, 7, 1, tzinfo=UTC)


def test_cause_of_an_entry() -> None:
    """It is named by its pull request, if one commit changed the recipe; else by its title."""
    moment = datetime(2026, 6, 21, tzinfo=UTC)
    fix, other = (
        Commit(letter * 40, (), moment, subject, ("gettext",))
        for letter, subject in (("a", "gettext: fix it (#5277)"), ("b", "gettext: more (#5280)"))
    )
    for commits, subject, link in (
        ((fix,), "gettext: fix it (spack-packages#5277)", True),
        ((fix, other), "The recipe of gettext (spack-packages#5277 and 1 more)", True),
        ((), "The recipe of gettext", False),
    ):
        entry = caused(grown(3), *commits)
        sentence = f"{subject} accounts for 378 of 394 replacements"
        assert entry.title == f"develop of 7 January 2025: {sentence}"
        assert entry.summary.endswith(f" {sentence}.")
        url = "https://github.com/spack/spack-packages/pull/5277"
        assert (f'<a href="{url}">#5277</a>' in entry.content[0].value) == link
        assert (datetime.fromisoformat(entry.updated) == KNOWN) == link


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
        assert links["self"] == SOMEWHERE.feed("develop", None, after)
        seen += [entry.id for entry in feed.entries]
        if "next" not in links:
            break
        assert len(feed.entries) == PAGE
        assert links["first"] == SOMEWHERE.feed("develop", None)
        after = unquote(links["next"].partition("=")[2])
    assert len(seen) == len(set(seen)) == number


def test_pages_after_a_revision() -> None:
    """A page begins after its revision; the oldest and revisions of other series are errors."""
    newest, *_, oldest = PAST.history.of_series("develop")
    assert len(of_series(PAST, after=newest.ref).entries) == 2
    for after in ("0" * 18, oldest.ref):
        with pytest.raises(RevisionNotFound, match="no entry of this feed follows"):
            of_series(PAST, after=after)


@pytest.mark.parametrize("text", ["\x00", "\x1b[31m", "\ufffe", "a\u202eb", "]]>", "<&>"])
def test_characters_that_xml_does_not_allow(text: str) -> None:
    """The document is well formed with any characters of a source."""
    awkward = a_past(("develop", 0, [a_spec("1", version=f"1{text}")]))
    assert of_package(awkward, "hdf5").entries
    subject = f"gettext: {text} (#1)"
    assert caused(grown(2), Commit("a" * 40, (), KNOWN, subject, ("gettext",))).title


def test_feed_is_bounded() -> None:
    """A feed has at most a mebibyte, even if all of its text is escaped twice."""
    awkward = "&" * 150
    history = grown(PAGE)
    causes = [
        StoredCause(CauseKind.VERSION, f"p{n}", awkward, f"{n}{awkward}", 1, 1, None)
        for n in range(5)
    ]
    counts = PairCounts(specs_added=5, reasons={SpecChangeReason.REPLACES: 5})
    steps = history.neighbours("develop")
    changes = {step.head.ref: MainChanges(counts, (), tuple(causes)) for step in steps}
    explained = {
        step: StoredCauses([stored_cause(cause, (), GITHUB) for cause in causes]) for step in steps
    }
    document = series_feed(history, "develop", SOMEWHERE, changes, causes=explained, packages={})
    assert len(document) < 1 << 20
    assert len(read_feed(document).entries) == PAGE
