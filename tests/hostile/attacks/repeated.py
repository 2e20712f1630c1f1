"""Work that is repeated in one request: 20 times, and as often as the server accepts.

Requests repeat fields of each object in a list under aliases. A long attack, also with each query
of the benchmark ``cost``, grows until it is refused. Then a crowd sends the largest accepted one.
"""

from collections.abc import Callable, Iterator, Mapping

from tests.benchmarks.cost_queries import IN_REVISION, OF_CATALOG, OF_COMPARISON
from tests.hostile.attack import (
    Answer,
    Attack,
    Request,
    Target,
    about_catalog,
    about_pair,
    about_revision,
    aliased,
    fresh,
    query,
    send_all,
    sending,
)

_TIMES = 20
_MOST = 20_000
_STEPS = 5
"""The number of times that the distance between accepted and refused sizes is halved."""

_CROWD = 8
_LARGEST_BODY = 1 << 20
_REFUSALS = (
    "QUERY_TOO_LARGE",
    "LIMIT_EXCEEDED",
    "GRAPHQL_VALIDATION_FAILED",
    "GRAPHQL_PARSE_FAILED",
)

Make = Callable[[Target, int], Request]
"""Returns a request of a size."""


def _repeated(about: Callable[[Target, str], Request], selected: str) -> Make:
    """Repeat a selection; its pages have different sizes, so that no result is shared."""

    def make(target: Target, size: int) -> Request:
        pages = (
            selected.replace("first: 1000", f"first: {1_000 - at % 900}") for at in range(size)
        )
        return about(target, " ".join(f"a{at}:{page}" for at, page in enumerate(pages)))

    return make


def _of_each_row(about: Callable[[Target, str], Request], rows: str, field: str) -> Make:
    """Repeat a field of each object in a list of a thousand."""
    return lambda target, size: about(target, rows % aliased(size, field))


_FIELDS = (
    (about_revision, "specs(first:1000){nodes{%s}}", ("variants", "short", "id")),
    (about_revision, "specs(first:1000){edges{%s}}", ("cursor",)),
    (about_revision, "packages(first:1000){nodes{%s}}", ("versions", "targets")),
    (
        about_pair,
        "specs(first:1000){nodes{%s}}",
        ("reason", "mainCause{title packageNames}", "path{name before{short}after{short}}"),
    ),
)


def _walks_in_walks(target: Target, size: int) -> Request:
    walk = f"dependents(transitive:true,first:{min(size, 1_000)}){{nodes{{spec"
    below = "{dependencies(transitive:true,first:9){nodes{hash}}}}}"
    return about_revision(target, f"specs(first:1){{nodes{{{walk}{below}}}}}")


def _fragments(_target: Target, size: int) -> Request:
    parts = (f"fragment F{i} on Query {{ a{i}:__typename ...F{i + 1} }}" for i in range(size))
    last = f"fragment F{size} on Query {{ tags {{ name }} }}"
    return query(f"query {fresh()} {{ ...F0 }} {' '.join(parts)} {last}")


def _queries() -> Iterator[tuple[str, Make]]:
    """Yield the queries of the benchmark ``cost``, by name."""
    for about, queries in (
        (about_revision, IN_REVISION),
        (about_pair, OF_COMPARISON),
        (about_catalog, OF_CATALOG),
    ):
        for name, selected in queries.items():
            yield name.removeprefix("unit: "), _repeated(about, selected)


def _fields() -> Iterator[tuple[str, Make]]:
    """Yield the fields of each object in a list, by name."""
    for about, rows, fields in _FIELDS:
        for field in fields:
            yield f"{rows.partition('(')[0]}: {field}", _of_each_row(about, rows, field)


_BY_IDS = "query($i: [ID!]!) { nodes(ids: $i) { id ...on Spec { short variants stackNames } } }"
_OTHERS: Mapping[str, Make] = {
    "walks in walks": _walks_in_walks,
    "known ids": lambda target, n: query(_BY_IDS, {"i": (target.ids * (n // 1000 + 1))[:n]}),
    "names": _repeated(about_catalog, "__typename"),
    "chained fragments": _fragments,
}


def _grown(make: Make) -> Callable[[Target], list[Answer]]:
    """Return a run that finds the largest accepted request, and sends it by a crowd."""

    def run(target: Target) -> list[Answer]:
        answers: list[Answer] = []

        def is_accepted(size: int) -> bool:
            request = make(target, size)
            if len(request.body) > _LARGEST_BODY:
                return False
            (answer,) = send_all(target, [request])
            answers.append(answer)
            # A response with other errors is not a refusal: the server has worked.
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


def _times(make: Make) -> Callable[[Target], list[Answer]]:
    return sending(lambda target: make(target, _TIMES))


ATTACKS = tuple(
    Attack(f"{name} x {_TIMES}", "the same work again and again", _times(make))
    for name, make in [*_fields(), *_OTHERS.items()]
)
LARGEST = tuple(
    Attack(f"up to the limit: {name}", "as much as is accepted, by a crowd", _grown(make), True)
    for name, make in [*_queries(), *_fields(), *_OTHERS.items()]
)
