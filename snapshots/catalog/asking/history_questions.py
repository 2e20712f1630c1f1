"""Questions to the history of hashes, packages and series, as they are kept with their answers."""

import sys
from collections.abc import Iterable
from itertools import chain
from typing import Any, NamedTuple

import msgspec

from snapshots.catalog.asking.library import Library
from snapshots.errors import RevisionsLeftOut
from snapshots.history import History
from snapshots.models import RevisionInfo
from snapshots.timelines.growth import GrowthPoint
from snapshots.timelines.packages import PackageTimeline
from snapshots.timelines.spans import HashHistory

_ANSWER, _SPAN, _ENTRY, _POINT, _LINE = 500, 300, 900, 300, 20
"""About how many bytes the parts of an answer take."""

_QUESTION, _ITEM = 300, 100
"""About how many bytes a question takes that is kept with its answer, and each item of a set."""


class Answer(NamedTuple):
    """What the history tells, and about how many bytes it takes.

    ``left_out`` says which revisions it is told without, where contents cannot be read.
    """

    value: Any
    num_bytes: int
    left_out: RevisionsLeftOut | None = None


class HashAsked(msgspec.Struct, frozen=True):
    """A hash, or a prefix of one: HashHistory, or None."""

    text: str

    @property
    def num_bytes(self) -> int:
        """About how many bytes the question takes: clients write its texts."""
        return _size_of_texts([self.text])

    @property
    def needs(self) -> None:
        """The series whose changes must be there: None for all."""

    def answer(self, library: Library, history: History) -> Answer:
        """Return the history of the hash; raises InvalidArgument and AmbiguousHash."""
        found = library.hash_history(history, self.text)
        return Answer(found, _size_of_hash(found))


class HashesAsked(msgspec.Struct, frozen=True):
    """Hashes with the names of their packages: the HashHistory of each that was ever there."""

    named: frozenset[tuple[str, str]]

    @property
    def num_bytes(self) -> int:
        """See HashAsked."""
        return _size_of_texts(chain.from_iterable(self.named)) + _ITEM * len(self.named)

    @property
    def needs(self) -> None:
        """See HashAsked."""

    def answer(self, library: Library, history: History) -> Answer:
        """Return the histories by hash."""
        found = library.hash_histories(history, dict(self.named))
        return Answer(found, _ANSWER + sum(map(_size_of_hash, found.values())))


class ContentAsked(msgspec.Struct, frozen=True):
    """Packages in a content: for each of them, the HashHistory of each of its hashes there."""

    digest: str
    names: frozenset[str]

    @property
    def num_bytes(self) -> int:
        """See HashAsked."""
        return _size_of_texts([self.digest, *self.names])

    @property
    def needs(self) -> None:
        """See HashAsked."""

    def answer(self, library: Library, history: History) -> Answer:
        """Return the histories by package and hash."""
        frame = library.frames.get(self.digest)
        every = range(len(frame))
        of_names = {
            name: [frame.hashes.at(row) for row in every[frame.rows_of(name) or slice(0)]]
            for name in self.names
        }
        named = {text: name for name, hashes in of_names.items() for text in hashes}
        told = HashesAsked(frozenset(named.items())).answer(library, history)
        found = {
            name: {text: told.value[text] for text in hashes if text in told.value}
            for name, hashes in of_names.items()
        }
        return Answer(found, _ANSWER * len(found) + told.num_bytes)


class PackagesAsked(msgspec.Struct, frozen=True):
    """Packages in a series: the PackageTimeline of each that was ever there."""

    series: str
    names: frozenset[str]

    @property
    def num_bytes(self) -> int:
        """See HashAsked."""
        return _size_of_texts([self.series, *self.names])

    @property
    def needs(self) -> str:
        """See HashAsked."""
        return self.series

    def answer(self, library: Library, history: History) -> Answer:
        """Return the timelines by package."""
        found = library.package_timelines(history, self.series, self.names)
        entries = sum(len(it.entries) for it in found.values())
        return Answer(found, _ANSWER * (1 + len(found)) + _ENTRY * entries)


class PackageAsked(msgspec.Struct, frozen=True):
    """A package in a series: PackageTimeline, or None."""

    series: str
    name: str

    @property
    def num_bytes(self) -> int:
        """See HashAsked."""
        return _size_of_texts([self.series, self.name])

    @property
    def needs(self) -> str:
        """See HashAsked."""
        return self.series

    def answer(self, library: Library, history: History) -> Answer:
        """Return the timeline."""
        found: PackageTimeline | None = library.package_timeline(history, self.series, self.name)
        return Answer(found, _ANSWER + (_ENTRY * len(found.entries) if found else 0))


class GrowthAsked(msgspec.Struct, frozen=True):
    """A series: its GrowthPoints, oldest first."""

    series: str

    @property
    def num_bytes(self) -> int:
        """See HashAsked."""
        return _size_of_texts([self.series])

    @property
    def needs(self) -> str:
        """See HashAsked."""
        return self.series

    def answer(self, library: Library, history: History) -> Answer:
        """Return the points."""
        found: list[GrowthPoint] = library.growth(history, self.series)
        return Answer(found, _ANSWER + _POINT * len(found))


class HoldingAsked(msgspec.Struct, frozen=True):
    """Hashes, in a series or in all: the revisions that hold every one of them, newest first."""

    hashes: frozenset[str]
    series: str | None

    @property
    def num_bytes(self) -> int:
        """See HashAsked."""
        return _size_of_texts([self.series or "", *self.hashes])

    @property
    def needs(self) -> None:
        """See HashAsked."""

    def answer(self, library: Library, history: History) -> Answer:
        """Return the revisions; raises InvalidArgument for what can be no hash."""
        found: list[RevisionInfo] = library.holding(history, sorted(self.hashes), self.series)
        return Answer(found, _ANSWER + _LINE * len(found))


Asked = (
    HashAsked
    | HashesAsked
    | ContentAsked
    | PackagesAsked
    | PackageAsked
    | GrowthAsked
    | HoldingAsked
)


def _size_of_texts(texts: Iterable[str]) -> int:
    return _QUESTION + sum(_ITEM + sys.getsizeof(text) for text in texts)


def _size_of_hash(found: HashHistory | None) -> int:
    return _ANSWER + (_SPAN * len(found.spans) if found else 0)
