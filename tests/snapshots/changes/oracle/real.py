"""The indexes of a real Spack."""

from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from snapshots.models import Spec
from snapshots.sources.buildcache.specs import decode
from snapshots.sources.reports import Report
from tests import real_data

STACKS = ("developer-tools", "e4s", "ml-linux-aarch64-cpu")

Records = tuple[list[Spec], list[Spec]]
"""The specs in a cache, and those outside of it."""


def history() -> Path:
    """Return the folder of real indexes by dates."""
    return real_data.folder() / "spack-history"


def dates() -> list[str]:
    """Return the dates that there are indexes of, oldest first."""
    return sorted(it.name for it in history().iterdir() if it.is_dir())


def records(date: str, stacks: Sequence[str] = STACKS) -> Records:
    """Return what the indexes of some stacks hold together, as a tag of them would."""
    inside: dict[str, Spec] = {}
    outside: dict[str, Spec] = {}
    for stack in stacks:
        path = history() / date / stack / "index.json"
        found = decode(path.read_bytes(), str(path), Report())
        outside |= found.outside
        for digest, spec in found.in_cache.items():
            known = inside.get(digest, spec).stacks
            inside[digest] = replace(spec, stacks=tuple(sorted({*known, stack, "root"})))
    return list(inside.values()), [it for it in outside.values() if it.hash not in inside]
