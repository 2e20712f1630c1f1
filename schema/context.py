"""The context that the resolvers of a request share: the catalog at the request's start, and loaded
values.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from operator import attrgetter
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import msgspec
import numpy as np
import strawberry
from cachetools import LRUCache, cachedmethod

from schema.execution.budget import (
    QUERY_TOO_LARGE,
    Budget,
    BudgetExceeded,
    Cache,
    Failed,
    NotLoaded,
)
from schema.fields.cost import Work
from snapshots.arrays import Mask
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.history_cache import HistoryCache, HistoryCall
from snapshots.catalog.history_queries import HistoryQueries
from snapshots.catalog.library import Library, RevisionCoverage, best_covering, candidates
from snapshots.changes.diff import Comparison
from snapshots.changes.explanation import Explanation
from snapshots.changes.holes import Holes
from snapshots.changes.lookup import RequestedSpecs
from snapshots.changes.plans import Plan, StackLock
from snapshots.changes.twins import Twins
from snapshots.errors import (
    CachelogError,
    InvalidArgument,
    RevisionNotFound,
    StackNotFound,
)
from snapshots.frames import queries
from snapshots.frames.dependencies import DependencyGraph
from snapshots.frames.frame import Frame
from snapshots.frames.queries import UnknownName
from snapshots.frames.suggestions import Suggestions
from snapshots.history import History
from snapshots.models import (
    LOCK_FILE,
    FileInfo,
    RevisionInfo,
    SideInfo,
    Source,
    StackInfo,
    is_revision,
)
from snapshots.recipes.effects import RecipesChange
from snapshots.refs import is_exact, parse_side
from snapshots.texts import quoted, short_digest
from snapshots.timelines.catalog_packages import CatalogPackage

Value = TypeVar("Value")
Arguments = ParamSpec("Arguments")

MAX_CONTENTS = 200
"""Maximum number of contents in which a request may search for specs: twice the number of tags of
real caches.
"""

_PLAN = "plan"
"""The tag of planned lock files."""

_HELD = 2
"""Number of frames, graphs and comparisons that a request retains: those of two revisions.

Also the number of comparisons with a scope, and of causes by commits, that it computes for itself.
"""

_LOADS_EACH = 2
"""Maximum number of values to load for each allowed revision: its frame, and one more."""

_HISTORIES_EACH = 2
"""Maximum number of history queries for each allowed revision."""


class LoadedRevision(msgspec.Struct, frozen=True):
    """A revision with its frame, and access to other data about its specs."""

    info: RevisionInfo
    frame: Frame
    context: "Context"

    def dependencies(self) -> DependencyGraph:
        """Return the dependencies of the revision's specs."""
        return self.context.graph_of(self.info)

    def matching(self, query: str) -> Mask:
        """Return a mask over the frame's rows; see ``Context.matching``."""
        return self.context.matching(self.info, query)

    def unknown_names(self, query: str) -> tuple[UnknownName, ...]:
        """Return the names in a query that neither this revision nor the newest revision of any tag
        has.
        """
        self.context.require_time()
        constraint = queries.read(query)
        return queries.unknown_names(
            constraint, self.frame, self.dependencies, self.context.names_elsewhere
        )


class PlannedInfo(RevisionInfo, frozen=True, kw_only=True):
    """A side of a plan in the form of a revision: base restricted to some stacks, or the lock
    files.

    Its values are retained by the context that created it, under the key ``held``.
    """

    held: str

    @property
    def content(self) -> str:
        """The key of the compared specs in the context."""
        return self.held


class FileSide(RevisionInfo, frozen=True, kw_only=True):
    """A file as a side, in the form of a revision: its ref and its tag are its path.

    Its specs have to be held by the library. It has no neighbours, and its times are when it was
    read.
    """

    @classmethod
    def of(cls, file: FileInfo) -> Self:
        """Return a file in this form."""
        facts = {name: getattr(file, name) for name in RevisionInfo.__struct_fields__}
        now = datetime.now(UTC)
        return cls(**facts | {"tag": file.name, "taken_at": now, "published_at": now})

    @property
    def ref(self) -> str:
        """The path of the file."""
        return self.tag


