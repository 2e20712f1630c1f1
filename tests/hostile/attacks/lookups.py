"""Lookups of specs, plans and rules: as many and as unusual ones as a request may have."""

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tests.hostile.attack import Attack, Request, Target, fresh, query, sending

_BASE32 = "abcdefghijklmnopqrstuvwxyz234567"
_MOST = 2_000
"""The maximum number of specs in a list."""

_random = random.Random(0)


def _specs(target: Target, count: int, /, **facts: Any) -> list[dict[str, Any]]:
    """Return specs of existing packages with hashes that do not exist, new ones each time."""
    return [
        {
            "hash": "".join(_random.choices(_BASE32, k=32)),
            "name": target.packages[number % len(target.packages)],
            "version": "1.2.3",
            **facts,
        }
        for number in range(count)
    ]


# -- lookups

_ALL = (
    "found { nodes { hash } } missing(first: 1000) { nodes { hash lastSeen { tagName } reason "
    "nearest { hash short } differences { path before after } } }"
)


def _lookup(specs: object, selected: str = _ALL) -> Request:
    text = (
        f"query {fresh()}($s: [ConcreteSpecInput!]!) "
        f"{{ revision {{ lookup(specs: $s) {{ numFound {selected} }} }} }}"
    )
    return query(text, {"s": specs})


def _lookups(target: Target) -> Iterator[Request]:
    """Look up specs that do not exist, of many packages and of one, and specs that exist."""
    for count in (_MOST, 1_500, 800):
        for selected in ("", _ALL, "missing(first: 1) { nodes { lastSeen { id } } }"):
            yield _lookup(_specs(target, count), selected)
    builds = _specs(target, _MOST, name="hdf5", variants=["+mpi", "~cxx", "build_type=Release"])
    for number, spec in enumerate(builds):
        spec |= {"version": f"1.{number}", "compiler": f"gcc@{number}", "target": "zen4"}
    yield _lookup(builds)
    yield _lookup([{"hash": digest, "name": "hdf5"} for digest in target.hashes[:_MOST]])


def _odd_specs(target: Target) -> Iterator[Request]:
    """Look up specs with very long or many facts, with invalid ones, and one many times."""
    (spec,) = _specs(target, 1)
    for odd in (
        {"hash": "ß" * 32},
        {"name": "../../etc/passwd"},
        {"version": "9" * 4_000},
        {"version": "1." * 2_000},
        {"variants": [f"v{number}=" + "x" * 100 for number in range(1_000)]},
        {"variants": ["+" + "x" * 3_999] * 10},
        {"compiler": "@" * 4_000},
        {"target": "x86_64_v" + "9" * 3_000},
    ):
        yield _lookup([spec | odd])
        yield _lookup(_specs(target, 20, **odd))
    yield _lookup([spec] * _MOST)
    yield _lookup([spec | {"isRoot": True}] * _MOST)
    yield _lookup(_specs(target, _MOST + 1))
    yield _lookup(_specs(target, _MOST, variants=["+mpi"] * 200))  # more bytes than allowed
    invalid: tuple[object, ...] = ({"hash": "", "name": ""}, {"a": 0}, [[[]]])
    for spec_value in invalid:
        yield _lookup([spec_value] * _MOST)


# -- plans

_PLAN = (
    "query($s: [ConcreteSpecInput!]!, $t: [String!]) "
    '{ plan(base: "develop", specs: $s, stacks: $t) { numToBuild '
    "toBuild(first: 100) { nodes { hash reason path { name } } } } }"
)


def _edges(hashes: Sequence[str]) -> list[dict[str, Any]]:
    return [{"name": "hdf5", "hash": digest} for digest in hashes]


def _plans(target: Target) -> Iterator[Request]:
    """Plan specs in a chain, in a cycle, each with all previous ones, and each in its own stack."""
    for size in (500, 1_700):
        specs = _specs(target, size, stack="e4s")
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
    yield query(_PLAN, {"s": _specs(target, 100, version="9" * 4_000, variants=variants)})


# -- rules


def _check(target: Target, rules: list[dict[str, Any]], first: int = 50) -> Request:
    head, *_, base = target.digests
    text = (
        f'query {fresh()}($r: [JSON!]!) {{ compare(base: "{base}", head: "{head}") '
        "{ check(rules: $r) { hasPassed rules { hasPassed message numBreaches "
        f"breaches(first: {first}) {{ message packageName numSpecs }} }} }} }} }}"
    )
    return query(text, {"r": rules})


_FORBID = {"name": "none", "forbid": "spec-removed"}


def _globs(target: Target) -> Iterator[Request]:
    """Use globs with very many stars that match no name."""
    patterns: tuple[Callable[[int], str], ...] = (
        lambda number: "*a" * 98 + f"{number}",
        lambda number: "?*" * 98 + f"{number}",
        lambda number: "*[!z]" * 30 + f"*-*{number}",
        lambda number: "[" * 150 + f"{number}",
        lambda number: "*[a-z0-9]" * 20 + f"{number}",
    )
    for pattern in patterns:
        for count in (80, 500):
            for key in ("package", "except"):
                yield _check(target, [_FORBID | {key: [pattern(at) for at in range(count)]}])


def _many_rules(target: Target) -> Iterator[Request]:
    """Send the maximum number of rules of each kind, each for other specs."""
    kinds: tuple[dict[str, Any], ...] = (
        {"forbid": "spec-removed"},
        {"forbid": "package-removed"},
        {"forbid": "coverage-lost"},
        {"forbid": "coverage-lost", "for-each": ["stack", "target", "compiler"]},
        {"limit": "specs-rebuilt", "at-most": "1 %"},
        {"limit": "size-removed", "at-most": "1 GiB"},
        {"require": "cmake", "for-each": ["stack", "target"]},
    )
    for kind in kinds:
        for count in (50, 10, 3):
            rules = [
                kind | {"name": f"{number}", "matching": f"%gcc@{number}:"}
                for number in range(count)
            ]
            if "require" not in kind:
                rules = [rule | {"package": [f"*{at}*"]} for at, rule in enumerate(rules)]
            yield _check(target, rules, 10)


ATTACKS = (
    Attack("lookups", "two thousand specs, and what is nearest", sending(_lookups)),
    Attack("odd specs", "facts that are none, or very many", sending(_odd_specs)),
    Attack("plans", "chains, circles, as many stacks as specs", sending(_plans, at_once=4)),
    Attack("rules: globs", "stars that no name fits", sending(_globs)),
    Attack("rules: many", "as many as are allowed, each of other specs", sending(_many_rules)),
)
