"""``feed``: what a feed takes beside what it is made of, explained differences and kept numbers.

A story is the notes without their complete lists, so it stands beside the whole notes. A document
of 50 entries stands beside what a reader does with it. The story that an import kept, read by who
has nothing in memory, stands beside one that is made of both contents.
"""

import tempfile
from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path

import feedparser
from msgspec.structs import replace

from server.feeds import FeedAddresses
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.library import Library
from snapshots.catalog.pairs import PairMaker
from snapshots.history import History, Neighbours
from snapshots.models import RevisionInfo
from snapshots.notes.atom import PAGE, series_feed, to_xml
from snapshots.notes.changelog import changelog
from snapshots.notes.formats import NotesFormat
from snapshots.notes.stories import told_in
from snapshots.notes.templates import render, story
from tests.benchmarks.measurements import Measurement, Target, measure, milliseconds
from tests.benchmarks.plans import Plan
from tests.benchmarks.years import copy_of

STORY_TARGET = Target(1.0)
DOCUMENT_TARGET = Target(0.5)
KEPT_TARGET = Target(0.1)

_NOTES, _STORY = "Jinja: the whole notes in HTML", "cachelog: the story"
_EXPLAINED, _KEPT = "cachelog: made of both contents", "cachelog: as the import kept it"
_READ, _MADE = "feedparser: the document is read", "cachelog: it is made and written"


def run(plan: Plan) -> Iterator[Measurement]:
    """Measure all three."""
    catalog = plan.data.opened()
    history = catalog.require_history()
    base, head = plan.data.digests()
    rows = {it.digest: it for it in history.revisions}
    neighbours = Neighbours(rows[base], rows[head])
    explanation = Library(catalog).explain(base, head)
    yield from measure(
        "feed",
        f"two revisions of {plan.data.specs:,} specs",
        {
            _NOTES: lambda: milliseconds(
                lambda: render(changelog(*_both(neighbours), explanation), NotesFormat.HTML)
            ),
            _STORY: lambda: milliseconds(lambda: story(neighbours, explanation)),
        },
        unit="ms",
        rounds=plan.rounds,
        targets={_STORY: STORY_TARGET},
    )
    with tempfile.TemporaryDirectory(dir=plan.data.cache) as folder:
        keeping = _keeping(copy_of(plan.data.catalog, Path(folder, "catalog")), neighbours)
        yield from measure(
            "feed",
            f"the story of two revisions of {plan.data.specs:,} specs, nothing in memory",
            {
                _EXPLAINED: lambda: milliseconds(
                    lambda: story(neighbours, Library(catalog).explain(base, head))
                ),
                _KEPT: lambda: milliseconds(lambda: _kept(keeping, neighbours)),
            },
            unit="ms",
            rounds=plan.rounds,
            targets={_KEPT: KEPT_TARGET},
        )
    make = partial(_document, _grown(rows[head]), story(neighbours, explanation))
    document = make()
    yield from measure(
        "feed",
        f"{PAGE} entries, {len(document):,} bytes",
        {
            _READ: lambda: milliseconds(lambda: feedparser.parse(document)),
            _MADE: lambda: milliseconds(make),
        },
        unit="ms",
        rounds=plan.rounds,
        targets={_MADE: DOCUMENT_TARGET},
    )


def _keeping(folder: Path, neighbours: Neighbours) -> Catalog:
    """Return a catalog that keeps the story of two revisions as an import does of its own."""
    catalog = Catalog(str(folder))
    catalog.refresh()
    maker = PairMaker(catalog.load_side, neighbours={neighbours.pair: neighbours})
    catalog.keep(list(maker.make([neighbours.pair])))
    return catalog


def _kept(catalog: Catalog, neighbours: Neighbours) -> str:
    (kept,) = Library(catalog).past.kept_stories([neighbours]).values()
    return kept


def _both(neighbours: Neighbours) -> tuple[RevisionInfo, RevisionInfo]:
    if neighbours.base is None:
        raise SystemExit("feed: there is nothing to compare with")
    return neighbours.base, neighbours.head


def _grown(revision: RevisionInfo) -> History:
    """Return a series of two documents' revisions."""
    return History(
        replace(
            revision,
            tag="develop",
            digest=f"{number:064x}",
            taken_at=revision.taken_at + timedelta(days=number),
        )
        for number in range(2 * PAGE)
    )


def _document(history: History, told: str) -> bytes:
    stories = {it.pair: told for it in told_in(history, "develop")}
    addresses = FeedAddresses.of_server(None)
    return to_xml(series_feed(history, "develop", addresses, counts={}, stories=stories))
