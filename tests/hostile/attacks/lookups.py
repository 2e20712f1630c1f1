"""Lock files as large as they may be, larger, and of what is hardest to look up."""

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

from tests.hostile.attack import Ask, Attack, Target, asking, query

_LOOKUP = (
    "query($s: [ConcreteSpecInput!]!) { revision { lookup(specs: $s) { numFound found { hash } "
    "missing { hash lastSeen { tag } reason nearest { hash } "
    "differences { path before after } } } } }"
)
_BEST = (
    "query($s: [ConcreteSpecInput!]!) { bestCovering(specs: $s, first: 1000) "
    "{ numFound numRootsFound revision { tag } } }"
)
_DIGITS = "abcdefghijklmnopqrstuvwxyz234567"
_numbers = count()


def _hash() -> str:
    """Return a hash that nobody has, another one each time."""
    number, text = next(_numbers), ""
    while number:
        number, digit = divmod(number, len(_DIGITS))
        text += _DIGITS[digit]
    return f"{text:a<32}"


def _specs(number: int, **facts: Any) -> list[dict[str, Any]]:
    return [{"hash": _hash(), "name": "hdf5"} | facts for _ in range(number)]


def _of_one_package(target: Target) -> Iterator[Ask]:
    """Ask for 2,000 builds of a package that are not there, each with other facts."""
    for _ in range(10):
        specs = _specs(2_000, variants=["+mpi", "~cxx", "build_type=Release"])
        for number, spec in enumerate(specs):
            spec |= {"version": f"1.{number}", "compiler": f"gcc@{number}", "target": "zen4"}
        yield query(_LOOKUP, {"s": specs})
    yield query(_LOOKUP, {"s": [{"hash": it, "name": "hdf5"} for it in target.hashes[:2_000]]})


def _of_odd_facts(_target: Target) -> Iterator[Ask]:
    """Ask with facts that are as long or as many as they may be."""
    yield query(_LOOKUP, {"s": _specs(200, version="1." * 2_000)})
    yield query(_LOOKUP, {"s": _specs(200, version="9" * 4_000)})
    yield query(
        _LOOKUP, {"s": _specs(100, variants=[f"v{number}={number}" for number in range(500)])}
    )
    yield query(_LOOKUP, {"s": _specs(20, variants=["+" + "x" * 3_999] * 10)})
    yield query(_LOOKUP, {"s": _specs(500, name="n" * 199, compiler="@" * 1_000)})
    yield query(_LOOKUP, {"s": _specs(2_001)})
    yield query(_LOOKUP, {"s": _specs(2_000, variants=["+mpi"] * 200)})  # more bytes than allowed
    yield query(_LOOKUP, {"s": [{"hash": "", "name": ""}] * 2_000})
    yield query(_LOOKUP, {"s": [{"a": 0}] * 2_000})
    yield query(_LOOKUP, {"s": [[[[]]]] * 2_000})


def _in_all(_target: Target) -> Iterator[Ask]:
    """Ask what holds most of other specs each time."""
    for _ in range(20):
        yield query(_BEST, {"s": _specs(2_000)})


_PLAN = (
    "query($s: [PlannedSpecInput!]!, $t: [String!]) "
    '{ plan(base: "develop", specs: $s, stacks: $t) { numToBuild '
    "toBuild(first: 100) { nodes { hash reason path { name } } } } }"
)


def _edges(hashes: Sequence[str]) -> list[dict[str, Any]]:
    return [{"name": "hdf5", "hash": digest} for digest in hashes]


def _planned(_target: Target) -> Iterator[Ask]:
    """Plan specs in a chain, in a circle, each over all before, and in as many stacks as specs."""
    for size in (500, 1_700):
        specs = _specs(size, version="1", stack="e4s")
        hashes = [spec["hash"] for spec in specs]
        ends = [*hashes[1:], hashes[0]]
        chain = [
            spec | {"dependencies": _edges([end])} for spec, end in zip(specs, ends, strict=True)
        ]
        yield query(_PLAN, {"s": [*chain[:-1], specs[-1]]})
        yield query(_PLAN, {"s": chain})
        over = [spec | {"dependencies": _edges(hashes[:at])} for at, spec in enumerate(specs[:140])]
        yield query(_PLAN, {"s": over})
        yield query(_PLAN, {"s": [spec | {"stack": f"s{at}"} for at, spec in enumerate(specs)]})
    for size in (2_000, 50_000):
        yield query(_PLAN, {"s": [], "t": [f"s{at}" for at in range(size)]})
    variants = [f"v{number}={number}" for number in range(500)]
    yield query(_PLAN, {"s": _specs(100, version="9" * 4_000, stack="e4s", variants=variants)})


ATTACKS = (
    Attack("plans", "chains, circles, as many stacks as specs", asking(_planned, at_once=4)),
    Attack("builds of one package", "2,000 that are not there", asking(_of_one_package)),
    Attack("odd facts", "as long and as many as may be", asking(_of_odd_facts)),
    Attack("what holds most", "other specs each time", asking(_in_all)),
)
