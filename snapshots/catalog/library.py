"""What is read and worked out of a catalog, kept in memory within bounds.

Each thing is made once: of the threads that ask for it at the same time, one makes it and the
others wait. Where memory is short, what was not used for the longest time is dropped first.
"""

import threading
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from functools import cache, partial
from itertools import islice
from operator import attrgetter
from typing import Any, Generic, TypeVar

import msgspec
import numpy as np
from cachetools import Cache, LRUCache

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.past import (
    EarlierContents,
    Past,
    Returned,
    earlier_contents,
    find_returned,
)
from snapshots.catalog.publication import Planned
from snapshots.catalog.recent_rows import RecentRows
from snapshots.catalog.recipes_tables import RecipesTables
from snapshots.catalog.specs_table import ContentReader
from snapshots.changes.costs import FrameCosts
from snapshots.changes.diff import Comparison
from snapshots.changes.explanation import Explanation, explain
from snapshots.changes.holes import Holes
from snapshots.changes.lookup import Wanted
from snapshots.changes.plans import Plan, StackLock
from snapshots.changes.rules.measures import Judged, MostRebuilt, Searched
from snapshots.changes.rules.rules import Rule, Verdict, judge
from snapshots.changes.sides import Side
from snapshots.changes.twins import Twins
from snapshots.contents import Content, SuccessiveTables
from snapshots.frames import queries
from snapshots.frames.columns import Mask
from snapshots.frames.dependencies import DependencyGraph
from snapshots.frames.frame import Frame
from snapshots.frames.hashes import HashSet
from snapshots.frames.pools import Pools, pool_of
from snapshots.frames.queries import UnknownName, require_known, unknown_names
from snapshots.frames.suggestions import Suggestion, SuggestionKind, Suggestions, names_of
from snapshots.history import History
from snapshots.models import RevisionInfo, SideInfo, StackInfo, is_revision
from snapshots.recipes.commits import Links, links_of
from snapshots.recipes.effects import Attribution, RecipesChange
from snapshots.tables import SPEC_ROWS

FRAME_BYTES = 1 << 30
COMPARISON_BYTES = 256 << 20
RETURNED_BYTES = 16 << 20
HOLES_BYTES = 8 << 20
TWINS_BYTES = 96 << 20
NAMES_BYTES = 16 << 20
HASH_SET_BYTES = 96 << 20
COSTS_BYTES = 32 << 20

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class SharedCache(Generic[Key, Value]):
    """Values by key, made by ``make`` when first asked for, shared by all threads.

    ``size_of`` tells how many bytes a value takes, and ``shared_by`` which pools it shares with
    others, which count once. All that are kept take ``max_bytes`` or less. A value that alone takes
    more is returned, but not kept. A failure is not kept either.
    """

    def __init__(
        self,
        make: Callable[[Key], Value],
        max_bytes: int,
        size_of: Callable[[Value], int] = attrgetter("num_bytes"),
        shared_by: Callable[[Value], Iterable[Any]] = lambda _: (),
    ) -> None:
        self._make = make
        self._shared_by = shared_by
        self._kept: LRUCache[Key, Value] = LRUCache(max_bytes, size_of)
        self._making: dict[Key, Future[Value]] = {}
        self._lock = threading.Lock()

    @property
    def num_kept(self) -> int:
        """How many values are kept."""
        return len(self._kept)

    @property
    def num_bytes(self) -> int:
        """How many bytes they take."""
        with self._lock:
            return self._counted()

    def _counted(self) -> int:
        # As a cache of no kind has them: to look at them is not to use them.
        values = (Cache.__getitem__(self._kept, key) for key in self._kept)
        pools = {pool for value in values for pool in self._shared_by(value)}
        of_pools: int = sum(pool.num_bytes for pool in pools if pool is not None)
        return int(self._kept.currsize) + of_pools

    def kept(self, key: Key) -> Value | None:
        """Return the value if it is in memory; None where it would have to be made."""
        with self._lock:
            value: Value | None = self._kept.get(key)
            return value

    def get(self, key: Key) -> Value:
        """Return the value, made now if it is not in memory; raises what ``make`` raises."""
        with self._lock:
            if key in self._kept:
                return self._kept[key]
            future = self._making.get(key)
            if future is None:
                mine = self._making[key] = Future()
        if future is not None:
            return future.result()
        try:
            value = self._make(key)
            with self._lock:
                self._keep(key, value)
                del self._making[key]
        except BaseException as error:
            mine.set_exception(error)
            with self._lock:
                self._making.pop(key, None)
            raise
        mine.set_result(value)
        return value

    def keep(self, key: Key, value: Value) -> None:
        """Keep a value that was made elsewhere."""
        with self._lock:
            self._keep(key, value)

    def _keep(self, key: Key, value: Value) -> None:
        if self._kept.getsizeof(value) <= self._kept.maxsize:
            self._kept[key] = value
            # What is shared grows with each that shares it.
            while self._counted() > self._kept.maxsize:
                self._kept.popitem()


