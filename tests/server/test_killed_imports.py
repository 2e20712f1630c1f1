"""Imports of each kind that are killed while another one runs (CACHELOG_TEST_KILLS times)."""

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

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.history_queries import missing_pairs
from snapshots.models import RevisionInfo
from tests.expensive import cases
from tests.server.cache_pages import detail, history_of, page, write_page
from tests.server.commands import cachelog
from tests.snapshots.factories import hash_of
from tests.snapshots.importers import publish_state
from tests.snapshots.sources.git.repositories import ZLIB, Repository

KILLS = int(os.environ.get("CACHELOG_TEST_KILLS", cases(12)))
SPECS = 40


def pages(folder: Path, number: int) -> list[object]:
    """Write pages of two tags, with specs of this import; return the arguments that import them."""
    specs = [detail(hash_of(f"page {number} {row}")) for row in range(SPECS)]
    for tag in ("develop", "v1"):
        for place, name in enumerate(("zlib", "hdf5")):
            content = page(name, spec_details=specs[place::2], categories=["package", tag])
            write_page(folder / str(number) / "_cache", content, f"{tag}/{name}/specs.md")
    return [folder / str(number), "--taken-at", f"20{number // 300 + 10}-01-01"]


repository_in = cache(Repository)


def repository(folder: Path, number: int) -> list[object]:
    """Add a commit to a repository of pages; return the arguments that import it."""
    specs = [detail(hash_of(f"oid {number} {row}")) for row in range(SPECS)]
    repository_in(folder).commit({ZLIB: page(spec_details=specs)})
    return ["--git", folder]


KINDS: list[Callable[[Path, int], list[object]]] = [pages, repository]


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


def sound_revisions(location: Path) -> set[RevisionInfo]:
    """Return the revisions of a catalog, after all contents and stored changes are verified."""
    result = cachelog("verify", catalog=location)
    assert result.code == 0, result.out
    return set(history_of(location).revisions)


def test_killed_imports_leave_a_sound_catalog(tmp_path: Path) -> None:
    """Earlier revisions stay, none is partial, a retry succeeds, and changes can be filled."""
    processes = get_context("forkserver")
    processes.set_forkserver_preload(["tests.server.test_killed_imports"])
    random = Random(0)
    location = tmp_path / "catalog"
    settings: dict[str, Any] = {"catalog": location, "cache_dir": tmp_path / "cache"}
    publish_state(Catalog(str(location)), 0)
    earlier = sound_revisions(location)
    num_interrupted = 0
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
        now = sound_revisions(location)
        assert earlier <= now
        result = cachelog("import", *arguments, "--json", **settings)
        assert result.code == 0, result.err
        num_interrupted += any(it["isNew"] for it in result.json["revisions"])
        earlier = sound_revisions(location)
        assert now <= earlier
    assert num_interrupted > 0
    assert cachelog("upkeep", "--keep", "all", catalog=location).code == 0
    catalog = Catalog(str(location))
    assert missing_pairs(catalog, catalog.require_history()) == []
    assert sound_revisions(location) == earlier
