"""Random sequences of publishing, removing, pruning and vacuums: revisions in use remain."""

import tempfile
from collections.abc import Callable, Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.history_queries import missing_pairs
from snapshots.catalog.library import Library
from snapshots.catalog.removal import plan, remove
from snapshots.catalog.retention import choose, parse_policy
from snapshots.catalog.verification import verify
from snapshots.contents import Content
from snapshots.models import NOTHING, RevisionInfo, Spec
from tests.expensive import examples
from tests.model.histories import HistoryQueries
from tests.snapshots.factories import a_snapshot, day, seeded
from tests.snapshots.removal_catalogs import (
    clean,
    clean_all,
    grow_old,
    hours_ago,
    listed,
    rows,
    stored,
)
from tests.snapshots.templates import reopened
from tests.snapshots.timelines.generated_histories import HASHES, TAGS, _state

POLICIES = ("1 last", "2 daily", "1 weekly, 2 last", "2 monthly", "all releases")
Row = tuple[str, int, str]


class Run:
    """A catalog, and a model of its expected rows and contents."""

    def __init__(self, location: str, random: Random) -> None:
        self.catalog = Catalog(location)
        self.random = random
        self.states: list[list[Spec]] = [[]]
        for _ in range(5):
            self.states.append(_state(random, random.choice(self.states)))
        self.contents = {Content.of(specs).digest: specs for specs in self.states}
        self.expected: set[Row] = set()

    def publish(self) -> None:
        """Publish one or two states at once, in any order of days."""
        some = [
            (self.random.choice(TAGS), self.random.randrange(40), self.random.choice(self.states))
            for _ in range(self.random.randrange(1, 3))
        ]
        self.catalog.publish([a_snapshot(specs, tag, day(taken)) for tag, taken, specs in some])
        # The catalog decides which of the states are new; it must not change other rows.
        before, after = self.expected, rows(self.catalog)
        assert before <= after
        new = {(tag, taken, Content.of(specs).digest) for tag, taken, specs in some}
        assert after - before <= new
        self.expected = after

    def remove(self) -> None:
        """Remove some revisions, by name."""
        self.catalog.refresh(missing_ok=True)
        revisions = self.catalog.history.revisions
        self._remove([each for each in revisions if self.random.random() < 0.3])

    def prune(self) -> None:
        """Remove everything except what a policy keeps."""
        self.catalog.refresh(missing_ok=True)
        history = self.catalog.history
        policy = parse_policy(self.random.choice(POLICIES))
        choices = choose(history, policy)
        self._remove([choice.revision for choice in choices if not choice.kept_by])

    def _remove(self, revisions: Sequence[RevisionInfo]) -> None:
        for row in (row for each in revisions for row in self.catalog.history.seen(each)):
            self.expected.discard((row.tag, (row.taken_at - day(0)).days, row.digest))
        remove(self.catalog, plan(self.catalog, revisions))

    def clean(self) -> None:
        """Vacuum files that went out of use at least two hours ago."""
        if self.catalog.generation == -1:
            return
        grow_old(self.catalog)
        clean(self.catalog)

    def clean_all(self) -> None:
        """Vacuum all unused files: a row names each remaining file."""
        if self.catalog.generation == -1:
            return
        clean_all(self.catalog)
        assert len(stored(self.catalog)) == len(listed(self.catalog))
        assert listed(self.catalog) == {*self.catalog.history.digests} - {NOTHING}
        self.catalog.refresh()
        assert set(self.catalog.changes.counts) <= set(self.catalog.history.pairs)

    def check(self) -> None:
        """Compare the catalog with the model."""
        if self.catalog.generation == -1:
            return
        read = reopened(self.catalog)
        history = read.history
        assert rows(read) == self.expected
        assert verify(read.location).is_sound
        assert listed(read) >= {*history.digests} - {NOTHING}
        assert missing_pairs(read, history) == []
        past = HistoryQueries(
            history, {digest: self.contents[digest] for digest in history.digests}
        )
        library = Library(read)
        for text in HASHES:
            assert library.history_queries.hash_history(history, text) == past.hash_history(text)


@pytest.mark.long
@examples(20, in_suite=3)
@given(
    random=seeded(lambda random: random),
    steps=st.lists(st.integers(0, 9), max_size=9),
)
def test_random_sequences(random: Random, steps: list[int]) -> None:
    """Rows, contents and answers equal those of the model."""
    with tempfile.TemporaryDirectory() as folder:
        run = Run(f"{folder}/catalog", random)
        kinds: list[Callable[[], None]] = [
            *[run.publish] * 5,
            run.remove,
            run.prune,
            run.clean,
            run.clean,
            run.clean_all,
        ]
        for step in steps:
            with hours_ago(2 if random.random() < 0.5 else 0):
                kinds[step]()
        run.check()
