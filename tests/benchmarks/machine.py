"""The machine of a run."""

import os
import platform
import shutil
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import msgspec

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
    """A description; ``load_average`` is that of one minute, before and after the run."""

    cpu: str
    cores: int
    system: str
    python: str
    versions: dict[str, str]
    load_average: tuple[float, float]


def describe(load_before: float) -> Machine:
    """Return the machine at the end of a run, from the load average at its beginning."""
    versions = {name: text for name in _LIBRARIES if (text := _version(name))}
    if shutil.which("wrk"):
        # wrk prints its version with its usage, and exits with 1.
        usage = subprocess.run(["wrk", "-v"], capture_output=True, text=True, check=False).stdout
        versions["wrk"] = usage.split()[1]
    return Machine(
        cpu=_cpu(),
        cores=len(os.sched_getaffinity(0)),
        system=platform.platform(),
        python=platform.python_version(),
        versions=versions,
        load_average=(load_before, os.getloadavg()[0]),
    )


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
