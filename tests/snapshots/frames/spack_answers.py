"""What Spack answered to queries about an index that it wrote: tests/data/README.md."""

from typing import NamedTuple

import msgspec
import orjson

from tests import real_data


class Answer(NamedTuple):
    """A query, and the hashes that Spack answered; None where it refused."""

    query: str
    hashes: frozenset[str] | None


class Answers(NamedTuple):
    """An index as Spack writes it, as bytes, and what Spack answered about it."""

    database: bytes
    answers: list[Answer]


class _Line(msgspec.Struct):
    query: str
    rows: list[int] | None = None


def read() -> Answers:
    """Return the answers: half of them in a clone, all where the folder of data has them."""
    folder = real_data.folder() / "spack-queries"
    database = (folder / "index.json").read_bytes()
    installs = orjson.loads(database)["database"]["installs"]
    hashes = sorted(digest for digest, install in installs.items() if install["in_buildcache"])
    lines = msgspec.json.Decoder(_Line).decode_lines((folder / "answers.jsonl").read_bytes())
    answers = [
        Answer(it.query, None if it.rows is None else frozenset(hashes[row] for row in it.rows))
        for it in lines
    ]
    return Answers(database, answers)
