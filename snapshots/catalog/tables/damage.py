"""Naming what is broken in a Delta table's log, where the library that reads it does not."""

import re

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from snapshots.catalog.store.storage import Storage

_COMMIT = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(r"\d{20}\.checkpoint\..*parquet")


def what_is_broken(storage: Storage, table: str) -> str | None:
    """Return which file of a table's log is at fault, and how; None where all of them look well.

    Every commit is read, so this is for after a failure. Raises what the store raises.
    """
    folder = f"{table}/_delta_log"
    names = sorted(storage.sizes(folder))
    commits = {int(found[1]): found[0] for found in map(_COMMIT.fullmatch, names) if found}
    for name in commits.values():
        if not _is_commit(bytes(storage.read(f"{folder}/{name}"))):
            return f"{folder}/{name} is no commit of a Delta table"
    checkpoints = [name for name in names if _CHECKPOINT.fullmatch(name)]
    for name in checkpoints:
        if not _is_parquet(storage.read(f"{folder}/{name}")):
            return f"{folder}/{name} is no checkpoint of a Delta table"
    if not checkpoints and 0 not in commits:
        return f"{folder} lacks its first commit, and has no checkpoint"
    if not commits:
        return None
    if gaps := sorted(set(range(min(commits), max(commits))) - commits.keys()):
        return f"{folder} lacks the commit {gaps[0]:020}.json"
    return None


def _is_parquet(data: pa.Buffer) -> bool:
    try:
        with pq.ParquetFile(pa.BufferReader(data)) as file:
            file.read()
    except (pa.ArrowException, OSError):
        return False
    return True


def _is_commit(data: bytes) -> bool:
    try:
        actions = [orjson.loads(line) for line in data.splitlines() if line.strip()]
    except orjson.JSONDecodeError:
        return False
    return bool(actions) and all(isinstance(action, dict) for action in actions)
