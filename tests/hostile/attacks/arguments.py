"""Expensive arguments: long filters, spec queries, pairs of revisions, walks."""

from collections.abc import Iterator
from itertools import product

from tests.hostile.attack import (
    Attack,
    Request,
    Target,
    about_revision,
    aliased,
    fresh,
    query,
    sending,
)

_BY_FILTER = "query($filter: SpecFilter!) { revision { specs(filter: $filter) { totalCount } } }"
_BY_PACKAGE_FILTER = (
    "query($filter: SpecFilter!) { revision { packages(filter: $filter) { totalCount } } }"
)


def _filter(name: str, count: int, value: str) -> Attack:
    def make(_target: Target) -> Request:
        prefix = fresh()
        return query(_BY_FILTER, {"filter": {name: [value % f"{prefix}{i}" for i in range(count)]}})

    return Attack(f"filter {name} x {count:,}", "a filter of very many values", sending(make))


def _shared_filter(_target: Target) -> Request:
    values = [f"v{number}" for number in range(10_000)]
    lists = aliased(150, "specs(filter:$filter){totalCount}")
    text = f"query($filter: SpecFilter!) {{ revision {{ {lists} }} }}"
    return query(text, {"filter": {"versions": values, "packages": values}})


def _long_texts(_target: Target) -> Iterator[Request]:
    long = "a" * 220_000
    yield query(_BY_FILTER, {"filter": {"hashPrefix": long}})
    yield query(_BY_FILTER, {"filter": {"variants": [f"+{long}"]}})
    yield query(_BY_PACKAGE_FILTER, {"filter": {"search": long}})
    yield query("query($ref: String!) { revision(ref: $ref) { id } }", {"ref": long})
    yield query("query($ref: ID!) { node(id: $ref) { id } }", {"ref": long})
    yield query("query($c: String!) { revisions(after: $c) { totalCount } }", {"c": long})


def _matching(queries: list[str]) -> Request:
    texts = {f"m{number}": text for number, text in enumerate(queries)}
    declared = ", ".join(f"${name}: String!" for name in texts)
    lists = " ".join(f"{name}:specs(matching:${name}){{totalCount}}" for name in texts)
    return query(f"query {fresh()}({declared}) {{ revision {{ {lists} }} }}", texts)


def _different_matching(target: Target) -> Request:
    return _matching([f"{name}@1.{i}: %gcc" for i, name in enumerate(target.packages[:110])])


def _matching_dependencies(target: Target) -> Request:
    names = target.packages[:16]
    below = " ".join(f"^{name}@1:" for name in names)
    return _matching([f"{name} {below}"[:2_000] for name in target.packages[:60]])


def _matching_garbage(_target: Target) -> Request:
    return _matching([mark * 1_900 + str(i) for i, mark in enumerate("+~%^@:=\"'/ " * 6)])


def _refs(target: Target) -> list[str]:
    return [*target.digests, *(digest[:12] for digest in target.digests), *target.tags]


def _many_pairs(target: Target) -> Request:
    pairs = list(product(_refs(target), repeat=2))[:120]
    fields = " ".join(
        f'a{i}:compare(base:"{base}",head:"{head}"){{...C}}' for i, (base, head) in enumerate(pairs)
    )
    fragment = "fragment C on Comparison { summary { numSpecsAdded } packages(first: 1000) { nodes "
    fragment += "{ versionsAdded versionsRemoved } } }"
    return query(f"query {fresh()} {{ {fields} }} {fragment}")


def _columns(target: Target) -> Iterator[Request]:
    kinds = ("versions", "compilers", "targets", "platforms", "operatingSystems", "stacks")
    fields = ("VERSION", "HASH", "COMPILER", "TARGET", "SIZE", "PACKAGE")
    for number in range(400):
        picked = [kind for bit, kind in enumerate(kinds) if number >> bit & 1]
        filters = ",".join(f'{kind}:["{fresh()}","linux"]' for kind in picked)
        order = f"{{field:{fields[number % 6]}}}"
        ref = target.digests[number % len(target.digests)]
        yield query(
            f'{{ revision(ref:"{ref}") {{ specs(first:5,orderBy:{order},filter:{{{filters}}})'
            "{ facet(by: VERSION) { value } stacks: facet(by: STACK) { value } nodes { hash } } } }"
        )


def _walks(field: str) -> Attack:
    def make(target: Target) -> Request:
        walk = f"{field}(transitive:true,first:1000){{totalCount nodes{{spec{{%s}}}}}}"
        nested = walk % (walk % "short")
        return about_revision(target, f"specs(first:1000) {{ nodes {{ {nested} }} }}")

    return Attack(f"{field} of {field}", "whole graphs walked from each spec", sending(make))


ATTACKS = (
    _filter("packages", 60_000, "%s"),
    _filter("variants", 10_000, "+%s"),
    Attack("one filter x 150", "20,000 values, used in each of 150 lists", sending(_shared_filter)),
    Attack("long texts", "220 kB in each kind of argument", sending(_long_texts)),
    Attack("110 matching", "as many masks over every spec", sending(_different_matching)),
    Attack("matching ^ x 960", "walks through the graph", sending(_matching_dependencies)),
    Attack("matching garbage", "signs that mean nothing", sending(_matching_garbage)),
    Attack("many pairs", "up to 120 pairs of revisions to compare", sending(_many_pairs)),
    Attack("flood: columns", "400 filters and orders", sending(_columns), True),
    _walks("dependencies"),
    _walks("dependents"),
)
