"""Attackers who know the limits: they send the largest request of a kind that is accepted.

It grows until it is refused; then many send the last one that was not, at the same time.
Attacks of fixed sizes only show that a limit is there. These show that it is low enough.
"""

from collections.abc import Callable

from tests.hostile.attack import (
    Answer,
    Ask,
    Attack,
    Target,
    about_pair,
    about_revision,
    aliased,
    fresh,
    query,
    send_all,
)

_MOST = 20_000
_STEPS = 5
"""How often the distance between what is accepted and what is refused is halved."""

_CROWD = 8
_LARGEST_BODY = 1 << 20

Make = Callable[[Target, int], Ask]


def _grown(make: Make) -> Callable[[Target], list[Answer]]:
    """Return a run that finds the largest request that is accepted, and sends it by a crowd."""

    def run(target: Target) -> list[Answer]:
        answers: list[Answer] = []

        def is_accepted(size: int) -> bool:
            ask = make(target, size)
            if len(ask.body) > _LARGEST_BODY:
                return False
            (answer,) = send_all(target, [ask])
            answers.append(answer)
            # Errors beside large answers are not refusal: work was done.
            return answer.in_time and answer.status == 200 and answer.code not in _REFUSALS

        low, high = 0, 1
        while high < _MOST and is_accepted(high):
            low, high = high, 4 * high
        for _ in range(_STEPS):
            middle = (low + high) // 2
            if middle in (low, high) or not answers[-1].in_time:
                break
            low, high = (middle, high) if is_accepted(middle) else (low, middle)
        if low and answers[-1].in_time:
            answers += send_all(
                target, [make(target, low) for _ in range(2 * _CROWD)], at_once=_CROWD
            )
        return answers

    return run


_REFUSALS = (
    "QUERY_TOO_LARGE",
    "LIMIT_EXCEEDED",
    "GRAPHQL_VALIDATION_FAILED",
    "GRAPHQL_PARSE_FAILED",
)


def _page(size: int) -> int:
    """Return a size that a page may have."""
    return min(size, 1_000)


def _about_revision(selected: Callable[[int], str]) -> Make:
    return lambda target, size: about_revision(target, selected(size))


def _about_pair(selected: Callable[[int], str]) -> Make:
    return lambda target, size: about_pair(target, selected(size))


def _filter_values(target: Target, size: int) -> Ask:
    names = [f"{target.packages[0]}{number}" for number in range(size)]
    text = "query($f: SpecFilter) { revision { specs(filter: $f) { totalCount facets "
    text += "{ versions { value } } nodes { hash } } } }"
    return query(text, {"f": {"packages": [fresh(), *names], "versions": names}})


def _matched(target: Target, size: int) -> Ask:
    name = target.packages[0]
    lists = (
        f'm{i}:specs(matching:"@{i}.{fresh()[1:]}: ^{name}"){{totalCount}}' for i in range(size)
    )
    return query(f"{{ revision {{ {' '.join(lists)} }} }}")


def _unknown_refs(_target: Target, size: int) -> Ask:
    refs = (f'r{i}:revision(ref:"developp-{fresh()}"){{id}}' for i in range(size))
    return query(f"{{ {' '.join(refs)} }}")


def _ids(make: Callable[[Target, int], list[str]]) -> Make:
    text = "query($i: [ID!]!) { nodes(ids: $i) { id ...on Spec { short variants stacks } } }"
    return lambda target, size: query(text, {"i": make(target, size)})


def _overlapping(target: Target, size: int) -> Ask:
    fields = " ".join(f"specs{{nodes{{x{i % 9}:hash ...on Spec{{hash}}}}}}" for i in range(size))
    return about_revision(target, fields)


def _fragments(_target: Target, size: int) -> Ask:
    parts = (f"fragment F{i} on Query {{ a{i}:__typename ...F{i + 1} }}" for i in range(size))
    last = f"fragment F{size} on Query {{ tags {{ name }} }}"
    return query(f"query {fresh()} {{ ...F0 }} {' '.join(parts)} {last}")


