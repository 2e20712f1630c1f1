"""Contents of a catalog and values derived from them, cached in memory within bounds.

Each value is computed once: of several threads that request it at the same time, one computes it
and the others wait. If a cache is full, the least recently used value is evicted first.
"""

import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache, partial
from itertools import islice
from operator import attrgetter
from typing import Any, Generic, TypeVar

import msgspec
import numpy as np
import pyarrow as pa
from cachetools import LRUCache, cached

from snapshots.arrays import Mask
from snapshots.catalog import history_queries
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.specs_table import ContentReader
from snapshots.changes.diff import Comparison
from snapshots.changes.explanation import Explanation, explain
from snapshots.changes.holes import Holes
from snapshots.changes.lookup import RequestedSpecs
from snapshots.changes.plans import Plan, StackLock
from snapshots.changes.sides import Side
from snapshots.changes.stored_changes import StoredCause
from snapshots.changes.twins import Twins
from snapshots.contents import Content
from snapshots.frames import queries
from snapshots.frames.dependencies import DependencyGraph
from snapshots.frames.frame import Frame
from snapshots.frames.hashes import HashSet
from snapshots.frames.queries import UnknownName, unknown_names
from snapshots.frames.suggestions import (
    Suggestion,
    SuggestionKind,
    Suggestions,
    merged_names,
    names_of,
)
from snapshots.history import History, Neighbours
from snapshots.models import CauseKind, RevisionInfo, SideInfo, StackInfo, is_revision
from snapshots.notes.causes import StoredCauses, stored_cause
from snapshots.recipes.commits import Commit, Links, links_of
from snapshots.recipes.effects import Attribution, RecipesChange
from snapshots.tables import SPEC_ROWS
from snapshots.timelines.absences import Loader

FRAME_BYTES = 384 << 20
COMPARISON_BYTES = 128 << 20
RETURNED_BYTES = 16 << 20
HOLES_BYTES = 8 << 20
TWINS_BYTES = 96 << 20
NAMES_BYTES = 64 << 20
HASH_SET_BYTES = 96 << 20

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class SharedCache(Generic[Key, Value]):
    """Values by key, computed by ``make`` when first requested, shared by all threads.

    ``size_of`` returns the size of a value in bytes. All cached values together take at most
    ``max_bytes``; a value that is larger than that is the only one, and 0 caches none. Failures are
    not cached.

    - get: Returns the value of a key, computed now if it is not cached; raises the errors of
      ``make``.
    """

    def __init__(
        self,
        make: Callable[[Key], Value],
        max_bytes: int,
        size_of: Callable[[Value], int] = attrgetter("num_bytes"),
    ) -> None:
        # Otherwise, a large value would be computed anew for each of its users.
        self._cached: LRUCache[Key, Value] = LRUCache(
            max_bytes, lambda value: max(1, min(size_of(value), max_bytes))
        )
        self._lock = threading.Condition()
        self.get: Callable[[Key], Value] = cached(
            self._cached, key=lambda key: key, condition=self._lock
        )(make)

    @property
    def num_bytes(self) -> int:
        """Memory used by the cached values, in bytes."""
        return int(self._cached.currsize)

    def peek(self, key: Key) -> Value | None:
        """Return the value if it is cached, else None."""
        with self._lock:
            value: Value | None = self._cached.get(key)
            return value

    def clear(self) -> None:
        """Drop all cached values."""
        with self._lock:
            self._cached.clear()


