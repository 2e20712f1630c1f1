"""Imports of each kind that are killed while another runs beside them.

Three are killed by default; ``CACHELOG_TEST_KILLS=200 pytest tests/server/test_killed_imports.py``
kills as many as it says.
"""

import os
from collections.abc import Callable
from itertools import count
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from time import sleep
from typing import Any

import orjson
import pyarrow.compute as pc

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.past import fill, missing_pairs
from snapshots.changes.kept_changes import keep_changes
from snapshots.history import Pair
from snapshots.models import RevisionInfo
from tests.expensive import cases
from tests.server.cache_pages import detail, page
from tests.server.commands import cachelog
from tests.server.test_cli_import import commit, git
from tests.snapshots.factories import hash_of
from tests.snapshots.importers import publish_state

KILLS = int(os.environ.get("CACHELOG_TEST_KILLS", cases(8)))
SPECS = 40


def details(number: int) -> list[dict[str, object]]:
    """Return so many specs that no two numbers share."""
    return [detail(hash_of(f"page {number} {row}")) for row in range(SPECS)]


def pages(folder: Path, number: int) -> list[object]:
    """Write two tags of pages, and return how to import them."""
    for tag in ("develop", "v1"):
        for name in ("zlib", "hdf5"):
            file = folder / str(number) / "_cache" / tag / name / "specs.md"
            file.parent.mkdir(parents=True)
            specs = details(number)[name == "zlib" :: 2]
            file.write_bytes(page(name, spec_details=specs, categories=["package", tag]))
    return [folder / str(number), "--taken-at", f"20{number // 300 + 10}-01-01"]


def index(folder: Path, number: int) -> list[object]:
    """Write an index, and return how to import it."""
    target = {"platform": "linux", "platform_os": "ubuntu24.04", "target": "x86_64_v3"}
    installs = {}
    for row in range(SPECS):
        spec = {"name": f"p{row}", "version": str(number), "arch": target, "parameters": {}}
        spec["hash"] = hash_of(f"index {number} {row}")
        installs[spec["hash"]] = {"spec": spec, "in_buildcache": True}
    folder.mkdir(exist_ok=True)
    file = folder / f"{number}.json"
    file.write_bytes(orjson.dumps({"database": {"version": "7", "installs": installs}}))
    return [file, "--tag", "index"]


def repository(folder: Path, number: int) -> list[object]:
    """Add a commit to a repository of pages, and return how to import it."""
    file = folder / "_cache" / "develop" / "zlib" / "specs.md"
    if not file.exists():
        file.parent.mkdir(parents=True)
        git(folder, "init", "--quiet")
    file.write_bytes(page(spec_details=details(number)))
    commit(folder, f"2024-01-01T{number // 60 % 24:02}:{number % 60:02}:00Z")
    return ["--git", folder]


KINDS: list[Callable[[Path, int], list[object]]] = [pages, index, repository]


def run(arguments: list[object], settings: dict[str, Any], started: Connection) -> None:
    """Import in this process."""
    started.send(None)
    cachelog("import", *arguments, **settings)


def publish_beside(location: str, first: int, started: Connection) -> None:
    """Publish one state after the other."""
    started.send(None)
    for number in count(first):
        publish_state(Catalog(location), number % 90)


def revisions_of(location: Path, checked: set[RevisionInfo]) -> set[RevisionInfo]:
    """Return the revisions of a catalog; those that were not checked before are read whole."""
    catalog = Catalog(str(location))
    catalog.refresh()
    revisions = set(catalog.history.revisions)
    for revision in revisions - checked:
        frame = catalog.load(revision.digest)
        dependencies = catalog.reader().dependencies(revision.digest)
        assert len(frame) == revision.num_specs <= len(dependencies)
        assert len(frame) >= 10
    return revisions


def check_changes(location: Path, checked: set[Pair]) -> None:
    """Hold what is kept of neighbours against their contents, of pairs that are not checked yet."""
    catalog = Catalog(str(location))
    catalog.refresh()
    for pair in (catalog.counts.keys() & catalog.history.pairs) - checked:
        expected = keep_changes(*map(catalog.load_side, pair))
        rows = catalog.changes.changes_of(expected.rows["name"].to_pylist())
        mask = pc.and_(pc.equal(rows["base"], pair.base), pc.equal(rows["head"], pair.head))
        assert rows.filter(mask).to_pylist() == expected.rows.to_pylist()
        assert catalog.counts[pair] == expected.counts
        added = expected.rows.filter(pc.equal(expected.rows["kind"], "added"))
        packages = dict(zip(added["hash"].to_pylist(), added["name"].to_pylist(), strict=True))
        assert catalog.changes.packages_of(packages) == packages
        checked.add(pair)


def test_killed_imports(tmp_path: Path) -> None:
    """Every earlier revision stays readable, nothing half is seen, and the same import goes on.

    What is kept of neighbours is whole and true, and what is not kept can be filled.
    """
    processes = get_context("forkserver")
    processes.set_forkserver_preload(["tests.server.test_killed_imports"])
    random = Random(0)
    location = tmp_path / "catalog"
    settings: dict[str, Any] = {"catalog": location, "cache_dir": tmp_path / "cache"}
    publish_state(Catalog(str(location)), 0)
    known = revisions_of(location, set())
    num_cut = 0
    checked: set[Pair] = set()
    for number in range(KILLS):
        kind = KINDS[number % len(KINDS)]
        arguments = kind(tmp_path / kind.__name__, number)
        running = []
        for target, values in (
            (run, (arguments, settings)),
            (publish_beside, (str(location), number)),
        ):
            started, signal = processes.Pipe(duplex=False)
            process = processes.Process(target=target, args=(*values, signal))
            process.start()
            running.append((process, started))
        for _, started in running:
            assert started.recv() is None
        random.shuffle(running)
        for process, _ in running:
            sleep(random.uniform(0, 0.15))
            process.kill()
            process.join()
        now = revisions_of(location, known)
        assert known <= now
        done = cachelog("import", *arguments, "--json", **settings)
        assert done.code == 0, done.err
        num_cut += any(revision["published"] for revision in done.json["revisions"])
        after = revisions_of(location, now)
        assert now <= after
        known = after
        check_changes(location, checked)
    assert num_cut > 0
    catalog = Catalog(str(location))
    missing = missing_pairs(catalog, catalog.require_history())
    assert fill(catalog, missing).num_made == len(missing)
    check_changes(location, checked)
    assert checked >= set(catalog.history.pairs)
