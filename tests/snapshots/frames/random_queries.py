"""Random specs of few values each, and random queries that often find some of them."""

from collections.abc import Iterator
from random import Random

from msgspec.structs import replace

from snapshots.models import Dependency, Spec
from tests.snapshots.factories import hash_of, random_facts, some_of

TYPES = ("build", "link", "run", "test")
VIRTUALS = ("blas", "c", "mpi")
OUTSIDE = ("gcc", "clang", "cuda")
PROVIDED = ("blas", "c", "mpi@1.2", "mpi@3.1")

PARTS = (
    ("@1.2", "@1.2:", "@:1.10", "@develop"),
    ("+mpi", "~mpi", "++mpi", "~~mpi"),
    ("+shared",),
    ("build_type=Release", "build_type==Debug"),
    ("patches=b231fcc",),
    ('cflags="-O2"',),
    ("platform=linux",),
    ("os=rhel8", "os=*"),
    ("target=m1", "target=x86_64_v2:,m1", "target=:neoverse_v2"),
    ("namespace=builtin",),
)
"""Parts of a query; of those that stand together it can have one."""


def random_specs(random: Random) -> tuple[list[Spec], list[Spec]]:
    """Return specs of few values each that depend on each other, and others that are outside."""
    labels = [*map(str, range(random.randrange(1, 9))), *OUTSIDE]
    nodes = {
        hash_of(label): Spec(hash=hash_of(label), **random_facts(random) | {"dependencies": ()})
        for label in labels
    }
    if random.random() < 0.5:
        for digest, spec in nodes.items():
            nodes[digest] = replace(spec, provided_virtuals=some_of(random, PROVIDED))
    for label in OUTSIDE:
        nodes[hash_of(label)] = replace(nodes[hash_of(label)], name=label)

    def edges() -> Iterator[Dependency]:
        for digest in random.sample(sorted(nodes), k=random.randrange(3)):
            types, virtuals = some_of(random, TYPES), some_of(random, VIRTUALS)
            yield Dependency(nodes[digest].name, digest, types or ("build",), virtuals)

    found = [replace(spec, dependencies=tuple(edges())) for spec in nodes.values()]
    stated = [spec for spec in found[-len(OUTSIDE) :] if random.random() < 0.6]
    return found[: -len(OUTSIDE)], stated


def random_node(random: Random) -> str:
    """Return a query about one spec."""
    name = random.choice(("*", "*", "zlib", "hdf5", "lib2", *OUTSIDE, "unknown", "blas", "mpi"))
    parts = list(map(random.choice, random.sample(PARTS, k=random.choice((0, 0, 1, 1, 2)))))
    if random.random() < 0.1:
        label = random.choice((*map(str, range(8)), *OUTSIDE))
        parts.append(f"/{hash_of(label)[: random.choice((1, 7, 32))]}")
    return " ".join([name, *parts])


def random_query(random: Random) -> str:
    """Return a query with up to three dependencies."""
    parts = [random_node(random)]
    for _ in range(random.choice((0, 1, 1, 2, 3))):
        sigil = random.choice(
            ("%", "^", "%[deptypes=link] ", "%[virtuals=c,mpi] ", "^[virtuals=mpi] ")
        )
        parts.append(sigil + random_node(random))
    return " ".join(parts)