class Library:
    """The frames, dependency graphs and comparisons of a catalog's contents, by digest.

    ``history_queries`` answers queries about several revisions, whose results are not cached here.

    ``frame_bytes`` limits the frames, and separately the graphs, because a graph is about as large
    as its frame. ``comparison_bytes`` limits the comparisons, and separately their explanations.
    ``public_url`` is that of a server of the catalog, with a slash at its end, or empty.
    ``observe`` returns the context in which a piece of work is done: "load" reads a content,
    "compare" compares or explains two.
    All methods are thread-safe, and raise CatalogError if a content cannot be read.
    """

    def __init__(
        self,
        catalog: Catalog,
        *,
        frame_bytes: int = FRAME_BYTES,
        comparison_bytes: int = COMPARISON_BYTES,
        recipes_url: str = "",
        public_url: str = "",
        observe: Callable[[str], AbstractContextManager[Any]] = nullcontext,
    ) -> None:
        self.history_queries = history_queries.HistoryQueries(
            catalog,
            Loader(
                lambda digest: self.frames.get(digest),
                lambda digest: self.dependencies.get(digest),
            ),
        )
        self.recipes = catalog.recipes
        """The commits of the recipe repository that revisions were built from."""
        self._catalog = catalog
        self._recipes_url = recipes_url
        self._public_url = public_url
        self._observe = observe
        self._held: dict[str, pa.Table] = {}
        self._package_names = lru_cache(1)(lambda _generation: catalog.package_names())
        self.frames = SharedCache(self._load, frame_bytes)
        self.dependencies = SharedCache(self._load_dependencies, frame_bytes)
        self.comparisons = SharedCache(self._make_comparison, comparison_bytes)
        self.explanations = SharedCache(self._make_explanation, comparison_bytes)
        self.holes = SharedCache[str, Holes](
            lambda digest: Holes(self.frames.get(digest), self.dependencies.get(digest)),
            HOLES_BYTES,
        )
        self.twins = SharedCache(self._find_twins, TWINS_BYTES)
        self.names = SharedCache(self._make_names, NAMES_BYTES)
        self.hash_sets = SharedCache[str, HashSet](
            lambda digest: HashSet(catalog.hashes(digest)), HASH_SET_BYTES
        )
        self.returned = SharedCache[tuple[int, RevisionInfo, RevisionInfo], Mask](
            self._find_returned, RETURNED_BYTES, attrgetter("nbytes")
        )

    def matching(self, side: SideInfo, query: str) -> Mask:
        """Return a mask that selects the rows of a side's frame that match a query.

        Raises the errors of ``snapshots.frames.queries`` for an invalid query, and those of
        ``require_known`` for an unknown name of a spec.
        """
        frame, graph = self.frames.get(side.content), partial(self.graph_of, side)
        return queries.known_matches(queries.read(query), frame, graph, self.package_names)

    def unknown_names(self, side: SideInfo, query: str) -> tuple[UnknownName, ...]:
        """Return the names in a query that are neither in the side nor in any tag's newest."""
        frame, graph = self.frames.get(side.content), partial(self.graph_of, side)
        return unknown_names(queries.read(query), frame, graph, self.package_names)

    def hold(self, content: Content) -> None:
        """Hold a content that is not in the catalog, so that its digest can be used like others."""
        self._held[content.digest] = content.table()

    def plan(self, base: str, locks: Sequence[StackLock]) -> Plan:
        """Return which specs of lock files a content has, and which must be built."""
        return Plan(base, self._reader().columns(base, SPEC_ROWS.names), locks)

    def graph_of(self, side: SideInfo) -> DependencyGraph:
        """Return the dependencies of a side's specs."""
        return self.dependencies.get(side.content)

    def compare(self, base: SideInfo, head: SideInfo) -> Comparison:
        """Return the differences between two sides."""
        return self.comparisons.get((base.content, head.content))

    def explain(self, base: SideInfo, head: SideInfo) -> Explanation:
        """Return the explanation of the differences between two sides."""
        return self.explanations.get((base.content, head.content))

    def recipes_change(self, base: SideInfo, head: SideInfo) -> RecipesChange:
        """Return how the recipes differ, and which of their commits explain which causes."""
        before, after = self.recipes.of(base), self.recipes.of(head)
        between = self.recipes.between(base, head)
        return RecipesChange(
            base=before,
            head=after,
            attribution=None if between is None else Attribution(self.explain(base, head), between),
            why_unknown=self.recipes.why_unknown(base, head),
            links=Links() if after is None else self.links(after.repository),
        )

    def comparison_url(self, base: SideInfo, head: SideInfo) -> str | None:
        """Return the URL of the comparison of two sides; None if it is unknown, or has no page."""
        if not (self._public_url and is_revision(base) and is_revision(head)):
            return None
        return f"{self._public_url}compare/{base.ref}...{head.ref}"

    def links(self, repository: str) -> Links:
        """Return the URLs at which commits of a repository can be viewed."""
        return links_of(self._recipes_url, repository)

    def stored_causes(
        self, causes: Mapping[Neighbours, Sequence[StoredCause]]
    ) -> dict[Neighbours, StoredCauses]:
        """Return the causes of some revisions' changes, with the commits that explain them.

        A commit is named if it changed the recipe of the cause's package, and that is in the cache:
        a version that no spec in the cache has is a machine's.
        """
        between = {
            step: commits
            for step in causes
            if step.base is not None and (commits := self.recipes.between(step.base, step.head))
        }
        pairs = {
            step.pair
            for step in between
            if any(cause.kind is CauseKind.VERSION for cause in causes[step])
        }
        counts = self.history_queries.package_counts(pairs) if pairs else {}
        versions = {
            pair: {(package.name, new) for package in packages for new in package.versions_added}
            for pair, packages in counts.items()
        }

        def commits_of(step: Neighbours, cause: StoredCause) -> Sequence[Commit]:
            is_own = cause.kind is CauseKind.RECIPE or (
                cause.kind is CauseKind.VERSION
                and (cause.package, cause.after) in versions.get(step.pair, ())
            )
            of_step = between.get(step) if is_own and cause.package else None
            return () if of_step is None else of_step.touching(cause.package or "")

        explained = {}
        for step, of_step in causes.items():
            recipes = self.recipes.of(step.head)
            links = Links() if recipes is None else self.links(recipes.repository)
            entries = [stored_cause(cause, commits_of(step, cause), links) for cause in of_step]
            moments = [
                moment
                for side in step
                if any(entry.commits for entry in entries)
                and side is not None
                and (moment := self.recipes.recorded_at(side)) is not None
            ]
            explained[step] = StoredCauses(entries, max(moments, default=None))
        return explained

    def find_returned(self, base: SideInfo, head: SideInfo) -> Mask:
        """Return a mask that selects the rows of head that an earlier revision of its series had.

        Only rows count that base does not have and that replaced no other spec, so the mask is a
        valid argument of ``reasons``. If base or head is not an entire revision, no row is
        selected, because only revisions have earlier ones; nor if changes of the series are not
        stored. The result is cached in ``returned``.
        """
        if not (is_revision(base) and is_revision(head)):
            return np.zeros(len(self.frames.get(head.content)), np.bool_)
        return self.returned.get((self._catalog.state, base, head))

    def package_names(self) -> frozenset[str]:
        """Return the names of all packages in the catalog, read once per generation."""
        return self._package_names(self._catalog.generation)

    def _load(self, digest: str) -> Frame:
        with self._observe("load"):
            return self._reader().frame(digest)

    def _reader(self) -> ContentReader:
        return self._catalog.reader(self._held)

    def _load_dependencies(self, digest: str) -> DependencyGraph:
        table = self._reader().dependencies(digest)
        return DependencyGraph(table, self.frames.get(digest).hashes)

    def _make_comparison(self, digests: tuple[str, str]) -> Comparison:
        base, head = digests
        frames = self.frames.get(base), self.frames.get(head)
        with self._observe("compare"):
            return Comparison(*frames)

    def _make_explanation(self, digests: tuple[str, str]) -> Explanation:
        base, head = map(self.dependencies.get, digests)
        comparison = self.comparisons.get(digests)
        with self._observe("compare"):
            return explain(comparison, base, head)

    def _find_twins(self, key: tuple[str, str | None, str | None]) -> Twins:
        digest, stack, package = key
        frame = self.frames.get(digest)
        mask = np.ones(len(frame), np.bool_)
        if stack is not None:
            mask &= frame.in_stack(stack)
        if package is not None:
            mask &= frame.package.among([package])[frame.package.codes]
        return Twins(Side(frame, self.dependencies.get(digest)), mask)

    def _make_names(self, digests: tuple[str, ...]) -> Suggestions:
        """Return the names in the contents with some digests; see ``merged_names``."""
        if len(digests) != 1:
            return merged_names(self.names.get((digest,)) for digest in digests)
        (digest,) = digests
        return Suggestions(names_of(self.frames.get(digest), digest))

    def _find_returned(self, key: tuple[int, RevisionInfo, RevisionInfo]) -> Mask:
        """Return the mask of ``find_returned``, for a state of the catalog and two revisions."""
        _, base, head = key
        history, explanation = self._catalog.history, self.explain(base, head)
        queries, hash_set = self.history_queries, self.hash_sets.get
        return queries.find_returned(history, explanation, base, head, hash_set)


