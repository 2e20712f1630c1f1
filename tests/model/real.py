"""Indexes of a real build cache."""

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from msgspec.structs import replace

from snapshots.models import Spec
from snapshots.sources.buildcache.database import IndexSpecs, decode
from snapshots.sources.reports import Report
from tests import real_data
from tests.snapshots.sources.buildcache.rehashing import rehashed

STACKS = ("developer-tools", "e4s", "ml-linux-aarch64-cpu")

Records = tuple[list[Spec], list[Spec]]
"""The specs in a cache, and those outside of it."""


def history() -> Path:
    """Return the folder of real indexes by dates."""
    return real_data.folder() / "spack-history"


def dates() -> list[str]:
    """Return the dates of the indexes, oldest first."""
    return sorted(folder.name for folder in history().iterdir() if folder.is_dir())


@cache
def index_of(date: str, stack: str, *, in_format_6: bool) -> bytes:
    """Return an index, unchanged or in format 6 of specs."""
    data = (history() / date / stack / "index.json").read_bytes()
    return json.dumps(rehashed(json.loads(data))[0]).encode() if in_format_6 else data


@cache
def _specs_of(date: str, stack: str) -> IndexSpecs:
    return decode(index_of(date, stack, in_format_6=False), f"{date}/{stack}", Report())


def records(date: str, stacks: Sequence[str] = STACKS) -> Records:
    """Return the specs of the indexes of some stacks, as those of one tag."""
    inside: dict[str, Spec] = {}
    outside: dict[str, Spec] = {}
    for stack in stacks:
        specs = _specs_of(date, stack)
        outside |= specs.outside
        for digest, spec in specs.in_cache.items():
            stacks = inside.get(digest, spec).stacks
            inside[digest] = replace(spec, stacks=tuple(sorted({*stacks, stack, "root"})))
    return list(inside.values()), [spec for spec in outside.values() if spec.hash not in inside]
