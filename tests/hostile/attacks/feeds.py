"""Feeds asked for one after the other, by all names that there are and by others."""

from collections.abc import Iterator
from urllib.parse import quote

from snapshots.refs import series
from tests.hostile.attack import Ask, Attack, Target, asking, fresh

_MANY = 400


def _get(path: str) -> Ask:
    return Ask(b"", "GET", path, {})


def _series(target: Target) -> list[str]:
    return list(dict.fromkeys(map(series, target.tags)))


def _of_all_series(target: Target) -> Iterator[Ask]:
    for name in _series(target) * 8:
        yield _get(f"/feeds/{quote(name)}.atom")


def _of_all_packages(target: Target) -> Iterator[Ask]:
    for name in _series(target):
        for package in target.packages:
            yield _get(f"/feeds/{quote(name)}/{quote(package)}.atom")


def _of_nobody(target: Target) -> Iterator[Ask]:
    """Every one of them is looked for among all names, for the nearest."""
    name = quote(_series(target)[0])
    for _ in range(_MANY):
        yield _get(f"/feeds/{fresh()}.atom")
        yield _get(f"/feeds/{name}/{target.packages[0]}-{fresh()}.atom")


def _odd_addresses(target: Target) -> Iterator[Ask]:
    name = quote(_series(target)[0])
    odd = ("%00", "%0d%0aX:y", "..%2f..%2fetc", "%ff%fe", "%2e%2e/%2e%2e", "%", "+", "a" * 60_000)
    for text in odd:
        yield _get(f"/feeds/{text}.atom")
        yield _get(f"/feeds/{name}/{text}.atom")
        yield _get(f"/feeds/{name}.atom?after={text}")
        yield _get(f"/feeds/{name}.atom?{text}&after=x&after=y")
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "TRACE"):
        yield Ask(b"x" * 100, method, f"/feeds/{name}.atom", {})


def _ever_new_addresses(target: Target) -> Iterator[Ask]:
    """Add to an address what is not part of it: that must not make another feed of it."""
    name = quote(_series(target)[0])
    for _ in range(_MANY):
        yield _get(f"/feeds/{name}.atom?{fresh()}={fresh()}")
        yield _get(f"/feeds/{name}.atom?after={fresh()}")


ATTACKS = (
    Attack("feeds of all series", "making stories", asking(_of_all_series, at_once=16)),
    Attack("feeds of all packages", "making many documents", asking(_of_all_packages, at_once=16)),
    Attack("feeds of nobody", "looking for the nearest names", asking(_of_nobody, at_once=8)),
    Attack("odd addresses of feeds", "confusing the reading of paths", asking(_odd_addresses)),
    Attack("ever new addresses of feeds", "filling memory", asking(_ever_new_addresses, at_once=8)),
)
