"""Load of which every answer is checked: pages of 1,000 specs, byte by byte as they should be."""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
import orjson

from tests.benchmarks.over_http import CONNECTIONS
from tests.benchmarks.processes import Server
from tests.benchmarks.queries import QUERIES
from tests.deploy.proxies import NGINX

NEEDED = "wrk and nginx are needed to load replicas: apt-get install wrk nginx-light"

COLD = {
    "CACHELOG_RESPONSE_CACHE": "0",
    "CACHELOG_TRUSTED_PROXIES": "127.0.0.1",
    # Else a server refuses what waits because this machine does other things.
    "CACHELOG_QUEUE_SECONDS": "30",
}
"""Settings of servers that answer each request anew."""

_PAGES = 50
_TIMEOUT = 60
_SCRIPT = Path(__file__).with_name("wrk_checked.lua")
_LIST = QUERIES["list1000"].replace("{", "query($ref:String!,$after:String){", 1)
_PAGE = (
    _LIST.replace('"develop"', "$ref")
    .replace("first:1000", "first:1000,after:$after")
    .replace("nodes{", "pageInfo{endCursor}nodes{")
)

Files = Mapping[str, str]
"""Where the requests and the answers to them are, by the variables that wrk's script reads."""


def is_possible() -> bool:
    """Tell whether there is what it takes."""
    return bool(NGINX and shutil.which("wrk"))


def body_of(digest: str, after: str | None = None) -> bytes:
    """Return the request for a page of a revision: that after a cursor, or the first."""
    return orjson.dumps({"query": _PAGE, "variables": {"ref": digest, "after": after}})


def questions(servers: Sequence[Server], digest: str, folder: Path) -> Files:
    """Write requests for pages of a revision, and the answers, which must be alike at all."""
    bodies: list[bytes] = []
    answers: list[bytes] = []
    after = None
    while len(bodies) < _PAGES:
        body = body_of(digest, after)
        first, *others = (asked(it, body) for it in servers)
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


def asked(server: Server, body: bytes) -> bytes:
    """Return what a server answers to the body of a request; raises where it is not status 200."""
    headers = {"Content-Type": "application/json"}
    answer = httpx.post(f"{server.url}/graphql", content=body, headers=headers, timeout=_TIMEOUT)
    return answer.raise_for_status().content


def load(url: str, files: Files, seconds: int, connections: int = CONNECTIONS) -> tuple[int, float]:
    """Ask for so long over so many connections; return how many requests it were, and the seconds.

    Leaves the program where a single answer is not as it should be.
    """
    options = ["-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", f"{_TIMEOUT}s"]
    done = subprocess.run(
        ["wrk", *options, "-s", str(_SCRIPT), f"{url}/graphql"],
        env={**os.environ, **files},
        capture_output=True,
        text=True,
        check=True,
    )
    result: dict[str, Any] = orjson.loads(done.stdout.splitlines()[-1])
    if result["failed"]:
        raise SystemExit(f"{result['failed']} of {result['requests']} failed:\n{done.stdout}")
    return result["requests"], result["microseconds"] / 1e6
