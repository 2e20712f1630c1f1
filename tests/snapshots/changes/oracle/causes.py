"""What rebuilt what: causes of every pair of nodes, walked pair by pair."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from itertools import pairwise

from tests.snapshots.changes.oracle.edges import PairedEdges, pair_edges
from tests.snapshots.changes.oracle.own import (
    Cause,
    Kind,
    format_cause,
    own_causes,
    own_differences,
)
from tests.snapshots.changes.oracle.states import State

Pair = tuple[str, str]
"""The hashes of two nodes, in base and in head."""


class Causes:
    """Why specs are others than their counterparts.

    ``counterparts`` has the hash in base of each spec of head that took the place of one.
    """

    def __init__(self, base: State, head: State, counterparts: Mapping[str, str]) -> None:
        self._base = base
        self._head = head
        self._packages: dict[Pair, str] = {}
        self._edges: dict[Pair, PairedEdges] = {}
        self.starts = {after: (before, after) for after, before in counterparts.items()}
        self.below: dict[Pair, list[Pair]] = {}
        waiting = list(self.starts.values())
        for before, after in waiting:
            self._packages[before, after] = head.specs[after].name
        while waiting:
            pair = waiting.pop()
            if pair not in self.below:
                self.below[pair] = self._pairs_below(pair)
                waiting += self.below[pair]
        self._own = {pair: self._causes_at(pair) for pair in self.below}
        for pair in [it for it in self.below if self._ends_without_cause(it)]:
            nodes = self._base.nodes.get(pair[0]), self._head.nodes.get(pair[1])
            unknown = Cause(Kind.UNKNOWN, self._packages[pair])
            self._own[pair] = [format_cause(*nodes) or unknown]

    def _pairs_below(self, pair: Pair) -> list[Pair]:
        before, after = self._base.nodes.get(pair[0]), self._head.nodes.get(pair[1])
        if before is None or after is None:
            return []
        self._edges[pair] = pair_edges(self._base, self._head, before, after)
        found: list[Pair] = []
        for old, new in self._edges[pair].common:
            if old.hash != new.hash:
                found.append((old.hash, new.hash))
                self._packages[found[-1]] = new.name
        return found

    def _causes_at(self, pair: Pair) -> list[Cause]:
        before, after = self._base.nodes.get(pair[0]), self._head.nodes.get(pair[1])
        if before is not None and after is not None:
            return own_causes(before, after, self._edges[pair])
        versions = (it.version if it else None for it in (before, after))
        return [Cause(Kind.EXTERNAL, self._packages[pair], *versions)]

    @cached_property
    def _reached(self) -> dict[Pair, set[Pair]]:
        return {pair: self._reach(pair) for pair in self.below}

    def _reach(self, start: Pair) -> set[Pair]:
        """Return the pairs below a pair; itself only where a cycle leads back to it."""
        found: set[Pair] = set()
        waiting = list(self.below[start])
        while waiting:
            pair = waiting.pop()
            if pair not in found:
                found.add(pair)
                waiting += self.below[pair]
        return found

    def _ends_without_cause(self, pair: Pair) -> bool:
        """Tell whether nothing is found at a pair, nor below it, and all that is leads back."""
        reached = self._reached[pair]
        return not any(self._own[it] for it in {pair, *reached}) and all(
            pair in self._reached[it] for it in reached
        )

    # -- of one spec

    def own(self, pair: Pair) -> list[Cause]:
        """Return the causes that are found at a pair itself, the first of them the main one."""
        return self._own[pair]

    @cached_property
    def involved(self) -> dict[str, set[Cause]]:
        """The causes of each spec of head that has a counterpart."""
        return {
            digest: {cause for it in {pair, *self._reached[pair]} for cause in self._own[it]}
            for digest, pair in self.starts.items()
        }

    @cached_property
    def num_involved(self) -> Counter[Cause]:
        """How many specs each cause is involved in."""
        return Counter(cause for causes in self.involved.values() for cause in causes)

    @cached_property
    def main(self) -> dict[str, Cause]:
        """The main cause of each spec of head that has a counterpart."""
        return {digest: self._main(digest, pair) for digest, pair in self.starts.items()}

    def _main(self, digest: str, pair: Pair) -> Cause:
        """Return the first cause of the spec's own, where facts of its own differ."""
        own = [it for it in self._own[pair] if it.kind not in (Kind.UNKNOWN, Kind.FORMAT)]
        return own[0] if own else self._most_involved(digest)

    def _most_involved(self, digest: str) -> Cause:
        def key(cause: Cause) -> tuple[object, ...]:
            return cause.kind is Kind.FORMAT, -self.num_involved[cause], cause.order

        return min(self.involved[digest], key=key)

    # -- of one cause

    def specs(self, cause: Cause) -> set[str]:
        """Return the specs that a cause is the main one of."""
        return {digest for digest, main in self.main.items() if main == cause}

    def involved_in(self, cause: Cause) -> set[str]:
        """Return the specs that a cause is involved in."""
        return {digest for digest, causes in self.involved.items() if cause in causes}

    def together(self, cause: Cause) -> set[Cause]:
        """Return the other causes that are involved in exactly the same specs."""
        specs = self.involved_in(cause)
        others = self.num_involved.keys() - {cause}
        return {it for it in others if self.involved_in(it) == specs}

    def ordered(self) -> list[Cause]:
        """Return all causes, those that explain most specs first."""
        num_specs = Counter(self.main.values())
        return sorted(
            self.num_involved,
            key=lambda it: (-num_specs[it], -self.num_involved[it], it.order),
        )

    def packages(self, cause: Cause) -> set[str]:
        """Return the packages of the specs that a cause is the main one of."""
        return {self._head.specs[digest].name for digest in self.specs(cause)}

    def counted(self, digests: Collection[str]) -> dict[Cause, tuple[int, int]]:
        """Return of how many of some specs a cause is the main one, or involved; zero left out."""
        num_specs = Counter(self.main[it] for it in digests if it in self.main)
        lists = [self.involved[it] for it in digests if it in self.involved]
        num_involved = Counter(cause for causes in lists for cause in causes)
        return {it: (num_specs[it], number) for it, number in num_involved.items()}

    def facts(self, cause: Cause) -> list[str]:
        """Return which facts of its own differ at the pair of least hashes that a cause is at."""
        pair = min(pair for pair, causes in self._own.items() if cause in causes)
        before, after = self._base.nodes.get(pair[0]), self._head.nodes.get(pair[1])
        return own_differences(before, after) if before and after else []

    # -- paths

    def distance(self, digest: str) -> int:
        """Return how many steps lead from a spec to the nearest pair that is its main cause."""
        cause = self.main[digest]
        steps, level = 0, {self.starts[digest]}
        while not any(cause in self._own[pair] for pair in level):
            level = {below for pair in level for below in self.below[pair]}
            steps += 1
        return steps

    def is_shortest_path(self, digest: str, path: Iterable[Pair]) -> bool:
        """Tell whether a chain of pairs leads from a spec to its main cause, the shortest way."""
        chain = list(path)
        return (
            chain[:1] == [self.starts[digest]]
            and all(it in self.below[last] for last, it in pairwise(chain))
            and self.main[digest] in self._own[chain[-1]]
            and len(chain) == self.distance(digest) + 1
        )
