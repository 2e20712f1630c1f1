"""What took the place of what, candidate by candidate."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Set
from itertools import product
from operator import itemgetter
from typing import Any

from snapshots.models import Spec
from snapshots.spack.versions import version_key
from tests.snapshots.changes.oracle.states import (
    State,
    architecture_of,
    direct_names,
    stacks_of,
)

Key = Callable[[Spec], Hashable]
Candidate = tuple[Spec, Spec]


def _key(*facts: Key) -> Key:
    return lambda spec: tuple(fact(spec) for fact in facts)


def _variants(spec: Spec) -> Hashable:
    return frozenset(spec.variants)


def _version(spec: Spec) -> Hashable:
    return spec.version


TIERS = (
    _key(_variants, direct_names, _version),
    _key(_variants, direct_names),
    _key(_variants, _version),
    _key(_variants),
    _key(direct_names, _version),
    _key(direct_names),
    _key(_version),
    _key(),
)
"""What two counterparts have in common beside package and architecture, most first."""


def counterparts(base: State, head: State) -> dict[str, str]:
    """Return the hash in base of what each spec of head took the place of, by its own hash."""
    removed = {it.hash: it for it in base.specs.values() if it.hash not in head.specs}
    added = {it.hash: it for it in head.specs.values() if it.hash not in base.specs}
    found: dict[str, str] = {}
    for is_close in (_same_architecture, _common_stack):
        for key in TIERS:
            for before, after in _most_alike_first(base, head, removed, added, key, is_close):
                if before.hash in removed and after.hash in added:
                    del removed[before.hash], added[after.hash]
                    found[after.hash] = before.hash
    return found


def _same_architecture(before: Spec, after: Spec) -> bool:
    return architecture_of(before) == architecture_of(after)


def _common_stack(before: Spec, after: Spec) -> bool:
    return bool(stacks_of(before) & stacks_of(after))


def _most_alike_first(
    base: State,
    head: State,
    removed: dict[str, Spec],
    added: dict[str, Spec],
    key: Key,
    is_close: Callable[[Spec, Spec], bool],
) -> Iterator[Candidate]:
    """Yield the candidates of one tier, each key's most alike first."""
    for olds, news in _by_common_key(removed.values(), added.values(), key):
        candidates = [pair for pair in product(olds, news) if is_close(*pair)]
        order = _version_places(base, head, olds[0].name) if len(candidates) > 1 else {}
        ranked = [(_rank(base, head, pair, order), pair) for pair in candidates]
        yield from (pair for _, pair in sorted(ranked, key=itemgetter(0)))


def _by_common_key(
    olds: Iterable[Spec], news: Iterable[Spec], key: Key
) -> list[tuple[list[Spec], list[Spec]]]:
    groups: dict[Any, tuple[list[Spec], list[Spec]]] = {}
    for side, specs in enumerate((olds, news)):
        for spec in specs:
            groups.setdefault((spec.name, key(spec)), ([], []))[side].append(spec)
    return [group for group in groups.values() if all(group)]


def _rank(base: State, head: State, pair: Candidate, order: dict[str, int]) -> tuple[Any, ...]:
    """Return what candidates are sorted by, the most alike first."""
    before, after = pair
    old, new = order.get(before.version, 0), order.get(after.version, 0)
    return (
        -share(base.below(before), head.below(after)),
        -share(base.below(before, with_variants=True), head.below(after, with_variants=True)),
        -share(stacks_of(before), stacks_of(after)),
        -share(set(before.variants), set(after.variants)),
        abs(old - new),
        -new,
        -old,
        before.hash,
        after.hash,
    )


def share(some: Set[Any], others: Set[Any]) -> float:
    """Return how much of two sets is common: 1 where they are equal, even if empty."""
    union = some | others
    return len(some & others) / len(union) if union else 1.0


def _version_places(base: State, head: State, package: str) -> dict[str, int]:
    """Return the place of each version of a package on either side, in Spack's order."""
    specs = [*base.of_package(package), *head.of_package(package)]
    keys = sorted({(version_key(it.version), it.version) for it in specs})
    return {version: place for place, (_, version) in enumerate(keys)}
