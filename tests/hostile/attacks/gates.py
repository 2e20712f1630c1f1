"""Specs that are looked for and rules that are judged, as many and as odd as a request may have."""

import random
from collections.abc import Callable, Iterator
from typing import Any

from tests.hostile.attack import Ask, Attack, Target, asking, fresh, query

_BASE32 = "abcdefghijklmnopqrstuvwxyz234567"
_MOST = 2_000
"""How many specs a list may have."""


def _specs(target: Target, count: int, *, seed: int = 0, **others: Any) -> list[dict[str, Any]]:
    """Return specs that nobody has, of packages that are there."""
    drawn = random.Random(seed)
    return [
        {
            "hash": "".join(drawn.choices(_BASE32, k=32)),
            "name": target.packages[number % len(target.packages)],
            "version": "1.2.3",
            **others,
        }
        for number in range(count)
    ]


def _lookup(specs: list[dict[str, Any]], selected: str) -> Ask:
    text = (
        f"query {fresh()}($s: [ConcreteSpecInput!]!) "
        f"{{ revision {{ lookup(specs: $s) {{ numFound {selected} }} }} }}"
    )
    return query(text, {"s": specs})


def _lookups(target: Target) -> Iterator[Ask]:
    for count in (_MOST, 1_500, 800):
        specs = _specs(target, count, seed=count)
        for selected in (
            "",
            "missing { hash nearest { hash short } differences { path before after } }",
            "missing { lastSeen { id } reason }",
            "missing(first: 1) { lastSeen { id } }",
        ):
            yield _lookup(specs, selected)


def _odd_specs(target: Target) -> Iterator[Ask]:
    """Specs with very many facts, with texts that are none, and one a thousand times."""
    (spec,) = _specs(target, 1)
    for odd in (
        {"hash": ""},
        {"hash": "\0" * 32},
        {"hash": "ß" * 32},
        {"name": "../../etc/passwd"},
        {"name": "\x1b[2J"},
        {"name": ""},
        {"version": "9" * 4_000},
        {"version": "." * 4_000},
        {"version": "\x1b]0;x\x07"},
        {"variants": [f"v{number}=" + "x" * 100 for number in range(1_000)]},
        {"compiler": "@" * 4_000},
        {"target": "x86_64_v" + "9" * 3_000},
    ):
        yield _lookup([spec | odd], "missing { hash nearest { hash } differences { path after } }")
    yield _lookup([spec] * _MOST, "missing { nearest { hash } }")
    yield _lookup([spec | {"isRoot": True}] * _MOST, "missing { hash }")


def _covering(target: Target) -> Iterator[Ask]:
    for seed, series in enumerate(("", ', series: "develop"', ', series: "nope"')):
        text = (
            f"query {fresh()}($s: [ConcreteSpecInput!]!) {{ bestCovering(specs: $s{series}) "
            "{ numFound revision { tag } } }"
        )
        yield query(text, {"s": _specs(target, _MOST, seed=seed)})
        yield query(text, {"s": []})


def _check(target: Target, rules: list[dict[str, Any]], first: int = 50) -> Ask:
    head, *_, base = target.digests
    text = (
        f'query {fresh()}($r: [RuleInput!]!) {{ compare(base: "{base}", head: "{head}") '
        "{ check(rules: $r) { passed rules { passed message numBreaches "
        f"breaches(first: {first}) {{ message package numSpecs }} }} }} }} }}"
    )
    return query(text, {"r": rules})


_FORBID = {"name": "none", "forbid": "spec-removed"}


def _globs(target: Target) -> Iterator[Ask]:
    """Globs with very many stars, which no name fits."""
    patterns: tuple[Callable[[int], str], ...] = (
        lambda number: "*a" * 98 + f"{number}",
        lambda number: "?*" * 98 + f"{number}",
        lambda number: "*[!z]" * 30 + f"*-*{number}",
        lambda number: "[" * 150 + f"{number}",
        lambda number: "*[a-z0-9]" * 20 + f"{number}",
    )
    for pattern in patterns:
        for count in (80, 500):
            yield _check(target, [_FORBID | {"packages": [pattern(it) for it in range(count)]}])
            yield _check(target, [_FORBID | {"except": [pattern(it) for it in range(count)]}])


def _many_rules(target: Target) -> Iterator[Ask]:
    """As many rules as are allowed, of each kind, each about other specs."""
    kinds: tuple[dict[str, Any], ...] = (
        {"forbid": "spec-removed"},
        {"forbid": "package-removed"},
        {"forbid": "coverage-lost"},
        {"forbid": "coverage-lost", "forEach": ["STACK", "TARGET", "COMPILER"]},
        {"limit": "specs-rebuilt", "atMost": "1 %"},
        {"limit": "size-removed", "atMost": "1 GiB"},
        {"require": "cmake", "forEach": ["STACK", "TARGET"]},
    )
    for kind in kinds:
        for count in (50, 10, 3):
            rules = [
                kind | {"name": f"{number}", "matching": f"%gcc@{number}:"}
                for number in range(count)
            ]
            if "require" not in kind:
                rules = [rule | {"packages": [f"*{at}*"]} for at, rule in enumerate(rules)]
            yield _check(target, rules, 10)


def _odd_rules(target: Target) -> Iterator[Ask]:
    """Rules that are none; what they name must be no file."""
    deep = "".join(f" ^{name}" for name in target.packages[:60])
    faults: tuple[dict[str, Any], ...] = (
        {},
        {"name": ""},
        {"name": "\x1b[2J\n::error::x"},
        {"name": "a" * 4_000},
        {"forbid": "\0"},
        {"cover": "/etc/passwd"},
        {"forbid": None, "cover": []},
        {"forbid": None, "cover": _specs(target, 1_900)},
        {"stack": "a" * 200},
        {"stack": "../.."},
        {"matching": "(" * 900},
        {"matching": "@" + ",".join(f"{number}:" for number in range(200))},
        {"matching": "zlib" + deep},
        {"matching": "^" * 500},
        {"forbid": None, "require": "zlib" + deep},
        {"forbid": None, "limit": "specs-removed", "atMost": "9" * 4_000},
        {"forbid": None, "limit": "specs-removed", "atMost": "0." + "0" * 3_000 + "1 %"},
        {"forbid": None, "limit": "size-removed", "atMost": "999999999999999.999999 TiB"},
        {"packages": []},
        {"packages": [""]},
        {"packages": ["a"] * _MOST},
    )
    for odd in faults:
        yield _check(target, [_FORBID | odd])
    yield _check(target, [])
    yield _check(target, [_FORBID] * 51)
    yield _check(target, [_FORBID], 10**9)


ATTACKS = (
    Attack("lookups", "two thousand specs, and what is nearest", asking(_lookups)),
    Attack("lookups at once", "the same by several", asking(_lookups, at_once=8)),
    Attack("odd specs", "facts that are none, or very many", asking(_odd_specs)),
    Attack("lookups everywhere", "all tags and all of a series", asking(_covering, at_once=4)),
    Attack("rules: globs", "stars that no name fits", asking(_globs)),
    Attack("rules: many", "as many as are allowed, each of other specs", asking(_many_rules)),
    Attack("rules: odd", "faults, files and numbers", asking(_odd_rules)),
)
