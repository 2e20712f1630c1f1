"""Snapshots read from a location, and served lists of tags and stacks."""

from pathlib import Path
from typing import Any

from snapshots.contents import Snapshot
from snapshots.models import Spec
from snapshots.sources.reports import Report
from snapshots.sources.settings import ReadSettings
from tests.snapshots.sources.buildcache.misbehaving_servers import Server, document
from tests.snapshots.sources.readings import read_cache

QUICK = ReadSettings(attempts=2, backoff=0.001, timeout=5, proof=False)
"""Made-up indexes have made-up hashes."""


def snapshots(
    location: str | Path,
    *tags: str,
    sizes: bool = False,
    settings: ReadSettings = QUICK,
    report: Report | None = None,
) -> list[Snapshot]:
    """Read all snapshots at a location."""
    report = report or Report()
    return list(read_cache(str(location), tags=tags, sizes=sizes, settings=settings, report=report))


def by_hash(snapshot: Snapshot) -> dict[str, Spec]:
    """Return the specs of a snapshot by their hashes."""
    return {spec.hash: spec for spec in snapshot.content.specs()}


def stacks_of(snapshot: Snapshot) -> dict[str, tuple[str, ...]]:
    """Return the stacks of each spec."""
    return {digest: spec.stacks for digest, spec in by_hash(snapshot).items()}


def serve_tags(server: Server, tags: dict[str, dict[str, Any]]) -> str:
    """Serve an index of layout 2 for each stack of each tag; return the URL of their list."""
    listed: dict[str, list[dict[str, str]]] = {}
    for tag, stacks in tags.items():
        for label, index in stacks.items():
            path = f"/{tag}/{label}/build_cache/index.json"
            server[path] = document(index)
            listed.setdefault(tag, []).append({"label": label, "url": server.at(path)})
    server["/tags.json"] = document(listed)
    return server.at("/tags.json")
