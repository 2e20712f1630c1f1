"""``years``: a catalog of 250 revisions, compared with one of only the last ten of them.

Both end with the same contents, so that most requests have the same responses. Those that list
more revisions are larger, and may take longer. Times are processor times, as other processes hardly
affect these.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from http.client import HTTPConnection
from itertools import cycle, islice
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median
from time import process_time
from typing import NamedTuple
from urllib.parse import quote, urlsplit

import orjson
import pyarrow as pa
from deltalake import DeltaTable

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.history_tables import HISTORY_TABLES
from snapshots.contents import Snapshot
from snapshots.demo.draws import Draw
from tests.benchmarks.measurements import Measurement, compared
from tests.benchmarks.over_http import cachelog
from tests.benchmarks.plans import Plan
from tests.benchmarks.processes import in_fresh_process, serving
from tests.benchmarks.years import catalog_of_years, copy_of, next_states, read_states

FEW = 10
DISK = "a revision on disk"

_MB = 1_000_000
_SECONDS = 60
_TABLES = {"contents": ("specs",), "history": HISTORY_TABLES, "list of revisions": ("revisions",)}
_COMMANDS = ("log --limit 10", "find * --limit 1", "diff develop~1 develop")

Values = dict[tuple[str, str], float]
"""Measured values, by subject and unit."""


class _Catalogs(NamedTuple):
    """The catalogs of few and of many revisions, by the names of these contenders."""

    few: Path
    many: Path
    names: tuple[str, str]


def run(plan: Plan) -> Iterator[Measurement]:
    """Measure disk, publishing, start, memory, requests and commands."""
    num_many, num_few = plan.contents, min(FEW, plan.contents // 2)
    create = partial(catalog_of_years, plan.data.cache, specs=plan.specs_of_years)
    catalogs = _Catalogs(
        create(revisions=num_few, after=num_many - num_few),
        create(revisions=num_many),
        (f"{num_few:,} revisions", f"cachelog: {num_many:,} revisions"),
    )
    states = next_states(plan.data.cache, after=num_many, specs=plan.specs_of_years)
    yield from _measured(catalogs, 1, _stored)
    publish = partial(_published, states)
    yield from _measured(catalogs, plan.rounds, lambda it: in_fresh_process(publish, it))
    requests = {folder: _requests(folder) for folder in catalogs[:2]}
    times = min(plan.calls, 11)
    yield from _measured(catalogs, plan.rounds, lambda it: _served(requests[it], times, it))
    yield from _measured(catalogs, plan.rounds, _commands)


def _measured(
    catalogs: _Catalogs, rounds: int, turn: Callable[[Path], Values]
) -> Iterator[Measurement]:
    """Yield the measurements of turns, which alternate; a first round only warms up."""
    results = [[turn(folder) for folder in catalogs[:2]] for _ in range(rounds + 1)][1:]
    for subject, unit in results[0][0]:
        values = zip(*([it[subject, unit] for it in both] for both in results), strict=True)
        yield from compared(
            "years",
            subject,
            dict(zip(catalogs.names, values, strict=True)),
            unit=unit,
        )


# -- disk


def _stored(folder: Path) -> Values:
    """Return the size on disk per revision, in total and of each group of tables."""
    number = len(Catalog(str(folder)).require_history().revisions)
    sizes = {
        name: sum(_megabytes(folder / table) for table in tables) / number
        for name, tables in _TABLES.items()
    }
    parts = {(f"{DISK}: {name}", "MB"): size for name, size in sizes.items()}
    return {(DISK, "MB"): sum(sizes.values()), **parts}


def _megabytes(table: Path) -> float:
    """Return the size of the log of a table, and of the files that it lists."""
    log = sum(file.stat().st_size for file in (table / "_delta_log").iterdir())
    listed = pa.table(DeltaTable(table).get_add_actions(flatten=True))["size_bytes"]
    return float(log + sum(listed.to_pylist())) / _MB


# -- publishing


def _published(states: Path, folder: Path) -> Values:
    """Publish two states into a copy of a catalog; return the time of each in milliseconds."""
    with tempfile.TemporaryDirectory(dir=folder.parent) as parent:
        catalog = Catalog(str(copy_of(folder, Path(parent, "catalog"))))
        first, second = (_publish(catalog, snapshot) for snapshot in read_states(states))
    return {
        ("publish the first revision of a process", "ms"): first,
        ("publish the next one", "ms"): second,
    }


def _publish(catalog: Catalog, snapshot: Snapshot) -> float:
    start = process_time()
    (publication,) = catalog.publish([snapshot])
    milliseconds = (process_time() - start) * 1_000
    if not publication.is_new or publication.not_stored:
        raise SystemExit(f"years: {publication}")
    return milliseconds


# -- requests

_DRAWN = 12
_AWAY = 8

_LIST = '{revision(ref:"develop"){specs(first:1000){totalCount nodes{hash name version}}}}'
_COMPARE = (
    '{compare(base:"develop~NUMBER",head:"develop"){'
    "summary{numSpecsAdded numSpecsRemoved numPackagesUpgraded numSpecsRebuilt numCellsLost}"
    "specs(first:10){nodes{kind reason hash name}} causes(first:5){nodes{kind}}}}"
)
_HASH = '{hash(hash:"HASH"){spans{reasonCame first{tagName takenAt} goneIn{tagName}}}}'
_PACKAGE = (
    '{series(name:"develop"){package(name:"NAME"){firstSeen{takenAt} lastSeen{takenAt} '
    "entries(first:10){totalCount nodes{kind numSpecsAdded reasons{reason numSpecs} "
    "revision{takenAt}}}}}}"
)
_SERIES = (
    '{series(name:"develop"){latest{numSpecs} '
    "revisions(first:10){totalCount nodes{tagName takenAt confirmedAt numSpecs}}}}"
)
_REVISIONS = (
    "{revisions(first:10){nodes{tagName takenAt digest numSpecs}} tags{name latest{takenAt}}}"
)


def _requests(folder: Path) -> dict[str, list[str]]:
    """Return the paths and GraphQL documents to request, by what they are about."""
    catalog = Catalog(str(folder))
    newest = catalog.require_history().of_tag("develop")[0]
    frame, draw = catalog.reader().frame(newest.digest), Draw(1)
    rows = [int(draw.random() * len(frame)) for _ in range(_DRAWN)]
    hashes = [frame.hashes.at(row) for row in rows]
    names = [frame.package.at(row) for row in rows]
    return {
        "1,000 specs of the newest revision": [_LIST],
        "what changed to its neighbour": [_COMPARE.replace("NUMBER", "1")],
        f"what changed to {_AWAY} before it": [_COMPARE.replace("NUMBER", str(_AWAY))],
        "a hash's history": [_HASH.replace("HASH", it) for it in hashes],
        "a package's history": [_PACKAGE.replace("NAME", it) for it in names],
        "the newest of a series": [_SERIES],
        "the newest of all revisions": [_REVISIONS],
        "all points of the growth": ['{series(name:"develop"){growth{numSpecsAdded}}}'],
        "page /": ["/"],
        "page of a series": ["/series/develop"],
        "page of what changed": ["/compare/develop~1...develop"],
        "a series' feed": ["/feeds/develop.atom"],
        "a package's feed": [f"/feeds/develop/{quote(it)}.atom" for it in names],
        "/health/ready": ["/health/ready"],
    }


def _served(requests: dict[str, list[str]], times: int, folder: Path) -> Values:
    """Return the values of a server without a response cache.

    Each request is sent once, and then ``times`` more, of which the median counts. Raises
    SystemExit if a response has errors.
    """
    how = cachelog(folder, CACHELOG_RESPONSE_CACHE="0")
    with serving(how.command, environ=how.environ, ready=how.ready) as server:
        values: Values = {
            ("start of a server, until /health/ready answers", "s"): _cpu_seconds(server.pid),
            ("memory of a server, started", "MB"): _resident_mb(server.pid),
        }
        parts = urlsplit(server.url)
        connection = HTTPConnection(parts.hostname or "", parts.port, timeout=_SECONDS)
        milliseconds: dict[str, list[float]] = {}
        for name, texts in requests.items():
            turns = islice(cycle(texts), times + 1)
            milliseconds[name] = [_milliseconds(connection, server.pid, text) for text in turns]
        connection.close()
        values["memory of a server, asked", "MB"] = _resident_mb(server.pid)
    first = {(f"{name}: first time", "ms"): taken[0] for name, taken in milliseconds.items()}
    later = {(f"{name}: later", "ms"): median(taken[1:]) for name, taken in milliseconds.items()}
    return values | first | later


def _milliseconds(connection: HTTPConnection, pid: int, text: str) -> float:
    """Request a path or a GraphQL document; return the processor time of the server."""
    before = _cpu_seconds(pid)
    if text.startswith("/"):
        connection.request("GET", text, headers={"Accept": "text/html, */*"})
    else:
        body = orjson.dumps({"query": text})
        connection.request("POST", "/graphql", body, {"Content-Type": "application/json"})
    response = connection.getresponse()
    content = response.read()
    if response.status != 200 or b'"errors"' in content[:2_000]:
        raise SystemExit(f"{text}: {response.status} {content[:500].decode(errors='replace')}")
    return 1_000 * (_cpu_seconds(pid) - before)


def _cpu_seconds(pid: int) -> float:
    """Return the processor time of the current threads of a process, finer than its own."""
    threads = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9


def _resident_mb(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / _MB


# -- commands


def _commands(folder: Path) -> Values:
    """Return the processor time of each command, which must succeed."""
    values: Values = {}
    for command in _COMMANDS:
        before = getrusage(RUSAGE_CHILDREN)
        subprocess.run(
            [Path(sys.executable).with_name("cachelog"), *command.split()],
            env={**os.environ, "CACHELOG_CATALOG": str(folder)},
            check=True,
            stdout=subprocess.DEVNULL,
        )
        after = getrusage(RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        values[f"cachelog {command}", "s"] = seconds
    return values
