"""Queries are answered as Spack 1.1 answered them about an index that it wrote itself."""

from typing import NamedTuple

import numpy as np
import pytest

from snapshots.contents import Content
from snapshots.errors import CachelogError, ConstraintSyntaxError
from snapshots.frames.dependencies import DependencyGraph
from snapshots.frames.frame import Frame
from snapshots.frames.queries import read, select
from snapshots.sources.buildcache.database import decode
from snapshots.sources.reports import Report
from tests.expensive import cases
from tests.snapshots.frames import spack_answers
from tests.snapshots.frames.spack_answers import Answers

REFUSED_AT_MOST = 0.01
OF_THE_HOST = "not supported: names that depend on the host"


class Asked(NamedTuple):
    """What became of the queries that Spack answers, and of those that it refuses."""

    otherwise: list[str]
    refused: dict[str, str]
    accepted: list[str]


class Revision:
    """The specs of an index, in memory."""

    def __init__(self, database: bytes) -> None:
        specs = decode(database, "index.json", Report(), proof=False)
        content = Content.of(specs.in_cache.values(), specs.outside.values())
        table = content.table()
        self.frame = Frame(table, content.digest)
        self.graph = DependencyGraph(table, self.frame.hashes)

    def find(self, query: str) -> set[str]:
        """Return the hashes that a query asks for."""
        mask = select(self.frame, read(query), lambda: self.graph)
        return {self.frame.hashes.at(row) for row in np.flatnonzero(mask).tolist()}

    def ask(self, answers: Answers) -> Asked:
        """Ask all queries."""
        asked = Asked([], {}, [])
        for query, expected in answers.answers:
            try:
                found = self.find(query)
            except CachelogError as error:
                if expected is not None:
                    asked.refused[query] = str(error)
                continue
            if expected is None:
                asked.accepted.append(query)
            elif found != expected:
                asked.otherwise.append(query)
        return asked


@pytest.fixture(scope="module")
def answers() -> Answers:
    """Return what Spack answered."""
    return spack_answers.read()


@pytest.fixture(scope="module")
def revision(answers: Answers) -> Revision:
    """Return the index that the answers are about."""
    return Revision(answers.database)


def test_answers(answers: Answers, revision: Revision) -> None:
    """Every query is answered as by Spack, or refused by name; what Spack refuses is refused."""
    asked = revision.ask(answers)
    assert asked.otherwise == asked.accepted == []
    assert all(OF_THE_HOST in reason for reason in asked.refused.values())
    assert len(asked.refused) <= REFUSED_AT_MOST * len(answers.answers)


def sampled(num_rows: int) -> list[int]:
    """Return the rows that a run tries, spread over all of them."""
    num_tried = cases(num_rows)
    return [number * num_rows // num_tried for number in range(num_tried)]


@pytest.mark.untraced
def test_short_forms(revision: Revision) -> None:
    """Every spec is among those that its own short form finds."""
    for row in sampled(len(revision.frame)):
        digest = revision.frame.hashes.at(row)
        assert digest in revision.find(revision.frame.spec(row).short)


@pytest.mark.untraced
def test_short_forms_where_less_is_stated(answers: Answers) -> None:
    """So it is where all that is known of external compilers is what they compiled."""
    specs = decode(answers.database, "index.json", Report(), proof=False).in_cache.values()
    content = Content.of(specs)
    table = content.table()
    frame = Frame(table, content.digest)
    graph = DependencyGraph(table, frame.hashes)
    for row in sampled(len(frame)):
        assert select(frame, read(frame.spec(row).short), lambda: graph)[row]


@pytest.mark.parametrize(
    ("query", "as_is"),
    [
        ("arch=*", "*"),
        ("arch=icelake", "target=icelake"),
        ("hdf5 arch=linux-*-*", "hdf5 platform=linux"),
        ('cflags="-O3"+shared', "cflags=-O3 +shared"),
    ],
)
def test_other_ways_to_say_it(revision: Revision, query: str, as_is: str) -> None:
    """Spack reads these as the same query."""
    assert revision.find(query) == revision.find(as_is)


@pytest.mark.parametrize("query", ["py-numpy ^meson", "py-numpy ^ninja", "HDF5", "cflags=*"])
def test_what_nothing_is_like(revision: Revision, query: str) -> None:
    """Spack answers that nothing matches: a name that nothing has, and a flag named ``*``."""
    assert revision.find(query) == set()


def test_canonical_texts(answers: Answers) -> None:
    """A query written from its records is the same query."""
    for query, expected in answers.answers:
        if expected is not None:
            try:
                asked = read(query)
            except ConstraintSyntaxError as error:
                assert OF_THE_HOST in str(error)  # noqa: PT017
            else:
                assert read(str(asked)) == asked
