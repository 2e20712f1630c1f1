"""Mixed load while imports run beside it: ``python -m tests.hostile.soak --seconds 600``.

Clients ask small, large and new things of a real server. Every few seconds ``cachelog import``
publishes another revision into its catalog. Nothing may fail, no answer may be torn (its parts
contradict each other), and memory must not rise over the last half. With ``--write FILE`` the
figures replace those in a document, and are written to results/ beside it.
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
from typing import Any, NamedTuple

import httpx

from snapshots import demo
from snapshots.catalog.catalog import Catalog
from tests.benchmarks.documents import aligned, write_figures
from tests.benchmarks.machine import Load, Run, commit, describe
from tests.hostile.attack import HOST
from tests.hostile.target import AttackedServer, attacked
from tests.server.servers import environ

_SETTINGS = {
    "response_cache": 16 << 20,
    "frame_cache": 24 << 20,
    "comparison_cache": 8 << 20,
    "refresh": 0.5,
}
"""Caches so small that they are full long before the end: memory is flat or it is not."""

_CLIENTS = 3
_PAUSE = 0.02
_PATIENCE = 20
RISE = 1.10
"""By which factor the median of memory may differ between the last two quarters."""

_WHOLE = """query($ref: String) { revision(ref: $ref) {
  digest numSpecs numPackages
  specs(first: 20) { totalCount nodes { hash name } }
  packages(first: 0) { totalCount }
  again: specs(first: 1) { totalCount facets { packages { count } } }
} }"""
_PAIR = """query($base: String!, $head: String!) { compare(base: $base, head: $head) {
  base { numSpecs } head { numSpecs }
  summary { specsAdded specsRemoved specsChanged specsUnchanged }
} }"""
_TAGS = "{ tags { name latest { digest } } revisions(first: 1000) { nodes { digest } } }"


class Soaked(NamedTuple):
    """What a run found: complaints, how much was asked and imported, resident bytes by time."""

    complaints: list[str]
    asked: int
    imported: int
    resident: list[int]

    @property
    def rise(self) -> float:
        """The factor between the medians of memory in the last two quarters."""
        quarter = len(self.resident) // 4
        if quarter == 0:
            return 1.0
        third, fourth = self.resident[-2 * quarter : -quarter], self.resident[-quarter:]
        return sorted(fourth)[quarter // 2] / sorted(third)[quarter // 2]


class MixedLoad(Run, frozen=True, kw_only=True):
    """The figures of a run of mixed load."""

    seconds: float
    answers: int
    imports: int
    errors: int
    peak_bytes: int
    end_bytes: int
    rise: float

    def table(self) -> str:
        """Return the figures as a table in Markdown."""
        head = (
            "Mixed load",
            "Answers",
            "Imports",
            "Errors",
            "Memory at most",
            "At the end",
            "Rise",
        )
        figures = (
            f"{self.seconds:g} s",
            f"{self.answers:,}",
            str(self.imports),
            str(self.errors),
            f"{self.peak_bytes >> 20:,} MB",
            f"{self.end_bytes >> 20:,} MB",
            f"{100 * (self.rise - 1):+.0f} %",
        )
        return aligned([head, figures])


class _Client:
    """Asks until the deadline; ``complaints`` says what was wrong."""

    def __init__(self, port: int, seed: int, deadline: float) -> None:
        self._http = httpx.Client(base_url=f"http://{HOST}:{port}", timeout=_PATIENCE)
        self._chance = random.Random(seed)
        self._deadline = deadline
        self.asked = 0
        self.complaints: list[str] = []

    def run(self) -> None:
        """Ask one kind of question after the other."""
        kinds = (self._whole, self._pair, self._tags, self._large)
        try:
            with self._http:
                while time.monotonic() < self._deadline and not self.complaints:
                    self._chance.choice(kinds)()
                    time.sleep(_PAUSE)
        except (httpx.HTTPError, ValueError, KeyError, TypeError) as error:
            self.complaints.append(f"{type(error).__name__}: {error}")

    def _ask(self, text: str, variables: dict[str, Any] | None = None) -> dict[str, Any]:
        self.asked += 1
        body = {"query": text, "variables": variables or {}}
        answered = self._http.post("/graphql", json=body)
        found = answered.json()
        if answered.status_code != 200 or found.get("errors"):
            raise ValueError(f"{answered.status_code} for {text[:60]}: {answered.text[:300]}")
        data: dict[str, Any] = found["data"]
        return data

    def _digests(self) -> list[str]:
        return [it["digest"] for it in self._ask(_TAGS)["revisions"]["nodes"]]

    def _whole(self) -> None:
        ref = self._chance.choice([None, *self._digests()])
        it = self._ask(_WHOLE, {"ref": ref})["revision"]
        counts = {
            it["numSpecs"],
            it["specs"]["totalCount"],
            it["again"]["totalCount"],
            sum(facet["count"] for facet in it["again"]["facets"]["packages"]),
        }
        if len(counts) > 1 or it["numPackages"] != it["packages"]["totalCount"]:
            self.complaints.append(f"torn: {it['digest']} has {counts} specs")
        if ref is not None and it["digest"] != ref:
            self.complaints.append(f"torn: asked for {ref}, got {it['digest']}")

    def _pair(self) -> None:
        digests = self._digests()
        base, head = self._chance.choices(digests, k=2)
        it = self._ask(_PAIR, {"base": base, "head": head})["compare"]
        summary = it["summary"]
        kept = summary["specsChanged"] + summary["specsUnchanged"]
        if kept + summary["specsAdded"] != it["head"]["numSpecs"]:
            self.complaints.append(f"torn: {summary} does not add up to head")
        if kept + summary["specsRemoved"] != it["base"]["numSpecs"]:
            self.complaints.append(f"torn: {summary} does not add up to base")

    def _tags(self) -> None:
        data = self._ask(_TAGS)
        known = {it["digest"] for it in data["revisions"]["nodes"]}
        if unknown := [it for it in data["tags"] if it["latest"]["digest"] not in known]:
            self.complaints.append(f"torn: tags of revisions that are not listed: {unknown}")

    def _large(self) -> None:
        alias = f"x{self._chance.randrange(10**6)}"
        text = (
            f"{{ revision {{ specs(first: 500) {{ {alias}: nodes {{ hash short variants }} }} }} }}"
        )
        if len(self._ask(text)["revision"]["specs"][alias]) != 500:
            self.complaints.append("torn: a page of 500 is shorter")


def soak(seconds: float, *, every: float) -> Soaked:
    """Run the load for so long, with an import ``every`` so many seconds."""
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
    imported, complaints, resident = 0, list[str](), list[int]()
    for complaint in imports:
        if complaint:
            complaints.append(complaint)
        imported += complaint is not None
        resident.append(server.resident_bytes())
        if time.monotonic() >= deadline or any(client.complaints for client in clients):
            break
    for thread in threads:
        thread.join()
    for client in clients:
        complaints += client.complaints
    if not server.is_running():
        complaints.append("the server died")
    if "Traceback" in server.said():
        complaints.append(f"the server has logged a traceback: {server.said()[-2_000:]}")
    return Soaked(complaints, sum(it.asked for it in clients), imported, resident)


def _imports(catalog: Path, pages: Path, tags: list[str], every: float) -> Iterator[str | None]:
    """Yield some times a second: None, or after an import what was wrong with it, perhaps nothing.

    The contents come again and again, each time under a new tag: there is always a new revision.
    """
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


def main() -> int:
    """Run for as long as asked; return 1 where something was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--every", type=float, default=20.0, help="seconds between two imports")
    parser.add_argument(
        "--write",
        type=Path,
        metavar="FILE",
        help="replace the table in a document, and write the figures to results/ beside it",
    )
    asked = parser.parse_args()
    before = Load.now()
    soaked = soak(asked.seconds, every=asked.every)
    for complaint in soaked.complaints:
        print(complaint)
    figures = MixedLoad(
        commit=commit(),
        machine=describe(before),
        seconds=asked.seconds,
        answers=soaked.asked,
        imports=soaked.imported,
        errors=len(soaked.complaints),
        peak_bytes=max(soaked.resident),
        end_bytes=soaked.resident[-1],
        rise=soaked.rise,
    )
    print(figures.table())
    if asked.write:
        write_figures(asked.write, "soak", figures.table(), figures)
    return int(bool(soaked.complaints) or soaked.rise > RISE)


if __name__ == "__main__":
    raise SystemExit(main())
