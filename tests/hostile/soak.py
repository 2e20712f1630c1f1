"""Mixed load during imports: ``python -m tests.hostile.soak --seconds 600``.

Clients send small, large and uncached queries to a real server, while ``cachelog import`` publishes
revisions into its catalog. No request may fail, no response may be inconsistent, and memory must
not rise in the second half.
"""

import argparse
import itertools
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import httpx

from snapshots import demo
from snapshots.catalog.catalog import Catalog
from tests.hostile.attack import HOST
from tests.hostile.target import AttackedServer, attacked
from tests.server.servers import environ

_SETTINGS = {
    "response_cache": 16 << 20,
    "frame_cache": 24 << 20,
    "comparison_cache": 8 << 20,
    "refresh": 0.5,
}
"""Settings of small caches, which are full long before the end, so that memory is constant."""

_CLIENTS = 3
_PAUSE = 0.02
_PATIENCE = 20
RISE = 1.10
"""The maximum factor between the medians of memory in the last two quarters."""

_REVISION = """query($ref: String) { revision(ref: $ref) {
  digest numSpecs numPackages
  specs(first: 20) { totalCount nodes { hash name } }
  packages(first: 0) { totalCount }
  again: specs(first: 1) { totalCount facets { packages { numSpecs } } }
} }"""
_PAIR = """query($base: String!, $head: String!) { compare(base: $base, head: $head) {
  base { numSpecs } head { numSpecs }
  summary { numSpecsAdded numSpecsRemoved numSpecsChanged numSpecsUnchanged }
} }"""
_TAGS = "{ tags { name latest { digest } } revisions(first: 1000) { nodes { digest } } }"


class Soaked(NamedTuple):
    """A run: its errors, the numbers of answers and imports, and resident bytes over time."""

    errors: list[str]
    answers: int
    imports: int
    resident: list[int]


class _Client:
    """Sends queries until the deadline, or the first of its ``errors``."""

    def __init__(self, port: int, seed: int, deadline: float) -> None:
        self._http = httpx.Client(base_url=f"http://{HOST}:{port}", timeout=_PATIENCE)
        self._chance = random.Random(seed)
        self._deadline = deadline
        self.answers = 0
        self.errors: list[str] = []

    def run(self) -> None:
        """Send random queries."""
        kinds = (self._revision, self._pair, self._tags, self._large)
        try:
            with self._http:
                while time.monotonic() < self._deadline and not self.errors:
                    self._chance.choice(kinds)()
                    time.sleep(_PAUSE)
        except (httpx.HTTPError, ValueError, KeyError, TypeError) as error:
            self.errors.append(f"{type(error).__name__}: {error}")

    def _ask(self, text: str, variables: dict[str, Any] | None = None) -> dict[str, Any]:
        self.answers += 1
        body = {"query": text, "variables": variables or {}}
        response = self._http.post("/graphql", json=body)
        answer = response.json()
        if response.status_code != 200 or answer.get("errors"):
            raise ValueError(f"{response.status_code} for {text[:60]}: {response.text[:300]}")
        data: dict[str, Any] = answer["data"]
        return data

    def _digests(self) -> list[str]:
        return [it["digest"] for it in self._ask(_TAGS)["revisions"]["nodes"]]

    def _revision(self) -> None:
        ref = self._chance.choice([None, *self._digests()])
        it = self._ask(_REVISION, {"ref": ref})["revision"]
        counts = {
            it["numSpecs"],
            it["specs"]["totalCount"],
            it["again"]["totalCount"],
            sum(facet["numSpecs"] for facet in it["again"]["facets"]["packages"]),
        }
        if len(counts) > 1 or it["numPackages"] != it["packages"]["totalCount"]:
            self.errors.append(f"inconsistent: {it['digest']} has {counts} specs")
        if ref is not None and it["digest"] != ref:
            self.errors.append(f"inconsistent: requested {ref}, got {it['digest']}")

    def _pair(self) -> None:
        digests = self._digests()
        base, head = self._chance.choices(digests, k=2)
        it = self._ask(_PAIR, {"base": base, "head": head})["compare"]
        summary = it["summary"]
        kept = summary["numSpecsChanged"] + summary["numSpecsUnchanged"]
        if kept + summary["numSpecsAdded"] != it["head"]["numSpecs"]:
            self.errors.append(f"inconsistent: {summary} does not add up to head")
        if kept + summary["numSpecsRemoved"] != it["base"]["numSpecs"]:
            self.errors.append(f"inconsistent: {summary} does not add up to base")

    def _tags(self) -> None:
        data = self._ask(_TAGS)
        known = {it["digest"] for it in data["revisions"]["nodes"]}
        if unknown := [it for it in data["tags"] if it["latest"]["digest"] not in known]:
            self.errors.append(f"inconsistent: tags of revisions that are not listed: {unknown}")

    def _large(self) -> None:
        alias = f"x{self._chance.randrange(10**6)}"
        text = (
            f"{{ revision {{ specs(first: 500) {{ {alias}: nodes {{ hash short variants }} }} }} }}"
        )
        if len(self._ask(text)["revision"]["specs"][alias]) != 500:
            self.errors.append("inconsistent: a page of 500 is shorter")