_MAKERS: dict[str, Make] = {
    "variants": _about_revision(
        lambda n: f"specs(first:1000){{nodes{{{aliased(n, 'variants')}}}}}"
    ),
    "short": _about_revision(lambda n: f"specs(first:1000){{nodes{{{aliased(n, 'short')}}}}}"),
    "cursors": _about_revision(lambda n: f"specs(first:1000){{edges{{{aliased(n, 'cursor')}}}}}"),
    "packages": _about_revision(
        lambda n: (
            f"packages(first:{_page(n)}){{nodes{{versions stacks "
            f"specs(first:{_page(n)}){{nodes{{hash}}}}}}}}"
        )
    ),
    "numSpecsByStack": _about_revision(
        lambda n: f"packages(first:1000){{nodes{{{aliased(n, 'numSpecsByStack{stack}')}}}}}"
    ),
    "stacks": _about_revision(lambda n: aliased(n, "stacks{name numSpecs totalSize}")),
    "facets": _about_revision(
        lambda n: " ".join(
            f'a{i}:specs(first:0,filter:{{hashPrefix:"{"abcdefgh"[i % 8]}"}}){{facets{{stacks'
            "{value}versions{value}}}"
            for i in range(n)
        )
    ),
    "equal facets": _about_revision(
        lambda n: f"specs{{facets{{{aliased(n, 'versions{value numSpecs}')}}}}}"
    ),
    "walks": _about_revision(
        lambda n: (
            f"specs(first:{_page(n)}){{nodes{{dependents(transitive:true,first:1){{totalCount}}}}}}"
        )
    ),
    "walks in walks": _about_revision(
        lambda n: (
            f"specs(first:1){{nodes{{dependents(transitive:true,first:{_page(n)}){{nodes{{spec"
            "{dependencies(transitive:true,first:9){nodes{hash}}}}}}}"
        )
    ),
    "matching": _matched,
    "filter values": _filter_values,
    "notes": _about_pair(lambda n: aliased(n, "releaseNotes")),
    "compared packages": _about_pair(
        lambda n: aliased(n, "packages(first:1000){nodes{name versionsAdded after{versions}}}")
    ),
    "compared specs": _about_pair(
        lambda n: aliased(n, "specs(first:1000){nodes{hash before{short}after{short}}}")
    ),
    "compared stacks": _about_pair(lambda n: aliased(n, "stacks{packagesAdded packagesRemoved}")),
    "causes": _about_pair(
        lambda n: aliased(n, "causes(first:100){nodes{title packages facts{path}together{title}}}")
    ),
    "specs of causes": _about_pair(
        lambda n: aliased(n, "causes{nodes{specs(involved:true){nodes{causes{title}}}}}")
    ),
    "paths to causes": _about_pair(
        lambda n: aliased(n, "specs(first:1000){nodes{reason path{name before{short}}}}")
    ),
    "coverage": _about_pair(
        lambda n: aliased(n, "coverage(by:[STACK,TARGET]){nodes{values nearest{short}}}")
    ),
    "unknown refs": _unknown_refs,
    "unknown ids": _ids(lambda _target, n: [fresh() for _ in range(n)]),
    "known ids": _ids(lambda target, n: [target.ids[i % len(target.ids)] for i in range(n)]),
    "names": lambda _target, n: query(f"query {fresh()} {{ {aliased(n, '__typename')} }}"),
    "overlaps": _overlapping,
    "chained fragments": _fragments,
    "introspection": lambda _target, n: query(
        f"query {fresh()} {{ {aliased(n, '__schema{types{name fields{name}}}')} }}"
    ),
}

ATTACKS = tuple(
    Attack(
        f"up to the limit: {name}", "as much as is accepted, by a crowd", _grown(make), long=True
    )
    for name, make in _MAKERS.items()
)
