"""Naming what is broken in a Delta table's log, where the library that reads it does not."""

import re

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from snapshots.catalog.store.storage import Storage

DROP = "if the power was cut while it was written, 'cachelog verify --repair' drops it; else "
"""What to do about a file that ``droppable`` returns, before what else there is to do."""

_COMMIT = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint\..*parquet")


def what_is_broken(storage: Storage, table: str) -> str | None:
    """Return which file of a table's log is at fault, and how; None where all of them look well.

    Every commit is read, so this is for after a failure. Raises what the store raises.
    """
    folder, commits, checkpoints = _log_of(storage, table)
    for name in commits.values():
        if not _is_commit(bytes(storage.read(f"{folder}/{name}"))):
            return f"{folder}/{name} is no commit of a Delta table"
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


def droppable(storage: Storage, table: str) -> str | None:
    """Return the path of the last file of a log where it is unreadable and nothing rests on it.

    That is the last commit, or the last checkpoint where the commits since the one before it are
    there. Raises what the store raises.
    """
    folder, commits, checkpoints = _log_of(storage, table)
    last = max(commits, default=-1)
    newest = max(checkpoints.values(), default=-1)
    if newest < last and not _is_commit(bytes(storage.read(f"{folder}/{commits[last]}"))):
        return f"{folder}/{commits[last]}"
    older = max((it for it in checkpoints.values() if it < newest), default=-1)
    for name, version in checkpoints.items():
        if (
            version == newest
            and set(range(older + 1, newest + 1)) <= commits.keys()
            and not _is_parquet(storage.read(f"{folder}/{name}"))
        ):
            return f"{folder}/{name}"
    return None


def what_to_do(storage: Storage, table: str, reason: str, advice: str) -> str:
    """Return ``advice`` about a reason that begins with a path, and ``DROP`` where that helps."""
    path = droppable(storage, table)
    return DROP + advice if path and reason.startswith(path) else advice


def drop(storage: Storage, path: str) -> None:
    """Remove what ``droppable`` returns; raises what the store raises."""
    if not path.endswith(".json"):
        # It names the checkpoint, and readers believe it. Without it they look for the last one.
        storage.remove(f"{path.rpartition('/')[0]}/_last_checkpoint")
    storage.remove(path)


def _log_of(storage: Storage, table: str) -> tuple[str, dict[int, str], dict[str, int]]:
    """Return a log's folder, its commits by version, and the files of checkpoints with theirs."""
    folder = f"{table}/_delta_log"
    names = sorted(storage.sizes(folder))
    commits = {int(found[1]): found[0] for found in map(_COMMIT.fullmatch, names) if found}
    checkpoints = {it[0]: int(it[1]) for it in map(_CHECKPOINT.fullmatch, names) if it}
    return folder, commits, checkpoints


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
