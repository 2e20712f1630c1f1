"""Small factories of records, and the hypothesis strategies that tests of the domain share."""

from base64 import b32encode
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha1, sha256
from random import Random
from typing import Any, TypeVar

from hypothesis import strategies as st
from msgspec.structs import replace

from snapshots.contents import Content, Snapshot
from snapshots.models import Dependency, RevisionInfo, Source, Spec

Drawn = TypeVar("Drawn")

START = datetime(2025, 1, 5, tzinfo=UTC)
"""The moment from which days are counted."""

SOURCE = Source(kind="pages", location="_cache", importer="cachelog 1")

NAMES = ("Lib10", "hdf5", "lib2", "lib10", "py-numpy", "zlib")
VERSIONS = ("1.2", "1.2.1", "1.2rc1", "1.10", "2024.1", "develop")
COMPILERS = (None, "clang@16.0.6", "gcc@9.4.0", "gcc@13.2.0", "gcc-toolset@13.2.0")
SYSTEMS = ("rhel8", "ubuntu22.04")
PLATFORMS = ("darwin", "linux")
TARGETS = ("m1", "neoverse_v2", "x86_64_v3")
VARIANTS = ("+mpi", "+shared", "build_type=Release", 'cflags="-O2 -g"', "patches=26090f4,b231fcc")
STACKS = ("e4s", "gpu-tests", "hep", "root")


def day(number: int) -> datetime:
    """Return the moment ``number`` days after START."""
    return START + timedelta(days=number)


def shuffled(items: Sequence[Drawn]) -> list[Drawn]:
    """Return the items in another order, the same in each run."""
    return Random(1).sample(items, len(items))


def hash_of(label: str) -> str:
    """Return a DAG hash, the same for the same label."""
    return b32encode(sha1(label.encode(), usedforsecurity=False).digest()).decode().lower()


def digest_of(label: str) -> str:
    """Return a digest that belongs to no content, the same for the same label."""
    return sha256(label.encode()).hexdigest()


def a_spec(label: str = "a", **facts: Any) -> Spec:
    """Return a spec whose hash is that of the label; ``facts`` override the defaults."""
    spec = Spec(
        hash=hash_of(label),
        name="hdf5",
        version="1.14.5",
        compiler="gcc@13.2.0",
        operating_system="ubuntu22.04",
        platform="linux",
        target="x86_64_v3",
        variants=("+mpi", "~cxx"),
        stacks=("e4s", "root"),
    )
    return replace(spec, **facts)


def full_spec(label: str = "a", **facts: Any) -> Spec:
    """Return a spec that states every fact."""
    return a_spec(
        label,
        **{
            "size": 7_000_000_000,
            "tarball": f"https://example.org/{label}.spack",
            "namespace": "builtin",
            "package_hash": "ejr32l7tkp6uhdrlunqv4adkuxqwyac7====",
            "patches": ("b231fcc4d5cf", "26090f418891"),
            "provided_virtuals": ("libgfortran@5", "zlib-api"),
            "external_path": "/opt/my libs",
            "external_modules": ("PrgEnv-cray/8.3", "gcc/13.2.0"),
            "external_attributes": ("compilers.c=/usr/bin/gcc", "compilers.cxx=/usr/bin/g++"),
            "build_spec": f"zlib-ng/{hash_of('zlib-ng')}",
            "spec_format": 6,
            "explicit": True,
            "installed_at": "2025-03-30T12:00:00Z",
            "checksum": f"sha256:{'a' * 64}",
            "dependencies": (
                Dependency("gcc", hash_of("gcc"), ("build",), ("c", "cxx")),
                Dependency("zlib", hash_of("zlib"), ("build", "link")),
            ),
            **facts,
        },
    )


def a_snapshot(
    specs: Iterable[Spec], tag: str = "develop", taken_at: datetime | None = None
) -> Snapshot:
    """Return a snapshot that can be published."""
    return Snapshot(tag=tag, content=Content.of(specs), source=SOURCE, taken_at=taken_at)


def a_revision(
    tag: str, taken: int, content: str = "a", published: int | None = None
) -> RevisionInfo:
    """Return a revision; ``taken`` and ``published`` are days after START."""
    return RevisionInfo(
        tag=tag,
        digest=digest_of(content),
        taken_at=day(taken),
        published_at=day(taken if published is None else published),
        num_packages=1,
        num_specs=1,
        num_stacks=2,
        total_size=None,
        source=SOURCE,
    )


def seeded(make: Callable[[Random], Drawn]) -> st.SearchStrategy[Drawn]:
    """Draw the results of ``make`` for random seeds: a single draw, regardless of their size."""
    return st.integers(0, (1 << 32) - 1).map(lambda seed: make(Random(seed)))


def some_of(random: Random, items: Sequence[str]) -> tuple[str, ...]:
    """Return a random subsequence of the items."""
    return tuple(item for item in items if random.random() < 0.5)


def random_dependency(random: Random) -> Dependency:
    """Return an edge to one of three specs."""
    return Dependency(
        name=random.choice(NAMES),
        hash=hash_of(random.choice("abc")),
        types=some_of(random, ("build", "link", "run", "test")),
        virtuals=some_of(random, ("c", "mpi")),
    )


def random_facts(random: Random) -> dict[str, Any]:
    """Return facts with few possible values each, so that records often share some."""
    edges = [random_dependency(random) for _ in range(random.randrange(3))]
    return {
        "name": random.choice(NAMES),
        "version": random.choice(VERSIONS),
        "compiler": random.choice(COMPILERS),
        "operating_system": random.choice(SYSTEMS),
        "platform": random.choice(PLATFORMS),
        "target": random.choice(TARGETS),
        "variants": some_of(random, VARIANTS),
        "stacks": some_of(random, STACKS),
        "size": random.choice((None, 0, 1_000, 7_000_000_000)),
        "tarball": random.choice((None, "https://example.org/1", "https://example.org/2")),
        "namespace": random.choice((None, "builtin", "mine")),
        "package_hash": random.choice((None, "abc====", "def====")),
        "dependencies": random.choice((None, tuple(sorted(edges)))),
        "patches": random.choice((None, (), ("b231fcc4d5cf", "26090f418891"))),
        "provided_virtuals": random.choice((None, (), ("mpi@3.1", "zlib-api"))),
        "external_path": random.choice((None, "/usr")),
        "external_modules": random.choice((None, (), ("gcc/13.2.0",))),
        "build_spec": random.choice((None, f"zlib-ng/{hash_of('zlib-ng')}")),
        "spec_format": random.choice((None, 5, 6)),
        "explicit": random.choice((None, False, True)),
        "installed_at": random.choice((None, "2025-03-30T12:00:00Z")),
        "checksum": random.choice((None, f"sha256:{'a' * 64}", f"sha256:{'b' * 64}")),
    }


SPECS = st.lists(
    seeded(lambda random: Spec(hash=hash_of(str(random.randrange(30))), **random_facts(random))),
    max_size=8,
    unique_by=lambda spec: spec.hash,
)
"""Specs of a revision: their hashes are distinct."""