@dataclass
class Context:
    """The view of the catalog for one request.

    Without ``may_load``, access to a value that is not in memory raises NotLoaded; without
    ``may_take_long``, so does work that takes more than a few milliseconds. The event loop tries to
    execute a request with these restrictions, and passes it to a thread if that fails.
    ``is_permanent`` is valid after the execution: whether the request named only single revisions,
    so that the response never changes. ``budget`` is the budget of the request, which
    another thread may cancel. ``further_errors`` counts the errors beyond those in the response.
    ``loaded`` has the values, or failures, that were loaded for the request in advance, by cache
    and key, because a value may be too large for the cache. ``answers`` are the results of history
    queries, which requests share. ``masks`` are those of queries, by digest and query. ``sides``
    are those that no revision is and that this process can name, by their names: files, and stacks
    in place of revisions.
    """

    catalog: Catalog
    library: Library
    may_load: bool = True
    may_take_long: bool = True
    is_permanent: bool = True
    budget: Budget = field(default_factory=Budget)
    loaded: Mapping[tuple[Cache[Any, Any], Hashable], Any] = field(default_factory=dict)
    answers: HistoryCache | None = None
    sides: Mapping[str, RevisionInfo] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.history: History = self.catalog.history
        self.further_errors = 0
        self.masks: dict[tuple[str, str], Mask] = {}
        self._latest: dict[tuple[Cache[Any, Any], Hashable], Any] = {**self.loaded}
        self._held_here: dict[tuple[Cache[Any, Any], Hashable], Any] = {}
        self.comparisons: LRUCache[Hashable, Any] = LRUCache(_HELD)
        self._recipes_changes: LRUCache[Hashable, RecipesChange] = LRUCache(_HELD)
        self._refs: dict[str, str] = {}
        self._contents: set[str] = set()
        self._num_loads = 0
        self._answers = self.answers or HistoryCache(self.catalog, self.library)
        self._answers_by_name: dict[HistoryCall, dict[str, Any]] = {}
        self._calls: set[HistoryCall] = set()
        self._used: set[tuple[Cache[Any, Any], Hashable]] = set()

    def actual_units(self) -> int:
        """Return the units of the values and the shared work of the request so far."""
        library = self.library
        works = {
            library.frames: Work.LOADING,
            library.comparisons: Work.COMPARING,
            library.explanations: Work.EXPLAINING,
            library.twins: Work.EXPLAINING,
        }
        used = (works.get(cache) for cache, _ in self._used)
        shared = sum(work.own_units for work in used if work is not None)
        return self.budget.num_values + shared

    def require_time(self) -> None:
        """Raise NotLoaded if the request may not take more than a few milliseconds."""
        if not self.may_take_long:
            raise NotLoaded

    def resolve(self, ref: str | None) -> RevisionInfo:
        """Return the revision that a ref names, or the newest; raises the errors of
        History.resolve.
        """
        if ref is None:
            latest = self.changing_history().latest
            if latest is None:
                raise RevisionNotFound("", "the catalog is empty")
            return latest
        if ref in self.sides:
            return self.sides[ref]
        if parse_side(ref).is_path:
            reason = f"{quoted(ref)} is a file, which only the command line can read"
            raise InvalidArgument("ref", reason)
        if not is_exact(ref):
            self.is_permanent = False
        return self.history.resolve(ref)

    def resolve_side(self, text: str) -> RevisionInfo:
        """Return the revision that a ref names, or its stack; raises the errors of ``resolve``.

        Whether the revision has the stack is only checked when it is loaded. Paths are not accepted
        here, unless they are among the ``sides``.
        """
        if text in self.sides:
            return self.sides[text]
        words = parse_side(text)
        revision = self.resolve(words.text)
        self._refs.setdefault(short_digest(revision.digest), words.text)
        return revision if words.stack is None else StackInfo.uncounted(revision, words.stack)

    def changing_history(self) -> History:
        """Return the history for a resolver whose result changes as the catalog grows."""
        self.is_permanent = False
        return self.history

    def load(self, info: RevisionInfo) -> LoadedRevision:
        """Return a revision with its frame."""
        self._contents.add(info.content)
        self._require_few(len(self._contents))
        return LoadedRevision(info, self._loaded(self.library.frames, info.content), self)

    def graph_of(self, side: SideInfo) -> DependencyGraph:
        """Return the dependencies of a side's specs."""
        return self._loaded(self.library.dependencies, side.content)

    def matching(self, side: SideInfo, query: str) -> Mask:
        """Return a mask over the rows of a side that selects the specs that match a query in
        Spack's spec syntax.

        Each query is evaluated once per request. Raises the errors of ``snapshots.frames.queries``.
        """
        key = side.content, query
        mask = self.masks.get(key)
        if mask is None:
            constraint, graph = queries.read(query), partial(self.graph_of, side)
            if constraint.is_about_dependencies:
                self.require_time()  # each ^ walks through the whole graph, up to 30 ms
            frame = self._loaded(self.library.frames, side.content)
            mask = queries.known_matches(constraint, frame, graph, self.names_elsewhere)
            self.masks[key] = mask
        return mask

    def holes(self, info: RevisionInfo) -> Holes:
        """Return the specs that are missing to install a revision's specs from its cache alone."""
        return self._loaded(self.library.holes, info.content)

    def twins(
        self, info: RevisionInfo, stack: str | None = None, package: str | None = None
    ) -> Twins:
        """Return the specs of a revision, or of its stack or package, that are built more than
        once.
        """
        return self._loaded(self.library.twins, (info.content, stack, package))

    def names(self, revisions: Iterable[RevisionInfo]) -> Suggestions:
        """Return the names in some revisions, for suggestions; see ``merged_names``."""
        digests = dict.fromkeys(info.digest for info in revisions)
        return self._loaded(self.library.names, tuple(digests))

    def compare(self, base: SideInfo, head: SideInfo) -> Comparison:
        """Return the comparison of two sides' contents, which takes some 10 ms even if both are
        loaded.
        """
        return self._loaded(self.library.comparisons, (base.content, head.content))

    def explain(self, base: SideInfo, head: SideInfo) -> Explanation:
        """Return the explanation of the changes between two sides' contents."""
        return self._loaded(self.library.explanations, (base.content, head.content))

    @cachedmethod(attrgetter("_recipes_changes"))
    def recipes_change(self, base: SideInfo, head: SideInfo) -> RecipesChange:
        """Return the attribution of causes to commits; computed once for the fields of one object.

        The result is not permanent: unknown commits may become known, and others may be corrected.
        """
        self.is_permanent = False
        self.require_time()  # reading all commits takes some 100 ms, attributing them 10 ms
        self.explain(base, head)
        return self.library.recipes_change(base, head)

    def comparison_url(self, base: SideInfo, head: SideInfo) -> str | None:
        """Return the URL of the comparison of two revisions on a server; None if unknown."""
        return self.library.comparison_url(base, head)

    def plan(
        self, base: RevisionInfo, locks: Sequence[StackLock]
    ) -> tuple[Plan, PlannedInfo, PlannedInfo]:
        """Return a plan against a revision, and its two sides, which this context then retains."""
        if not self.may_load:
            raise NotLoaded  # reading the entire revision takes some 100 ms
        with self.budget.waiting():
            plan = self.library.plan(base.content, locks)
            before, after = _planned_infos(plan, base)
            library, contents = self.library, (before.content, after.content)
            for side, content in zip((plan.base, plan.head), contents, strict=True):
                self._held_here[library.frames, content] = side.frame
                self._held_here[library.dependencies, content] = side.graph
            self._held_here[library.comparisons, contents] = plan.comparison
            self._held_here[library.explanations, contents] = plan.explanation
        return plan, before, after

    def find_returned(self, base: SideInfo, head: SideInfo) -> Mask:
        """Return a mask of the rows of head that an earlier revision of the series had, but base
        does not have.

        For stacks, no rows are selected: only entire revisions have earlier ones.
        """
        if not (is_revision(base) and is_revision(head)):
            return np.zeros(len(self._loaded(self.library.frames, head.content)), np.bool_)
        if len(self.explain(base, head).without_counterpart()):
            self.is_permanent = False  # an earlier revision may still be imported
        key = self.catalog.state, base, head
        return self._loaded(self.library.returned, key)

    def best_covering(self, specs: RequestedSpecs, series: str | None) -> list[RevisionCoverage]:
        """Return the revisions that contain the most of some specs, among those with the newest
        contents.
        """
        revisions = candidates(self.changing_history(), series, MAX_CONTENTS)
        hash_sets = self.library.hash_sets
        is_read = all(hash_sets.peek(info.digest) is not None for info in revisions)
        if not (self.may_take_long if is_read else self.may_load):
            raise NotLoaded  # reading a hundred contents takes a second, searching them 20 ms
        with self.budget.waiting():
            return best_covering(self.library, revisions, specs)

    def of_history(
        self,
        method: Callable[Concatenate[HistoryQueries, History, Arguments], Value],
        *arguments: Arguments.args,
        **none: Arguments.kwargs,
    ) -> Value:
        """Return the result of a method of HistoryQueries with positional arguments.

        Raises its errors.
        """
        call = HistoryCall.of(method, self.changing_history(), *arguments, **none)
        value: Value = self._result(call)
        return value

    def _result(self, call: HistoryCall) -> Any:
        self._calls.add(call)
        most = _HISTORIES_EACH * self.budget.limits.max_revisions
        if len(self._calls) > most:
            raise _too_many(f"the history of more than {most} hashes, packages and series")
        return self._loaded(self._answers, call).value

    def of_package(self, name: str) -> CatalogPackage | None:
        """Return a package in all series; None if no revision had it.

        It is looked up separately, unless all packages are in memory, or the request also queries
        others.
        """
        history = self.changing_history()
        alone = HistoryCall.of(HistoryQueries.catalog_package, history, name)
        others = {call for call in self._calls if call.method == alone.method} - {alone}
        if others or self._answers.peek(HistoryCall.of(HistoryQueries.all_packages, history)):
            return self.of_history(HistoryQueries.all_packages).get(name)
        return self.of_history(HistoryQueries.catalog_package, name)

    def of_each(
        self,
        method: Callable[[HistoryQueries, History, str, frozenset[str]], Mapping[str, Value]],
        subject: str,
        names: Iterable[str],
    ) -> Mapping[str, Value | None]:
        """Return the history of each name that the history contains.

        All names of a call are read at once and cached, so that a list can first be resolved as a
        whole, and then item by item if that fails.
        """
        key = HistoryCall.of(method, self.history, subject, frozenset())
        answers = self._answers_by_name.setdefault(key, {})
        if new := frozenset(names).difference(answers):
            new_answers = self.of_history(method, subject, new)
            answers.update({name: new_answers.get(name) for name in new})
        return answers

    def _loaded(self, cache: Cache[Any, Value], key: Hashable) -> Value:
        """Return a value of a cache; errors about stacks name the revision as in the request."""
        try:
            return self._value(cache, key)
        except StackNotFound as error:
            ref = self._refs.get(error.revision, error.revision)
            raise StackNotFound(ref, error.stack, error.stacks) from None

    def _value(self, cache: Cache[Any, Value], key: Hashable) -> Value:
        """Return a value of a cache; the time to compute it does not count towards the request's
        limit.

        The latest values of each cache are retained, so that no value is computed twice for the
        fields of one object, even if the cache is too small, or full of other requests' values.
        """
        place = cache, key
        if place in self._held_here:
            own: Value = self._held_here[place]
            return own
        if place in self._latest:
            held: Value | Failed = self._latest[place]
            if isinstance(held, Failed):
                raise held.error
            return held
        self._used.add(place)
        value = cache.peek(key)
        if value is None:
            if not self.may_load:
                raise NotLoaded(cache, key)
            if not isinstance(key, HistoryCall):  # of_history counts those
                self._num_loads += 1
            self._require_few(self._num_loads / _LOADS_EACH)
            with self.budget.waiting():
                value = cache.get(key)
        of_cache = [held_place for held_place in self._latest if held_place[0] is cache]
        if len(of_cache) >= _HELD:
            del self._latest[of_cache[0]]
        self._latest[place] = value
        return value

    def _require_few(self, num_revisions: float) -> None:
        """Raise BudgetExceeded if a request reads the contents of too many revisions."""
        most = self.budget.limits.max_revisions
        if num_revisions > most:
            raise _too_many(f"the contents of more than {most} revisions")

    def release(self) -> None:
        """Release loaded values at the end of the request, because the executor still refers to the
        context.
        """
        for held in (self._latest, self._held_here, self.masks, self._answers_by_name):
            held.clear()
        self.comparisons.clear()
        self._recipes_changes.clear()

    def names_elsewhere(self) -> frozenset[str]:
        """Return the names of packages in the newest revision of each tag, and in the history."""
        self.is_permanent = False
        if not self.may_load:
            raise NotLoaded  # this may read the entire catalog
        names = self.library.package_names()
        with suppress(CachelogError):  # the history may be incomplete
            names |= self.of_history(HistoryQueries.all_packages).keys()
        return names


def _too_many(what: str) -> BudgetExceeded:
    message = f"The request asks for {what}, the limit. Request fewer at a time."
    return BudgetExceeded(QUERY_TOO_LARGE, message)


def _planned_infos(plan: Plan, base: RevisionInfo) -> tuple[PlannedInfo, PlannedInfo]:
    """Return the two sides of a plan; the lock files are represented by a revision that does not
    exist.
    """
    own = {name: getattr(base, name) for name in RevisionInfo.__struct_fields__}
    summary = msgspec.structs.asdict(plan.content.summary())
    source = Source(kind=LOCK_FILE.name, location=_PLAN, importer=base.source.importer)
    lock = own | summary | {"tag": _PLAN, "source": source, "num_proven": None, "unproven": None}
    name = f"{_PLAN} {base.content} {plan.content.digest}"
    return PlannedInfo(**own, held=f"{name} base"), PlannedInfo(**lock, held=f"{name} head")


Info = strawberry.Info[Context, None]
