"""The machine of a run, and its load by other processes."""

import os
import platform
import shutil
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

import msgspec

from tests.benchmarks import mercurius
from tests.benchmarks.plans import ROOT, Plan

_LIBRARIES = (
    "cachelog",
    "strawberry-graphql",
    "graphql-core",
    "orjson",
    "msgspec",
    "numpy",
    "pyarrow",
    "deltalake",
    "starlette",
    "uvicorn",
    "uvloop",
    "httptools",
)


class Machine(msgspec.Struct, frozen=True):
    """A description; ``load_average`` is that of one minute, before and after the run.

    ``others`` is the share of the processor time of all cores that other processes used.
    """

    cpu: str
    cores: int
    system: str
    python: str
    versions: dict[str, str]
    load_average: tuple[float, float]
    others: float


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A run on a machine; ``commit`` is that of the code, with ``-dirty`` if files differ."""

    commit: str
    machine: Machine


class Load(NamedTuple):
    """The load average, and seconds of processor time: in total, busy, and used by this run.

    Processes of the run count after they have ended.
    """

    average: float
    all: float
    busy: float
    own: float

    @classmethod
    def now(cls) -> "Load":
        """Return the current load."""
        jiffies = [int(text) for text in Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
        per_second = os.sysconf("SC_CLK_TCK")
        idle = jiffies[3] + jiffies[4]
        return cls(
            os.getloadavg()[0],
            sum(jiffies) / per_second,
            (sum(jiffies) - idle) / per_second,
            sum(os.times()[:4]),
        )

    def others_since(self, before: "Load") -> float:
        """Return the share of processor time that other processes used since an earlier load."""
        others = (self.busy - before.busy) - (self.own - before.own)
        return max(0.0, others / (self.all - before.all))


def describe(before: Load, plan: Plan | None = None) -> Machine:
    """Return the machine at the end of a run; ``plan`` is that of the benchmarks."""
    versions = {name: text for name in _LIBRARIES if (text := _version(name))}
    if shutil.which("wrk"):
        # wrk prints its version with its usage, and exits with 1.
        usage = subprocess.run(["wrk", "-v"], capture_output=True, text=True, check=False).stdout
        versions["wrk"] = usage.split()[1]
    if plan is not None and plan.mercurius:
        versions |= mercurius.versions(plan.data)
    return Machine(
        cpu=_cpu(),
        cores=len(os.sched_getaffinity(0)),
        system=platform.platform(),
        python=platform.python_version(),
        versions=versions,
        load_average=(before.average, os.getloadavg()[0]),
        others=Load.now().others_since(before),
    )


def commit() -> str:
    """Return the current commit, with ``-dirty`` if files differ from it."""
    described = subprocess.run(
        ["git", "describe", "--always", "--exclude=*", "--dirty"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return described.stdout.strip() or "unknown"


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines():
        key, _, value = line.partition(":")
        if key.strip() in ("model name", "Model"):
            return value.strip()
    return platform.machine()


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