@lru_cache(maxsize=1)
def names_of_history(history: History) -> Suggestions:
    """Return the names of all series, and of tags whose name is not that of their series."""
    series, tags = history.series_names, {*history.tags} - {*history.series_names}
    names = [
        *(Suggestion(SuggestionKind.SERIES, name, len(history.of_series(name))) for name in series),
        *(Suggestion(SuggestionKind.TAG, tag, len(history.of_tag(tag))) for tag in tags),
    ]
    return Suggestions(names)


# -- a stack of a revision


def stack_info(revision: RevisionInfo, stack: str, frame: Frame) -> StackInfo:
    """Return a stack of a revision as a side of a comparison; ``frame`` contains its specs."""
    facts = msgspec.structs.asdict(revision) | {
        "num_packages": len(frame.packages),
        "num_specs": len(frame),
        "num_stacks": 0,
        "total_size": frame.size.total(),
    }
    return StackInfo(**facts, stack=stack)


# -- revisions that contain the most specs of a list


class RevisionCoverage(msgspec.Struct, frozen=True):
    """A revision, with the numbers of requested specs and of roots that it contains."""

    revision: RevisionInfo
    num_found: int
    num_roots_found: int


def candidates(
    history: History, series: str | None = None, most: int | None = None
) -> Sequence[RevisionInfo]:
    """Return the revisions to search, newest first: the newest of each tag, or all of a series.

    ``most`` restricts them to the revisions with that many of the newest contents. The result is
    empty if no tag is in the series.
    """
    if series is None:
        newest = {history.of_tag(tag)[0] for tag in history.tags}
        revisions = [revision for revision in history.revisions if revision in newest]
    else:
        revisions = [*history.select(series=series)]
    digests = {*islice(dict.fromkeys(revision.digest for revision in revisions), most)}
    return [revision for revision in revisions if revision.digest in digests]


def best_covering(
    library: Library, revisions: Sequence[RevisionInfo], requested: RequestedSpecs
) -> list[RevisionCoverage]:
    """Return how many of the requested specs each revision contains, best first.

    The best revision has the most specs, then the most roots, then the newest state. ``revisions``
    are sorted, newest first. A content that was not searched before takes about 10 ms; no frame is
    loaded. Raises CatalogError if a content cannot be read.
    """
    counts: dict[str, tuple[int, int]] = {}
    for digest in dict.fromkeys(revision.digest for revision in revisions):
        held = library.hash_sets.get(digest).having(requested.hashes)
        roots = held[: requested.num_roots]
        counts[digest] = int(np.count_nonzero(held)), int(np.count_nonzero(roots))
    covered = [RevisionCoverage(revision, *counts[revision.digest]) for revision in revisions]
    return sorted(covered, key=lambda revision: (-revision.num_found, -revision.num_roots_found))
