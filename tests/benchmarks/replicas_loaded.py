"""What two replicas behind a proxy answer beside one, while revisions are imported.

Each turn asks for pages of 1,000 specs of one revision, in turns and never from the cache of
answers, and in each turn a new revision of as many specs is imported. Every answer must be
byte by byte that of a single server, and afterwards all replicas must have the same revisions.

Two cores cannot show what two machines do: the client, the proxy, the store and the importer need
some as well, and two processes on a core are in each other's way in its caches. So replicas are
measured beside two servers that share nothing, as each has a catalog of its own: with a core each
those hold twice the requests of one. What a request takes of a processor at replicas, by what it
takes at these, tells how much less than twice replicas hold: 2 / 1.11 = 1.8.

The servers have one core alone, all else has the other. Each has as many connections, so that two
are as busy as one. What a replica takes in the meantime that nobody asks, for looking and for
reading what is new, is measured at another one, and is no part of what a request takes.
"""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import cache
from multiprocessing import get_context
from operator import truediv
from pathlib import Path
from statistics import median
from typing import NamedTuple

import orjson

from snapshots.catalog.catalog import Catalog
from tests.benchmarks.checked_load import COLD, NEEDED, Files, asked, is_possible, load, questions
from tests.benchmarks.churn import LivingCache
from tests.benchmarks.measurements import Measurement, Target, summary
from tests.benchmarks.over_http import CONNECTIONS, cachelog
from tests.benchmarks.plans import Plan
from tests.benchmarks.processes import Cores, Server, serving
from tests.deploy.proxies import UNLIMITED, nginx
from tests.server.servers import until

_ONE = "one replica"
_TWO = "two replicas on the same core"
_STRANGERS = "two servers with a catalog each, so"
_TARGET = Target(2 / 1.8)

_SECONDS = 10
"""How long a turn is: there is an import in each."""

_TAG = "imported-meanwhile"


class _Turn(NamedTuple):
    """What one turn came to.

    ``rate`` is requests a second, ``cost`` milliseconds of a processor that a request takes at the
    servers, and ``idle`` milliseconds that a replica takes each second that nobody asks.
    """

    rate: float
    cost: float
    idle: float


class _Contender(NamedTuple):
    """Servers behind a proxy."""

    url: str
    servers: Sequence[Server]


def run(plan: Plan, location: str, other: str, folder: Path) -> Iterator[Measurement]:
    """Measure on two catalogs on object storage that have the data of ``plan``."""
    if not is_possible():
        plan.notes.append(NEEDED)
        return
    cores = Cores.available()
    if cores.server is None:
        plan.notes.append("replicas are not pinned to cores: two cores and taskset needed")
    with ExitStack() as running:
        running.enter_context(_staying_on(cores.load))
        servers, contenders = _started(running, (location, other), folder, cores)
        files = questions(
            [*servers, *contenders[_STRANGERS].servers], plan.data.digests()[-1], folder
        )
        importer = running.enter_context(ProcessPoolExecutor(1, mp_context=get_context("spawn")))
        seconds = max(1, round(_SECONDS * plan.seconds))
        found: dict[str, list[_Turn]] = {name: [] for name in contenders}
        for number in range(plan.rounds + 1):
            for name, it in contenders.items():
                importing = importer.submit(_import, location, plan.data.specs)
                turn = _turn(it, servers[-1], files, seconds)
                importing.result()
                if number:
                    found[name].append(turn)
        _require_all_have(servers, _TAG, (plan.rounds + 1) * len(contenders))
    yield from _summaries(plan, found)


def _summaries(plan: Plan, found: dict[str, list[_Turn]]) -> Iterator[Measurement]:
    what = f"lists of 1,000 of {plan.data.specs:,} specs, behind nginx, an import in each round"
    for subject, unit, field, target in (
        (what, "ms of a processor a request", 1, _TARGET),
        (f"requests for {what}", "requests/s", 0, None),
    ):
        values = {name: [turn[field] for turn in turns] for name, turns in found.items()}
        for name, those in values.items():
            yield summary(
                "replicas",
                subject,
                name,
                unit=unit,
                values=those,
                # By rounds, each of which has a time of its own on a machine that is not quiet.
                ratio=median(map(truediv, those, values[_STRANGERS])),
                target=target if name == _TWO else None,
            )
    yield summary(
        "replicas",
        "a replica that nobody asks, meanwhile",
        "cachelog serve, in a bucket",
        unit="ms of a processor a second",
        values=[turn.idle for turns in found.values() for turn in turns],
    )


# -- what runs


@contextmanager
def _staying_on(core: int | None) -> Iterator[None]:
    """Stay on one core, with all that is started from here and not pinned elsewhere."""
    before = os.sched_getaffinity(0)
    if core is not None:
        os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _started(
    running: ExitStack, locations: tuple[str, str], folder: Path, cores: Cores
) -> tuple[list[Server], dict[str, _Contender]]:
    """Return three servers of the first catalog, of which no contender asks the last, and these."""
    ways = [cachelog(it, **COLD) for it in locations]
    one, two, unasked, stranger = (
        running.enter_context(
            serving(how.command, environ=how.environ, core=cores.server, ready=how.ready)
        )
        for how in (*ways[:1] * 3, ways[1])
    )
    contenders: dict[str, _Contender] = {}
    for name, servers in {_STRANGERS: [one, stranger], _TWO: [one, two], _ONE: [one]}.items():
        own = folder / f"proxy-{len(contenders)}"
        own.mkdir()
        # All clients of a benchmark have one address.
        proxy = running.enter_context(nginx([it.url for it in servers], own, UNLIMITED))
        contenders[name] = _Contender(proxy.url, servers)
    return [one, two, unasked], contenders


@cache
def _cache(specs: int) -> LivingCache:
    return LivingCache(specs)


def _import(location: str, specs: int) -> None:
    """Publish the next day of a cache that lives, from a process that keeps it."""
    living = _cache(specs)
    Catalog(location).publish([living.snapshot(_TAG)])
    living.live()


# -- what is measured


def _turn(contender: _Contender, unasked: Server, files: Files, seconds: int) -> _Turn:
    servers = [*contender.servers, unasked]
    before = [_processor_seconds(it) for it in servers]
    connections = CONNECTIONS * len(contender.servers)
    requests, took = load(contender.url, files, seconds, connections)
    used = [_processor_seconds(it) - then for it, then in zip(servers, before, strict=True)]
    *asked_ones, idle = used
    cost = (sum(asked_ones) - idle * len(asked_ones)) / requests
    return _Turn(requests / took, cost * 1_000, idle / took * 1_000)


def _processor_seconds(server: Server) -> float:
    """Return how long a process has had a processor so far."""
    fields = Path(f"/proc/{server.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _require_all_have(servers: Sequence[Server], tag: str, number: int) -> None:
    """Wait until each replica has all that was imported; leave where order or digests differ."""
    query = f'{{revisions(first:1000,tag:"{tag}"){{nodes{{id digest}}}}}}'
    body = orjson.dumps({"query": query})

    def nodes(server: Server) -> list[object]:
        found: list[object] = orjson.loads(asked(server, body))["data"]["revisions"]["nodes"]
        return found

    for it in servers:
        until(lambda: len(nodes(it)) == number, f"a replica has {number} new revisions", 10)  # noqa: B023
    if any(nodes(it) != nodes(servers[0]) for it in servers):
        raise SystemExit("replicas know other revisions")
