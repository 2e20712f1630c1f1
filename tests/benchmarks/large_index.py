"""Measure the reading of a large made-up index: seconds, and the peak of memory.

    python tests/benchmarks/large_index.py [--specs 60000] [--seed 1] [--keep FILE]

The index is of version 8, with whole targets, parameters and edges for each spec, as the index of
a public cache has them; 60,000 specs are about 180 MB. It is read in a process of its own, so
that the making of it does not count.
"""

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from snapshots.sources import buildcache
from snapshots.sources.reports import Report
from snapshots.sources.settings import ReadSettings

_BASE32 = "abcdefghijklmnopqrstuvwxyz234567"
_FEATURES = """
    adx aes avx avx2 bmi1 bmi2 clflushopt clwb cx16 f16c fma fsgsbase gfni hle invpcid
    lahf_lm lzcnt mmx movbe pclmulqdq popcnt rdpid rdrand rdseed rtm sha_ni sse sse2 sse4_1 sse4_2
    ssse3 umip vaes vpclmulqdq xsave xsavec xsaveopt avx512bitalg avx512bw avx512cd avx512dq
    avx512f avx512ifma avx512vbmi avx512vl avx512vnni avx512_vbmi2 avx512_vpopcntdq
"""
_TARGETS = ("x86_64_v3", "x86_64_v4", "icelake", "zen4", "neoverse_v1", "aarch64")
_SYSTEMS = ("ubuntu22.04", "ubuntu24.04", "amzn2", "rhel8")
_FLAGS = ("cflags", "cppflags", "cxxflags", "fflags", "ldflags", "ldlibs")
_VARIANTS = ("shared", "pic", "mpi", "openmp", "cuda", "rocm", "tests", "python", "fortran", "ipo")
_GCC_VERSIONS = ("11.4.0", "12.3.0", "13.2.0")
_PACKAGES = 1200


def write_index(path: Path, specs: int, seed: int) -> None:
    """Write an index of so many specs; the same seed writes the same bytes."""
    with path.open("w", encoding="ascii") as file:
        file.write('{"database":{"version":"8","installs":{')
        for count, (digest, install) in enumerate(_installs(specs, random.Random(seed))):
            text = json.dumps(install, separators=(",", ":"))
            file.write(f'{"," if count else ""}"{digest}":{text}')
        file.write("}}}")


def measure(path: Path) -> dict[str, float]:
    """Read the index at ``path``; return the seconds, the MB at the peak, and the specs."""
    start = time.perf_counter()
    (snapshot,) = buildcache.read(
        str(path), tags=["develop"], settings=ReadSettings(), report=Report()
    )
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"seconds": seconds, "peak_mb": peak / 1024, "specs": len(snapshot.content)}


def _installs(specs: int, draw: random.Random) -> Iterator[tuple[str, dict[str, Any]]]:
    compilers = []
    for version in _GCC_VERSIONS:
        digest = _hash(draw)
        compilers.append(("gcc", digest))
        node = _node("gcc", version, digest, draw, [])
        yield digest, {"spec": node, "ref_count": specs, "in_buildcache": False}
    known: list[tuple[str, str]] = []
    for _ in range(specs):
        digest = _hash(draw)
        name = f"package-{draw.randrange(_PACKAGES)}"
        version = f"{draw.randrange(10)}.{draw.randrange(30)}.{draw.randrange(10)}"
        edges = [_edge(draw.choice(compilers), ["build"], ["c", "cxx"])]
        chosen = draw.sample(known, min(len(known), draw.randrange(8, 20)))
        edges += [_edge(other, draw.choice((["build", "link"], ["link"])), []) for other in chosen]
        node = _node(name, version, digest, draw, edges)
        yield digest, {"spec": node, "ref_count": draw.randrange(20), "in_buildcache": True}
        known.append((name, digest))


def _node(
    name: str, version: str, digest: str, draw: random.Random, edges: list[dict[str, Any]]
) -> dict[str, Any]:
    parameters: dict[str, Any] = {
        "build_system": draw.choice(("cmake", "autotools", "generic", "python_pip")),
        "build_type": "Release",
        "generator": "make",
    }
    parameters |= {variant: draw.random() < 0.5 for variant in draw.sample(_VARIANTS, 6)}
    if draw.random() < 0.2:
        parameters["patches"] = [f"{draw.getrandbits(256):064x}" for _ in range(2)]
    target = draw.choice(_TARGETS)
    return {
        "name": name,
        "version": version,
        "arch": {
            "platform": "linux",
            "platform_os": draw.choice(_SYSTEMS),
            "target": {
                "name": target,
                "vendor": "GenuineIntel",
                "features": _FEATURES.split(),
                "generation": 0,
                "parents": ["x86_64"],
                "cpupart": "",
            },
        },
        "namespace": "builtin",
        "parameters": parameters | {flag: [] for flag in _FLAGS},
        "package_hash": f"{draw.choice(_BASE32) * 52}====",
        "dependencies": edges,
        "annotations": {"original_specfile_version": 5},
        "hash": digest,
    }


def _edge(other: tuple[str, str], types: list[str], virtuals: list[str]) -> dict[str, Any]:
    parameters = {"deptypes": types, "virtuals": virtuals}
    return {"name": other[0], "hash": other[1], "parameters": parameters}


def _hash(draw: random.Random) -> str:
    return "".join(draw.choices(_BASE32, k=32))


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--specs", type=int, default=60_000, help="how many specs")
    parser.add_argument("--seed", type=int, default=1, help="what the index is drawn from")
    parser.add_argument("--keep", type=Path, help="write the index to this file and keep it")
    parser.add_argument("--read", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.read:
        print(json.dumps(measure(arguments.read)))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = arguments.keep or Path(folder, "index.json")
        write_index(path, arguments.specs, arguments.seed)
        command = [sys.executable, __file__, "--read", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        result = json.loads(done.stdout)
        print(f"{result['specs']:,} specs, {path.stat().st_size / 1e6:.0f} MB of JSON:")
        print(f"read in {result['seconds']:.1f} s, at the peak {result['peak_mb']:.0f} MB")


if __name__ == "__main__":
    _main()
