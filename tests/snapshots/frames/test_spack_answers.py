"""Queries answered by Spack 1.1 about an index that it wrote itself: see tests/data/README.md."""

import msgspec
import numpy as np
import pytest

from snapshots.changes.sides import Side
from snapshots.errors import CachelogError
from snapshots.frames.queries import read, select
from snapshots.sources.buildcache.database import decode
from snapshots.sources.reports import Report
from tests import real_data
from tests.expensive import IS_QUICK
from tests.snapshots.changes.graphs import side_of

REFUSED_AT_MOST = 0.01
OF_THE_HOST = "not supported: names that depend on the host"


class _Line(msgspec.Struct):
    """A query, and the places of the hashes in Spack's answer; None if Spack refuses the query."""

    query: str
    rows: list[int] | None = None


@pytest.fixture(scope="module")
def database() -> bytes:
    """Return an index as Spack writes it."""
    return (real_data.folder() / "spack-queries" / "index.json").read_bytes()


def revision(database: bytes) -> Side:
    """Return the specs of an index, in memory."""
    specs = decode(database, "index.json", Report(), proof=False)
    return side_of(specs.in_cache.values(), specs.outside.values())


def find(side: Side, query: str) -> set[str]:
    """Return the hashes that a query selects."""
    mask = select(side.frame, read(query), lambda: side.graph)
    return {side.frame.hashes.at(row) for row in np.flatnonzero(mask).tolist()}


def test_answers(database: bytes) -> None:
    """Each query has Spack's answer or a named reason; queries that Spack refuses are refused."""
    side = revision(database)
    hashes = sorted(side.frame.hashes.texts)
    # Half of the answers are in a clone, all if the folder of data has them.
    answers = (real_data.folder() / "spack-queries" / "answers.jsonl").read_bytes()
    lines = msgspec.json.Decoder(_Line).decode_lines(answers)
    refused = []
    for line in lines:
        try:
            selected = find(side, line.query)
        except CachelogError as error:
            if line.rows is not None:
                refused.append(str(error))
        else:
            assert line.rows is not None, line.query
            assert selected == {hashes[row] for row in line.rows}, line.query
    assert all(OF_THE_HOST in reason for reason in refused)
    assert len(refused) <= REFUSED_AT_MOST * len(lines)


def test_short_forms(database: bytes) -> None:
    """The short form of a spec selects it."""
    side = revision(database)
    for row in range(0, len(side.frame), 10 if IS_QUICK else 1):
        assert side.frame.hashes.at(row) in find(side, side.frame.spec(row).short)