class Library:
    """The frames, dependency graphs and comparisons of a catalog's contents, by digest.

    ``past`` answers questions to the catalog's past, which are not kept.

    ``frame_bytes`` bounds the frames and, once more, the graphs: one is about as large as its
    frame. ``comparison_bytes`` bounds the comparisons and, once more, their explanations. All
    methods may be called from several threads, and raise CatalogError where a content cannot be
    read.
    """

    def __init__(
        self,
        catalog: Catalog,
        *,
        frame_bytes: int = FRAME_BYTES,
        comparison_bytes: int = COMPARISON_BYTES,
        recipes_url: str = "",
    ) -> None:
        self.past = Past(catalog)
        self._catalog = catalog
        self._recipes_url = recipes_url
        self._held = RecentRows()
        self._pools = Pools()
        self._names: tuple[int, frozenset[str]] = -1, frozenset()
        self._history_names: tuple[History | None, Suggestions] = None, Suggestions([])
        self.frames: SharedCache[str, Frame] = SharedCache(
            self._load, frame_bytes, shared_by=lambda value: (pool_of(value),)
        )
        self.dependencies: SharedCache[str, DependencyGraph] = SharedCache(
            self._load_dependencies, frame_bytes
        )
        self.comparisons: SharedCache[tuple[str, str], Comparison] = SharedCache(
            self._make_comparison,
            comparison_bytes,
            shared_by=lambda value: (pool_of(value.base), pool_of(value.head)),
        )
        self.explanations: SharedCache[tuple[str, str], Explanation] = SharedCache(
            self._make_explanation,
            comparison_bytes,
            shared_by=lambda value: (pool_of(value.base.frame), pool_of(value.head.frame)),
        )
        self.holes: SharedCache[str, Holes] = SharedCache(
            lambda digest: Holes(self.dependencies.get(digest)), HOLES_BYTES
        )
        self.twins: SharedCache[tuple[str, str | None, str | None], Twins] = SharedCache(
            self._find_twins, TWINS_BYTES
        )
        self.costs: SharedCache[tuple[int, str], FrameCosts | None] = SharedCache(
            lambda key: self.costs_of_frame(self.frames.get(key[1])),
            COSTS_BYTES,
            lambda value: 0 if value is None else value.num_bytes,
        )
        self.names: SharedCache[str, Suggestions] = SharedCache(
            lambda digest: Suggestions(names_of(self.frames.get(digest))), NAMES_BYTES
        )
        self.hash_sets: SharedCache[str, HashSet] = SharedCache(
            catalog.load_hash_set, HASH_SET_BYTES
        )
        self.returned: SharedCache[EarlierContents, Returned] = SharedCache(
            self._find_returned, RETURNED_BYTES
        )

    def find(self, digest: str, query: str) -> Mask:
        """Return a mask over the rows of a content's frame: those that a query matches.

        Raises as ``snapshots.frames.queries`` does for a query that cannot be answered, and as
        ``require_known`` does for the name of a spec that nothing has.
        """
        constraint = queries.read(query)
        frame, graph = self.frames.get(digest), partial(self.dependencies.get, digest)
        matches = queries.select(frame, constraint, graph)
        if not matches.any():
            require_known(constraint, frame, graph, self.package_names)
        return matches

    def unknown_names(self, digest: str, query: str) -> tuple[UnknownName, ...]:
        """Return the names in a query that neither a content nor the newest of any tag knows."""
        frame, graph = self.frames.get(digest), partial(self.dependencies.get, digest)
        return unknown_names(queries.read(query), frame, graph, self.package_names)

    def hold(self, content: Content) -> None:
        """Keep a content that the catalog does not have, to be asked for by its digest."""
        self._held.contents[content.digest] = SuccessiveTables().rows(content)

    def plan(self, base: str, locks: Sequence[StackLock]) -> Plan:
        """Return what a content has of lock files, and what has to be built."""
        return Plan(base, self._reader().columns(base, SPEC_ROWS.names), locks)

    def costs_of_frame(self, frame: Frame) -> FrameCosts | None:
        """Return what building each spec of a frame takes; None without costs."""
        costs = self._catalog.costs.current
        return None if costs is None else costs.of(frame)

    def compare(self, base: str, head: str) -> Comparison:
        """Return what changed from one content to the other."""
        return self.comparisons.get((base, head))

    def explain(self, base: str, head: str) -> Explanation:
        """Return why what changed from one content to the other did so."""
        return self.explanations.get((base, head))

    @property
    def recipes(self) -> RecipesTables:
        """Which commits of the recipes revisions were made of."""
        return self._catalog.recipes

    def recipes_change(self, base: SideInfo, head: SideInfo) -> RecipesChange:
        """Return how the recipes differ, and which of their commits explain which causes."""
        explain = partial(self.explain, base.content, head.content)
        return recipes_change(self._catalog.recipes, base, head, explain, self._recipes_url)

    def costs_key(self, digest: str) -> tuple[int, str] | None:
        """Return the key that ``costs`` keeps those of a content by; None without costs."""
        costs = self._catalog.costs
        return (costs.version, digest) if costs.is_there else None

    def costs_of(self, digest: str) -> FrameCosts | None:
        """Return what building each spec of a content takes; None without costs."""
        key = self.costs_key(digest)
        return None if key is None else self.costs.get(key)

    def links(self, repository: str) -> Links:
        """Return where commits of a repository are looked at."""
        return links_of(self._recipes_url, repository)

    def find_returned(self, history: History, base: SideInfo, head: SideInfo) -> Mask:
        """Return a mask over the rows of head: those that an earlier revision of its series had.

        Only whole revisions have earlier ones: of other sides nothing has returned.
        Only rows count that base has not, and that took no spec's place: ``reasons`` takes the
        mask. Where changes of the series are missing this can take reading earlier contents, a
        second or two where they are hundreds; ``returned`` keeps the answer.
        """
        if not (is_revision(base) and is_revision(head)):
            return np.zeros(len(self.frames.get(head.content)), np.bool_)
        return self.returned.get(self.earlier_contents(history, base, head)).mask

    def earlier_contents(
        self, history: History, base: RevisionInfo, head: RevisionInfo
    ) -> EarlierContents:
        """Return the key that ``returned`` keeps an answer by; another one where more is known."""
        return earlier_contents(self._catalog, history, base, head)

    def package_names(self) -> frozenset[str]:
        """Return the names of all packages in the catalog, read once for each of its states."""
        generation = self._catalog.generation
        if self._names[0] != generation:
            self._names = generation, self._catalog.package_names()
        return self._names[1]

    def names_of_history(self, history: History) -> Suggestions:
        """Return the names of all series, and of tags that are not called as their series are."""
        if self._history_names[0] is not history:
            series, tags = history.series_names, {*history.tags} - {*history.series_names}
            names = [
                *(
                    Suggestion(SuggestionKind.SERIES, name, len(history.of_series(name)))
                    for name in series
                ),
                *(Suggestion(SuggestionKind.TAG, tag, len(history.of_tag(tag))) for tag in tags),
            ]
            self._history_names = history, Suggestions(names)
        return self._history_names[1]

    def _load(self, digest: str) -> Frame:
        return self._pools.share(self._reader().frame(digest))

    def _reader(self) -> ContentReader:
        return self._catalog.reader(recent=self._held)

    def _load_dependencies(self, digest: str) -> DependencyGraph:
        table = self._reader().dependencies(digest)
        return DependencyGraph(table, self.frames.get(digest).hashes)

    def _make_comparison(self, digests: tuple[str, str]) -> Comparison:
        base, head = digests
        return Comparison(self.frames.get(base), self.frames.get(head))

    def _make_explanation(self, digests: tuple[str, str]) -> Explanation:
        base, head = map(self.dependencies.get, digests)
        return explain(self.comparisons.get(digests), base, head)

    def _find_twins(self, key: tuple[str, str | None, str | None]) -> Twins:
        digest, stack, package = key
        frame = self.frames.get(digest)
        mask = np.ones(len(frame), np.bool_)
        if stack is not None:
            mask &= frame.in_stack(stack)
        if package is not None:
            mask &= frame.package.among([package])[frame.package.codes]
        return Twins(Side(frame, self.dependencies.get(digest)), mask)

    def _find_returned(self, earlier: EarlierContents) -> Returned:
        return find_returned(self._catalog, self.explain(earlier.base, earlier.head), earlier)


