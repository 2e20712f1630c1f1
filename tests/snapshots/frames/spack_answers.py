"""What Spack answered to queries about an index, and how the committed part of it was chosen.

Run ``python -m tests.snapshots.frames.spack_answers FOLDER`` to choose it again: FOLDER holds
``index.json``, which Spack wrote, and ``answers.jsonl``: a query a line, with ``rows``, the places
of its answers among the sorted hashes in the cache, or with ``refused``. What a query asks of a
spec does not depend on others than those below it. So the answer about some specs, with all that
is below them, is the part of the whole answer that is among them.
"""

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import orjson

FILE = Path(__file__).with_name("spack_answers.json")

_NUM_SPECS = 110
_NUM_WITHOUT = 60


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
    refused: bool = False


class _File(msgspec.Struct):
    index: msgspec.Raw
    answers: list[tuple[str, list[int] | None]]


def committed() -> Answers:
    """Return the committed part."""
    file = msgspec.json.decode(FILE.read_bytes(), type=_File)
    index = bytes(file.index)
    hashes = _in_cache(_installs(index))
    return Answers(index, [Answer(query, _hashes_at(rows, hashes)) for query, rows in file.answers])


def whole(folder: Path) -> Answers:
    """Return all of it."""
    index = (folder / "index.json").read_bytes()
    hashes = _in_cache(_installs(index))
    lines = (folder / "answers.jsonl").read_bytes().splitlines()
    found = [msgspec.json.decode(line, type=_Line) for line in lines]
    return Answers(index, [Answer(it.query, _hashes_at(it.rows, hashes)) for it in found])


def _hashes_at(rows: list[int] | None, hashes: list[str]) -> frozenset[str] | None:
    return None if rows is None else frozenset(hashes[row] for row in rows)


def _installs(index: bytes) -> dict[str, Any]:
    installs: dict[str, Any] = orjson.loads(index)["database"]["installs"]
    return installs


def _in_cache(installs: Mapping[str, Any]) -> list[str]:
    return sorted(digest for digest, install in installs.items() if install["in_buildcache"])


def _closure(installs: Mapping[str, Any], start: Iterable[str]) -> set[str]:
    found: set[str] = set()
    waiting = list(start)
    while waiting:
        digest = waiting.pop()
        if digest not in found:
            found.add(digest)
            waiting += [edge["hash"] for edge in installs[digest]["spec"].get("dependencies", ())]
    return found


def _chosen(installs: Mapping[str, Any], answers: Iterable[Answer]) -> set[str]:
    """Return specs with all that is below them: those that most queries find, for their number."""
    closures = {digest: _closure(installs, [digest]) for digest in _in_cache(installs)}
    open_queries = [set(it.hashes) for it in answers if it.hashes]
    chosen: set[str] = set()
    while open_queries and len(chosen) < _NUM_SPECS:
        gains = {
            digest: sum(not closure.isdisjoint(found) for found in open_queries)
            / (1 + len(closure - chosen))
            for digest, closure in closures.items()
        }
        best = max((gain, digest) for digest, gain in gains.items())[1]
        if not closures[best] - chosen:
            break
        chosen |= closures[best]
        open_queries = [found for found in open_queries if chosen.isdisjoint(found)]
    return chosen


def _reduced(install: Mapping[str, Any]) -> dict[str, Any]:
    spec = install["spec"]
    arch = spec["arch"]
    if not isinstance(arch["target"], str):
        arch = arch | {"target": arch["target"]["name"]}
    names = ("name", "version", "namespace", "dependencies", "annotations")
    parameters = {name: value for name, value in spec["parameters"].items() if value != []}
    facts = {name: spec[name] for name in names if name in spec}
    return {
        "spec": facts | {"arch": arch, "parameters": parameters},
        "in_buildcache": install["in_buildcache"],
    }


def _reduce(whole: Answers) -> bytes:
    installs = _installs(whole.database)
    chosen = _chosen(installs, whole.answers)
    place = {digest: row for row, digest in enumerate(_in_cache(installs)) if digest in chosen}
    place = {digest: row for row, digest in enumerate(place)}
    answers: list[tuple[str, list[int] | None]] = []
    without = 0
    for query, hashes in whole.answers:
        rows = None if hashes is None else sorted(place[it] for it in hashes & place.keys())
        if rows == []:
            without += 1
            # Of what nothing is found by, some are enough.
            if without > _NUM_WITHOUT:
                continue
        answers.append((query, rows))
    index = {digest: _reduced(installs[digest]) for digest in sorted(chosen)}
    database = {"database": {"version": "8", "installs": index}}
    return orjson.dumps({"index": database, "answers": answers})


if __name__ == "__main__":
    FILE.write_bytes(_reduce(whole(Path(sys.argv[1]))))
