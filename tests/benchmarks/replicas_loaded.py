"""What two replicas behind a proxy answer beside one, while revisions are imported.

Each turn asks for pages of 1,000 specs of one revision, in turns and never from the cache of
answers, and in each turn a new revision of as many specs is imported. Every answer must be
byte by byte that of a single server, and afterwards all replicas must have the same revisions.

Two cores cannot show what two machines do: the client, the proxy, the store and the importer need
some as well. So the servers of "one replica" and of "two on the same core" have one core alone, and
all else has the other. Where two on a core answer as many requests as one, each request takes as
much of a processor, and with a core each they answer twice as many. The processor time of the
servers is measured too, with all that they do beside: looking for revisions, and reading the new.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import orjson

from snapshots.catalog.catalog import Catalog
from tests.benchmarks.churn import LivingCache
from tests.benchmarks.measuring import Measurement, Target, summary
from tests.benchmarks.over_http import CONNECTIONS, cachelog
from tests.benchmarks.plans import Plan
from tests.benchmarks.processes import Cores, Server, serving
from tests.benchmarks.queries import QUERIES
from tests.deploy.proxies import NGINX, nginx
from tests.server.servers import until

_ONE = "one replica"
_TWO = "two replicas on the same core"
_APART = "two replicas, one beside all else"
_TARGET = Target(2 / 1.8)
"""Two machines with a core each hold 1.8 times the requests of one, or more."""

_SECONDS = 10
"""How long a turn is: there is an import in each."""

_TIMEOUT = 60
_PAGES = 50
_SCRIPT = Path(__file__).with_name("wrk_checked.lua")
_NEEDED = "wrk and nginx are needed to load replicas: apt-get install wrk nginx-light"
_TAG = "imported-meanwhile"
_LIST = QUERIES["list1000"].replace("{", "query($ref:String!,$after:String){", 1)
_PAGE = (
    _LIST.replace('"develop"', "$ref")
    .replace("first:1000", "first:1000,after:$after")
    .replace("nodes{", "pageInfo{endCursor}nodes{")
)


class _Turn(NamedTuple):
    """Requests a second, and milliseconds of a processor a request at the servers."""

    rate: float
    cost: float


class _Contender(NamedTuple):
    url: str
    servers: Sequence[Server]


def run(plan: Plan, location: str, folder: Path) -> Iterator[Measurement]:
    """Measure on the catalog at a location of object storage that has the data of ``plan``."""
    if not (NGINX and shutil.which("wrk")):
        plan.notes.append(_NEEDED)
        return
    cores = Cores.available()
    if cores.server is None:
        plan.notes.append("replicas are not pinned to cores: two cores and taskset needed")
    with ExitStack() as running:
        running.enter_context(_staying_on(cores.load))
        contenders = _started(running, location, folder, cores)
        servers = [*contenders[_TWO].servers, contenders[_APART].servers[-1]]
        files = _questions(servers, plan.data.digests()[-1], folder)
        importer = running.enter_context(ProcessPoolExecutor(1, mp_context=get_context("spawn")))
        seconds = max(1, round(_SECONDS * plan.seconds))
        found: dict[str, list[_Turn]] = {name: [] for name in contenders}
        for number in range(plan.rounds + 1):
            for name, it in contenders.items():
                importing = importer.submit(_import, location, plan.data.specs)
                turn = _turn(it, files, seconds)
                importing.result()
                if number:
                    found[name].append(turn)
        _require_all_have(servers, _TAG, (plan.rounds + 1) * len(contenders))
    yield from _summaries(plan, found)


def _summaries(plan: Plan, found: dict[str, list[_Turn]]) -> Iterator[Measurement]:
    specs = f"{plan.data.specs:,} specs, behind nginx, an import in each round"
    for what, unit, field, target in (
        ("lists of 1,000 of", "ms of a processor a request", 1, _TARGET),
        ("requests for lists of 1,000 of", "requests/s", 0, None),
    ):
        values = {name: [turn[field] for turn in turns] for name, turns in found.items()}
        reference = sorted(values[_ONE])[len(values[_ONE]) // 2]
        for name, those in values.items():
            middle = sorted(those)[len(those) // 2]
            yield summary(
                "replicas",
                f"{what} {specs}",
                name,
                unit=unit,
                values=those,
                ratio=middle / reference,
                target=None if name == _ONE else target,
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
    running: ExitStack, location: str, folder: Path, cores: Cores
) -> dict[str, _Contender]:
    how = cachelog(location, CACHELOG_RESPONSE_CACHE="0", CACHELOG_TRUSTED_PROXIES="127.0.0.1")
    one, two, apart = (
        running.enter_context(serving(how.command, environ=how.environ, core=core, ready=how.ready))
        for core in (cores.server, cores.server, cores.load)
    )
    contenders: dict[str, _Contender] = {}
    for name, servers in {_ONE: [one], _TWO: [one, two], _APART: [one, apart]}.items():
        own = folder / f"proxy-{len(contenders)}"
        own.mkdir()
        # All clients of a benchmark have one address.
        unlimited = {"limit_req zone=clients burst=60 nodelay;": ""}
        proxy = running.enter_context(nginx([it.url for it in servers], own, unlimited))
        contenders[name] = _Contender(f"{proxy.url}/graphql", servers)
    return contenders


@cache
def _cache(specs: int) -> LivingCache:
    return LivingCache(specs)


def _import(location: str, specs: int) -> None:
    """Publish the next day of a cache that lives, from a process that keeps it."""
    living = _cache(specs)
    Catalog(location).publish([living.snapshot(_TAG)])
    living.live()


# -- load


def _questions(servers: Sequence[Server], digest: str, folder: Path) -> dict[str, str]:
    """Write requests for pages of a revision and their answers, which must be alike at all."""
    bodies: list[bytes] = []
    answers: list[bytes] = []
    after = None
    while len(bodies) < _PAGES:
        body = orjson.dumps({"query": _PAGE, "variables": {"ref": digest, "after": after}})
        first, *others = (_asked(it, body) for it in servers)
        if b'"errors"' in first or any(it != first for it in others):
            raise SystemExit(f"replicas answer otherwise: {body.decode()}")
        bodies.append(body)
        answers.append(first)
        after = orjson.loads(first)["data"]["revision"]["specs"]["pageInfo"]["endCursor"]
        if after is None:
            break
    found = {}
    for name, lines in {"WRK_BODIES": bodies, "WRK_ANSWERS": answers}.items():
        file = folder / name
        file.write_bytes(b"\n".join(lines) + b"\n")
        found[name] = str(file)
    return found


def _asked(server: Server, body: bytes) -> bytes:
    headers = {"Content-Type": "application/json"}
    answer = httpx.post(f"{server.url}/graphql", content=body, headers=headers, timeout=60)
    return answer.raise_for_status().content


def _turn(contender: _Contender, files: dict[str, str], seconds: int) -> _Turn:
    before = sum(map(_processor_seconds, contender.servers))
    options = ["-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "--timeout", f"{_TIMEOUT}s"]
    done = subprocess.run(
        ["wrk", *options, "-s", str(_SCRIPT), contender.url],
        env=os.environ | files,
        capture_output=True,
        text=True,
        check=True,
    )
    took = sum(map(_processor_seconds, contender.servers)) - before
    result: dict[str, Any] = orjson.loads(done.stdout.splitlines()[-1])
    if result["failed"]:
        raise SystemExit(f"{result['failed']} of {result['requests']} failed:\n{done.stdout}")
    requests = result["requests"]
    return _Turn(requests / result["microseconds"] * 1e6, took / requests * 1_000)


def _processor_seconds(server: Server) -> float:
    """Return how long a process has had a processor so far."""
    fields = Path(f"/proc/{server.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _require_all_have(servers: Sequence[Server], tag: str, number: int) -> None:
    """Wait until each replica has all that was imported; leave where order or digests differ."""
    query = f'{{revisions(first:1000,tag:"{tag}"){{nodes{{id digest}}}}}}'
    body = orjson.dumps({"query": query})

    def nodes(server: Server) -> list[object]:
        found: list[object] = orjson.loads(_asked(server, body))["data"]["revisions"]["nodes"]
        return found

    for it in servers:
        until(lambda: len(nodes(it)) == number, f"a replica has {number} new revisions", 10)  # noqa: B023
    if any(nodes(it) != nodes(servers[0]) for it in servers):
        raise SystemExit("replicas know other revisions")
