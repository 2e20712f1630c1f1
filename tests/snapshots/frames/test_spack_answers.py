"""Queries answered by Spack 1.1 about an index that it wrote itself: see tests/data/README.md."""

from typing import NamedTuple

import msgspec
import numpy as np
import orjson
import pytest

from snapshots.errors import CachelogError
from snapshots.frames.queries import read, select
from snapshots.sources.buildcache.database import decode
from snapshots.sources.reports import Report
from tests import real_data
from tests.expensive import IS_QUICK
from tests.snapshots.changes.graphs import side_of

REFUSED_AT_MOST = 0.01
OF_THE_HOST = "not supported: names that depend on the host"


class Answer(NamedTuple):
    """A query, and the hashes of Spack's answer; None if Spack refuses the query."""

    query: str
    hashes: frozenset[str] | None


class Answers(NamedTuple):
    """An index as Spack writes it, in bytes, and Spack's answers about it."""

    database: bytes
    answers: list[Answer]


class _Line(msgspec.Struct):
    query: str
    rows: list[int] | None = None


def read_answers() -> Answers:
    """Return the answers: half of them in a clone, all if the folder of data has them."""
    folder = real_data.folder() / "spack-queries"
    database = (folder / "index.json").read_bytes()
    installs = orjson.loads(database)["database"]["installs"]
    hashes = sorted(digest for digest, install in installs.items() if install["in_buildcache"])
    lines = msgspec.json.Decoder(_Line).decode_lines((folder / "answers.jsonl").read_bytes())
    answers = [
        Answer(
            line.query, None if line.rows is None else frozenset(hashes[row] for row in line.rows)
        )
        for line in lines
    ]
    return Answers(database, answers)


class Outcome(NamedTuple):
    """Queries with another answer than Spack's, refused ones with reasons, and accepted ones."""

    different: list[str]
    refused: dict[str, str]
    accepted: list[str]


class Revision:
    """The specs of an index, in memory."""

    def __init__(self, database: bytes, *, states_outside: bool = True) -> None:
        specs = decode(database, "index.json", Report(), proof=False)
        outside = specs.outside.values() if states_outside else ()
        side = side_of(specs.in_cache.values(), outside)
        self.frame, self.graph = side.frame, side.graph

    def find(self, query: str) -> set[str]:
        """Return the hashes that a query selects."""
        mask = select(self.frame, read(query), lambda: self.graph)
        return {self.frame.hashes.at(row) for row in np.flatnonzero(mask).tolist()}

    def find_all(self, answers: Answers) -> Outcome:
        """Compare the hashes that each query selects with Spack's answer."""
        outcome = Outcome([], {}, [])
        for query, expected in answers.answers:
            try:
                hashes = self.find(query)
            except CachelogError as error:
                if expected is not None:
                    outcome.refused[query] = str(error)
                continue
            if expected is None:
                outcome.accepted.append(query)
            elif hashes != expected:
                outcome.different.append(query)
        return outcome


@pytest.fixture(scope="module")
def answers() -> Answers:
    """Return Spack's answers."""
    return read_answers()


@pytest.fixture(scope="module")
def revision(answers: Answers) -> Revision:
    """Return the index that the answers are about."""
    return Revision(answers.database)


def test_answers(answers: Answers, revision: Revision) -> None:
    """Each query has Spack's answer or a named reason; queries that Spack refuses are refused."""
    outcome = revision.find_all(answers)
    assert outcome.different == outcome.accepted == []
    assert all(OF_THE_HOST in reason for reason in outcome.refused.values())
    assert len(outcome.refused) <= REFUSED_AT_MOST * len(answers.answers)


@pytest.mark.untraced
@pytest.mark.parametrize("states_outside", [True, False])
def test_short_forms(answers: Answers, states_outside: bool) -> None:
    """The short form of a spec selects it, even with undescribed external compilers."""
    revision = Revision(answers.database, states_outside=states_outside)
    frame = revision.frame
    for row in range(0, len(frame), 10 if IS_QUICK else 1):
        assert frame.hashes.at(row) in revision.find(frame.spec(row).short)