def soak(seconds: float, *, every: float) -> Soaked:
    """Run the load for some seconds, with an import ``every`` few seconds."""
    with tempfile.TemporaryDirectory() as folder:
        catalog, pages = Path(folder, "catalog"), Path(folder, "pages")
        first, *rest = demo.history(revisions=9, packages=120, specs=2_000)
        Catalog(str(catalog)).publish([first])
        for snapshot in rest:
            demo.write_pages(snapshot, pages)
        tags = [snapshot.tag for snapshot in rest]
        with attacked(catalog, **_SETTINGS) as server:
            target = server.start()
            return _load(server, target.port, seconds, _imports(catalog, pages, tags, every))


def _load(
    server: AttackedServer, port: int, seconds: float, imports: Iterator[str | None]
) -> Soaked:
    deadline = time.monotonic() + seconds
    clients = [_Client(port, seed, deadline) for seed in range(_CLIENTS)]
    threads = [threading.Thread(target=client.run) for client in clients]
    for thread in threads:
        thread.start()
    num_imports, errors, resident = 0, list[str](), list[int]()
    for error in imports:
        if error:
            errors.append(error)
        num_imports += error is not None
        resident.append(server.resident_bytes())
        if time.monotonic() >= deadline or any(client.errors for client in clients):
            break
    for thread in threads:
        thread.join()
    for client in clients:
        errors += client.errors
    if not server.is_running():
        errors.append("the server died")
    if "Traceback" in server.log_text():
        errors.append(f"the server has logged a traceback: {server.log_text()[-2_000:]}")
    return Soaked(errors, sum(client.answers for client in clients), num_imports, resident)


def _imports(catalog: Path, pages: Path, tags: list[str], every: float) -> Iterator[str | None]:
    """Yield None or, after an import of contents under a new tag, its error, which may be empty."""
    due, turns = time.monotonic(), itertools.count()
    while True:
        if time.monotonic() < due:
            time.sleep(min(0.2, every))
            yield None
            continue
        due = time.monotonic() + every
        turn = next(turns)
        folder = pages / tags[turn % len(tags)]
        command = [sys.executable, "-m", "server", "import", str(folder)]
        taken = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(1_700_000_000 + turn))
        options = ["--tag", f"soak-{turn}", "--taken-at", taken, "--catalog", str(catalog)]
        done = subprocess.run(
            [*command, *options], env=environ(), capture_output=True, text=True, check=False
        )
        yield "" if done.returncode == 0 else f"import exited with {done.returncode}: {done.stderr}"


def _rise(resident: list[int]) -> float:
    """Return the factor between the medians of memory in the last two quarters."""
    quarter = len(resident) // 4
    return median(resident[-quarter:]) / median(resident[-2 * quarter : -quarter]) if quarter else 1


def main() -> int:
    """Run, and print the figures; return 1 if there was an error."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--every", type=float, default=20.0, help="seconds between two imports")
    options = parser.parse_args()
    soaked = soak(options.seconds, every=options.every)
    for error in soaked.errors:
        print(error)
    rise, memory = _rise(soaked.resident), f"{max(soaked.resident) >> 20:,} MB at most"
    print(f"{soaked.answers:,} answers, {soaked.imports} imports, {memory}, x {rise:.2f}")
    return int(bool(soaked.errors) or rise > RISE)


if __name__ == "__main__":
    raise SystemExit(main())
