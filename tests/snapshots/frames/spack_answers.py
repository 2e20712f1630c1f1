"""Spack's answers to queries about an index that Spack wrote: see tests/data/README.md."""

from typing import NamedTuple

import msgspec
import orjson

from tests import real_data


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


def read() -> Answers:
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