# -- a stack of a revision


def stack_info(revision: RevisionInfo, stack: str, frame: Frame) -> StackInfo:
    """Return a stack of a revision as a side; ``frame`` has its specs."""
    known_sizes = frame.size.numbers[frame.size.numbers >= 0]
    facts = msgspec.structs.asdict(revision) | {
        "num_packages": len(frame.packages),
        "num_specs": len(frame),
        "num_stacks": 0,
        "total_size": int(known_sizes.sum()) if len(known_sizes) else None,
    }
    return StackInfo(**facts, stack=stack)


# -- which revision holds most


class Covered(msgspec.Struct, frozen=True):
    """A revision, with how many of the wanted specs and of the roots it has."""

    revision: RevisionInfo
    num_found: int
    num_roots_found: int


def candidates(
    history: History, series: str | None = None, most: int | None = None
) -> Sequence[RevisionInfo]:
    """Return what is searched, newest first: the newest revision of each tag, or all of a series.

    With ``most`` it is those with so many of the newest contents. There are none where no tag is in
    the series.
    """
    if series is None:
        newest = {history.of_tag(tag)[0] for tag in history.tags}
        revisions = [revision for revision in history.revisions if revision in newest]
    else:
        revisions = [*history.select(series=series)]
    digests = {*islice(dict.fromkeys(revision.digest for revision in revisions), most)}
    return [revision for revision in revisions if revision.digest in digests]


