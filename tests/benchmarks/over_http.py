"""A query over HTTP: requests per second of one worker, with wrk on another core as the client.

The reference is bare uvicorn with responses of the same size, an upper bound for servers in Python.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import NamedTuple
from urllib.request import Request, urlopen

import orjson

from tests.benchmarks.asgi_apps import BODY_BYTES, CATALOG
from tests.benchmarks.measurements import Measurement, measure
from tests.benchmarks.plans import Plan
from tests.benchmarks.processes import Cores, pinned, serving
from tests.benchmarks.queries import QUERIES, request_body, require_same

CONNECTIONS = 8
NOISE = 0.1
"""The maximum relative difference of two equal servers without a note about other load."""

_BARE = "bare uvicorn, as many bytes"
_TWIN = "bare uvicorn, once more: shows the noise"

_SCRIPT = Path(__file__).with_name("wrk.lua")
_NO_WRK = (
    "wrk is not installed, so nothing is measured over HTTP: apt-get install wrk "
    "(or https://github.com/wg/wrk)"
)


class _Contender(NamedTuple):
    command: Callable[[int], Sequence[str]]
    environ: Mapping[str, str]
    ready: str = "/"


def run(plan: Plan, name: str) -> Iterator[Measurement]:
    """Measure one of the queries; without wrk, only add a note."""
    if not shutil.which("wrk"):
        plan.notes.append(_NO_WRK)
        return
    cores, body = Cores.available(), request_body(QUERIES[name])
    if cores.server is None:
        plan.notes.append("servers and wrk are not pinned to cores: two cores and taskset needed")
    with ExitStack() as running:
        urls = {
            contender: _started(running, how, cores) for contender, how in _contenders(plan).items()
        }
        answers = {contender: _ask(url, body) for contender, url in urls.items()}
        require_same(answers)
        num_bytes = len(answers["cachelog: cold"])
        bare = _uvicorn("bare", {BODY_BYTES: str(num_bytes)})
        # The second bare server is last, so that the two also show changes during a round.
        urls = {
            _BARE: _started(running, bare, cores),
            **urls,
            _TWIN: _started(running, bare, cores),
        }
        turns = {
            contender: partial(
                _requests_a_second, url, body, num_bytes, 2 * plan.seconds, cores.load
            )
            for contender, url in urls.items()
        }
        found = measure(
            name,
            f"over HTTP, {num_bytes:,} bytes, {CONNECTIONS} connections",
            turns,
            unit="requests/s",
            rounds=plan.rounds,
        )
    yield from found
    if note := _noise(name, found):
        plan.notes.append(note)


def cachelog(catalog: Path | str, **settings: str) -> _Contender:
    """Return how to start ``cachelog serve``; settings are CACHELOG_* variables."""
    program = "from server.cli import main; main()"

    def command(port: int) -> Sequence[str]:
        arguments = ["serve", "--port", str(port), "--catalog", str(catalog)]
        return [sys.executable, "-c", program, *arguments]

    environ = {"CACHELOG_ACCESS_LOG": "0", **settings}
    return _Contender(command, environ, "/health/ready")


def _contenders(plan: Plan) -> dict[str, _Contender]:
    catalog = plan.data.catalog
    return {
        "cachelog: cold": cachelog(catalog, CACHELOG_RESPONSE_CACHE="0"),
        "cachelog: hot": cachelog(catalog),
        "Strawberry as it comes": _uvicorn("strawberry_as_it_comes", {CATALOG: str(catalog)}),
    }


def _uvicorn(factory: str, environ: Mapping[str, str]) -> _Contender:
    """Return how to serve another application with the options of ``cachelog serve``."""

    def command(port: int) -> Sequence[str]:
        app = f"tests.benchmarks.asgi_apps:{factory}"
        options = ["--no-access-log", "--no-server-header", "--log-level", "warning"]
        port_option = ["--port", str(port)]
        return [sys.executable, "-m", "uvicorn", "--factory", app, *options, *port_option]

    return _Contender(command, environ)


def _started(running: ExitStack, how: _Contender, cores: Cores) -> str:
    server = running.enter_context(
        serving(how.command, environ=how.environ, core=cores.server, ready=how.ready)
    )
    return f"{server.url}/graphql"


def _ask(url: str, body: bytes) -> bytes:
    request = Request(url, body, {"Content-Type": "application/json"})  # noqa: S310 - our server
    with urlopen(request) as response:  # noqa: S310
        content: bytes = response.read()
        return content


def _noise(name: str, found: Sequence[Measurement]) -> str | None:
    """Return a note if two equal servers differ, in total or in a round."""
    bare, twin = found[0], found[-1]
    by_round = [two / one for one, two in zip(bare.values, twin.values, strict=True)]
    off = max(abs(1 - ratio) for ratio in (twin.median / bare.median, *by_round))
    if off <= NOISE:
        return None
    return (
        f"{name} over HTTP: NOISY. Two equal servers differ by the factors {min(by_round):.2f} to "
        f"{max(by_round):.2f}; ratios are not finer than that. Measure on a quiet machine"
    )


def _requests_a_second(
    url: str, body: bytes, num_bytes: int, seconds: float, core: int | None
) -> float:
    # wrk accepts only integers.
    duration = f"-d{max(1, round(seconds))}s"
    options = ["-t1", f"-c{CONNECTIONS}", duration, "-s", str(_SCRIPT)]
    done = subprocess.run(
        pinned(["wrk", *options, url], core),
        env=os.environ | {"WRK_BODY": body.decode()},
        capture_output=True,
        text=True,
        check=True,
    )
    result = orjson.loads(done.stdout.splitlines()[-1])
    if result["failed"]:
        raise SystemExit(f"{result['failed']} requests to {url} failed:\n{done.stdout}")
    # wrk counts an empty 304 as a success. JSON encoders differ in spaces.
    if result["bytes"] < 0.9 * num_bytes * result["requests"]:
        raise SystemExit(f"{url} sends less than the whole answers:\n{done.stdout}")
    return float(result["requests"] / result["microseconds"] * 1e6)
