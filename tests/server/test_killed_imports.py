"""Imports of each kind that are killed while another one runs.

The suite kills three; ``CACHELOG_TEST_KILLS`` overrides the number.
"""

import os
from collections.abc import Callable
from functools import cache
from itertools import count
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from time import sleep
from typing import Any

import pyarrow.compute as pc

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.history_queries import fill, missing_pairs
from snapshots.changes.stored_changes import changes_to_store
from snapshots.history import Pair
from snapshots.models import RevisionInfo
from tests.expensive import cases
from tests.server.cache_pages import detail, page, write_page
from tests.server.commands import cachelog
from tests.snapshots.factories import hash_of
from tests.snapshots.importers import publish_state
from tests.snapshots.sources.buildcache.folders import put, text
from tests.snapshots.sources.buildcache.indexes import database, node
from tests.snapshots.sources.git.repositories import ZLIB, Repository

KILLS = int(os.environ.get("CACHELOG_TEST_KILLS", cases(8)))
SPECS = 40


def details(number: int) -> list[dict[str, object]]:
    """Return specs that no two numbers share."""
    return [detail(hash_of(f"page {number} {row}")) for row in range(SPECS)]


def pages(folder: Path, number: int) -> list[object]:
    """Write pages of two tags; return the arguments that import them."""
    for tag in ("develop", "v1"):
        for name in ("zlib", "hdf5"):
            specs = details(number)[name == "zlib" :: 2]
            content = page(name, spec_details=specs, categories=["package", tag])
            write_page(folder / str(number) / "_cache", content, f"{tag}/{name}/specs.md")
    return [folder / str(number), "--taken-at", f"20{number // 300 + 10}-01-01"]


def index(folder: Path, number: int) -> list[object]:
    """Write an index; return the arguments that import it."""
    specs = [node(f"p{row}", hash_of(f"index {number} {row}"), str(number)) for row in range(SPECS)]
    file = put(folder / f"{number}.json", text(database(*specs)))
    return [file, "--tag", "index", "--no-proof"]


repository_in = cache(Repository)


def repository(folder: Path, number: int) -> list[object]:
    """Add a commit to a repository of pages; return the arguments that import it."""
    repository_in(folder).commit({ZLIB: page(spec_details=details(number))})
    return ["--git", folder]


KINDS: list[Callable[[Path, int], list[object]]] = [pages, index, repository]


def import_in_process(
    arguments: list[object], settings: dict[str, Any], receiver: Connection
) -> None:
    """Import in this process."""
    receiver.send(None)
    cachelog("import", *arguments, **settings)


def publish_forever(location: str, first: int, receiver: Connection) -> None:
    """Publish one revision after the other."""
    receiver.send(None)
    for number in count(first):
        publish_state(Catalog(location), number % 90)


def revisions_of(location: Path, checked: set[RevisionInfo]) -> set[RevisionInfo]:
    """Return the revisions of a catalog, after reading each that is not ``checked`` completely."""
    catalog = Catalog(str(location))
    catalog.refresh()
    revisions = set(catalog.history.revisions)
    for revision in revisions - checked:
        frame = catalog.reader().frame(revision.digest)
        dependencies = catalog.reader().dependencies(revision.digest)
        assert len(frame) == revision.num_specs <= len(dependencies)
        assert len(frame) >= 10
    return revisions


def check_changes(location: Path, checked: set[Pair]) -> None:
    """Compare the stored changes of pairs that are not ``checked`` with their contents."""
    catalog = Catalog(str(location))
    catalog.refresh()
    for pair in (catalog.changes.counts.keys() & catalog.history.pairs) - checked:
        expected = changes_to_store(*map(catalog.reader().side, pair))
        rows = catalog.changes.changes_of(expected.rows["name"].to_pylist())
        mask = pc.and_(pc.equal(rows["base"], pair.base), pc.equal(rows["head"], pair.head))
        assert rows.filter(mask).to_pylist() == expected.rows.to_pylist()
        assert catalog.changes.counts[pair] == expected.counts
        added = expected.rows.filter(pc.equal(expected.rows["kind"], "added"))
        packages = dict(zip(added["hash"].to_pylist(), added["name"].to_pylist(), strict=True))
        assert catalog.changes.packages_of(packages) == packages
        checked.add(pair)


def test_killed_imports_leave_a_sound_catalog(tmp_path: Path) -> None:
    """All earlier revisions stay readable, no partial one is visible, and a retry succeeds.

    Stored changes are complete and correct, and missing ones can be filled.
    """
    processes = get_context("forkserver")
    processes.set_forkserver_preload(["tests.server.test_killed_imports"])
    random = Random(0)
    location = tmp_path / "catalog"
    settings: dict[str, Any] = {"catalog": location, "cache_dir": tmp_path / "cache"}
    publish_state(Catalog(str(location)), 0)
    earlier = revisions_of(location, set())
    num_interrupted = 0
    checked: set[Pair] = set()
    for number in range(KILLS):
        write = KINDS[number % len(KINDS)]
        arguments = write(tmp_path / write.__name__, number)
        running = []
        for target, values in (
            (import_in_process, (arguments, settings)),
            (publish_forever, (str(location), number)),
        ):
            receiver, signal = processes.Pipe(duplex=False)
            process = processes.Process(target=target, args=(*values, signal))
            process.start()
            running.append((process, receiver))
        for _, receiver in running:
            assert receiver.recv() is None
        random.shuffle(running)
        for process, _ in running:
            sleep(random.uniform(0, 0.15))
            process.kill()
            process.join()
        now = revisions_of(location, earlier)
        assert earlier <= now
        result = cachelog("import", *arguments, "--json", **settings)
        assert result.code == 0, result.err
        num_interrupted += any(revision["published"] for revision in result.json["revisions"])
        after = revisions_of(location, now)
        assert now <= after
        earlier = after
        check_changes(location, checked)
    assert num_interrupted > 0
    catalog = Catalog(str(location))
    missing = missing_pairs(catalog, catalog.require_history())
    assert fill(catalog, missing).num_made == len(missing)
    check_changes(location, checked)
    assert checked >= set(catalog.history.pairs)