def best_covering(
    library: Library, revisions: Sequence[RevisionInfo], wanted: Wanted
) -> list[Covered]:
    """Return how much of what is wanted each revision holds, best first.

    That is the one with most specs, of equal ones that with most roots, then the newer. Revisions
    come newest first. Takes some 10 ms for each content that nothing was asked of before, no frame
    is loaded. Raises CatalogError where a content cannot be read.
    """
    counts: dict[str, tuple[int, int]] = {}
    for digest in dict.fromkeys(revision.digest for revision in revisions):
        held = library.hash_sets.get(digest).having(wanted.hashes)
        roots = held[: wanted.num_roots]
        counts[digest] = int(np.count_nonzero(held)), int(np.count_nonzero(roots))
    covered = [Covered(revision, *counts[revision.digest]) for revision in revisions]
    return sorted(covered, key=lambda revision: (-revision.num_found, -revision.num_roots_found))


# -- the recipes of two revisions


def recipes_change(
    tables: RecipesTables,
    base: SideInfo,
    head: SideInfo,
    explain: Callable[[], Explanation],
    recipes_url: str,
) -> RecipesChange:
    """Return how the recipes of two revisions differ; what changed is explained if needed.

    ``recipes_url`` is as for ``links_of``.
    """
    before, after = tables.of(base), tables.of(head)
    between = tables.between(base, head)
    return RecipesChange(
        base=before,
        head=after,
        attribution=None if between is None else Attribution(explain(), between),
        why_unknown=tables.why_unknown(base, head),
        links=Links() if after is None else links_of(recipes_url, after.repository),
    )


# -- revisions ready to be judged by rules


def judged(library: Library, base: SideInfo | None, head: SideInfo) -> Judged:
    """Return what rules are judged over: two sides, or head alone.

    What rules ask for is loaded when they ask for it; raises CatalogError where it cannot be read.
    """
    after = _searched(library, head.content)
    if base is None:
        return Judged(None, after, library.package_names)
    contents = base.content, head.content
    return Judged(
        _searched(library, base.content),
        after,
        library.package_names,
        library.compare(*contents),
        partial(library.explain, *contents),
        lambda counts: library.recipes_change(base, head).most_rebuilt(counts),
    )


def judged_plan(library: Library, plan: Plan, most_rebuilt: MostRebuilt) -> Judged:
    """Return what rules are judged over: what a plan would change in its stacks."""
    before, after, names = _of_side(plan.base), _of_side(plan.head), library.package_names
    return Judged(before, after, names, plan.comparison, lambda: plan.explanation, most_rebuilt)


def _searched(library: Library, digest: str) -> Searched:
    return Searched(library.frames.get(digest), partial(library.dependencies.get, digest))


class Judgement(msgspec.Struct, frozen=True):
    """The verdict on a revision, beside the one before it in its series; None where it is first."""

    base: RevisionInfo | None
    head: RevisionInfo
    verdict: Verdict


def judge_planned(
    rules: Sequence[Rule], planned: Planned, names: Callable[[], Collection[str]]
) -> Iterator[Judgement]:
    """Judge each revision that is about to be published by what it changes in its series.

    The first of a series is judged alone, by the rules that need no base. ``names`` is asked for
    the packages that other revisions know. Raises as ``judge`` does.
    """
    kept: dict[str, Side] = {}

    def side(digest: str) -> Side:
        return kept.get(digest) or planned.load(digest)

    for base, head in planned.neighbours():
        sides = [side(one.digest) for one in (base, head) if one is not None]
        kept = {one.frame.digest: one for one in sides}
        own = rules if base is not None else [one for one in rules if not one.needs_base]
        yield Judgement(base, head, judge(own, _judged_sides(sides, names)))


def _judged_sides(sides: Sequence[Side], names: Callable[[], Collection[str]]) -> Judged:
    after = sides[-1]
    if len(sides) == 1:
        return Judged(None, _of_side(after), names)
    comparison = Comparison(sides[0].frame, after.frame)
    why = cache(partial(explain, comparison, sides[0].graph, after.graph))
    return Judged(_of_side(sides[0]), _of_side(after), names, comparison, why)


def _of_side(side: Side) -> Searched:
    return Searched(side.frame, lambda: side.graph)
