"""What the commit of a Delta table says of files."""

from collections.abc import Mapping
from time import time
from typing import Any

import orjson
from deltalake.transaction import AddAction, RemoveAction

from snapshots.tables import StoredFile

Ranges = Mapping[str, tuple[str, str]]
"""The smallest and the largest value of columns."""


def add_action(
    file: StoredFile,
    num_rows: int,
    partition: Mapping[str, str],
    *,
    is_new: bool = True,
    ranges: Ranges | None = None,
) -> AddAction:
    """Return what a commit says of a file; ``is_new`` tells whether its rows were not there.

    By the ``ranges`` of its columns, which have no null then, readers know what to leave unread.
    """
    stats: dict[str, Any] = {"numRecords": num_rows}
    if ranges:
        stats["minValues"] = {name: low for name, (low, _) in ranges.items()}
        stats["maxValues"] = {name: high for name, (_, high) in ranges.items()}
        stats["nullCount"] = dict.fromkeys(ranges, 0)
    return AddAction(
        path=file.path,
        size=file.size,
        partition_values=dict(partition),
        modification_time=int(time() * 1_000),
        data_change=is_new,
        stats=orjson.dumps(stats).decode(),
    )


def remove_action(
    path: str, size: int, partition: Mapping[str, str] | None = None, *, is_lost: bool = True
) -> RemoveAction:
    """Return what a commit says of a file that is no longer part of its table.

    ``is_lost`` tells whether its rows are gone with it, or stand in another file.
    """
    return RemoveAction(path, is_lost, int(time() * 1_000), size, {**(partition or {})})
