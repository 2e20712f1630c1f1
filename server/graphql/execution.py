"""Execution of requests: in the event loop, or in a lane of threads."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import msgspec
import orjson
from graphql import GraphQLFormattedError

from schema.api import API, is_small
from schema.context import Context
from schema.documents.estimates import Estimate
from schema.execution.budget import Budget, Failed, NotLoaded
from schema.fields.cost import Sizes
from server.asgi.lanes import Lane, Lanes
from server.asgi.responses import tag_of
from server.asgi.single_flight import SingleFlight
from server.graphql.requests import GraphQLRequest, Weight
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.history_cache import HistoryCache, HistoryCall
from snapshots.catalog.history_queries import HistoryQueries
from snapshots.catalog.library import Library
from snapshots.errors import CachelogError

_QUICK_UNITS = 1_000
"""The limit of QUICK requests; requests that cost more wait for their turn in the event loop."""

_LIGHT_UNITS = 50_000
"""The limit of LIGHT requests; requests that cost more are executed in the lane for heavy ones."""

_FEW_HASHES = 20
"""History queries with more hashes read the changes of nearly as many packages, which may take
seconds."""

_MAX_LOADS = 6
"""Maximum number of loads in sequence; a request that needs more loads the rest in its thread."""


class Executed(msgspec.Struct, frozen=True):
    """The result of a request.

    Without ``started``, the request was refused before its execution. ``is_good`` means that there
    are no errors, and ``is_permanent`` that the result can never change. ``tag`` is a hash of
    ``body``, and ``code`` that of the first error.
    """

    body: bytes
    tag: bytes
    started: bool
    is_good: bool
    is_permanent: bool
    code: str | None = None


class Execution:
    """Executes requests over a catalog so that none of them blocks the others.

    Small work on data in memory runs in the event loop, because a thread would cost more than the
    work. All other work runs in the lane for light or for heavy requests. Data is loaded in
    separate lanes, so that these lanes are not blocked by loading, and once for all requests that
    wait for the same data. The time of a request's budget starts when its work begins.
    """

    def __init__(self, api: API, catalog: Catalog, library: Library, lanes: Lanes) -> None:
        self.api = api
        self._catalog = catalog
        self._library = library
        self._lanes = lanes
        self._loads: SingleFlight[Any] = SingleFlight()
        self._explained = library.explanations, library.returned
        self._turn = asyncio.Lock()
        self.history_answers = HistoryCache(catalog, library)

    def weigh(self, request: GraphQLRequest, cost: Estimate | None = None) -> tuple[Weight, int]:
        """Return the weight of a request, and its cost in units.

        Without ``cost``, the time depends on the length of the document and variables, so long ones
        should be weighed in a thread.
        """
        if cost is None:
            cost = self.cost(request)
        units = cost.units - cost.shared_units
        if self.api.is_light(request.variables, cost):
            return Weight.QUICK if units <= _QUICK_UNITS else Weight.SMALL, cost.units
        return Weight.LIGHT if units <= _LIGHT_UNITS else Weight.HEAVY, cost.units

    def cost(self, request: GraphQLRequest) -> Estimate:
        """Return the cost of a request in the catalog as it is."""
        return self.api.cost(*request.cost_arguments(), Sizes.of(self._catalog.history))

    def is_weighed(self, request: GraphQLRequest) -> bool:
        """Return whether the cost takes less than 1 ms: the document is cached, variables short."""
        return self.api.documents.is_known(request.query) and is_small(request.variables or {})

    async def execute(
        self, request: GraphQLRequest, weight: Weight, *, patience: float = 5
    ) -> Executed:
        """Execute a request: in the event loop if it is small, otherwise in a lane.

        It waits for an explanation for ``patience`` times the patience of its lane.
        """
        loaded: dict[Any, Any] = {}
        if weight is not Weight.HEAVY:
            missing: Executed | NotLoaded | None = None
            if weight is Weight.QUICK:
                missing = self._try_here(request)
            elif weight is Weight.SMALL:
                missing = await self._in_turn(request)
            if isinstance(missing, Executed):
                return missing
            executed = await self._with_loads(self._lanes.light, request, missing, loaded, patience)
            if executed is not None:
                return executed
        executed = await self._with_loads(self._lanes.heavy, request, None, loaded, patience)
        if executed is not None:
            return executed
        outcome = await self._in_lane(
            self._lanes.heavy, request, self._context(loaded, may_load=True)
        )
        if isinstance(outcome, NotLoaded):
            raise outcome
        return outcome

    async def _in_turn(self, request: GraphQLRequest) -> Executed | NotLoaded:
        """Execute a small request alone in an iteration of the event loop.

        Between two iterations, the loop reads and writes for all connections.
        """
        async with self._turn:
            try:
                return self._try_here(request)
            finally:
                await asyncio.sleep(0)

    def _try_here(self, request: GraphQLRequest) -> Executed | NotLoaded:
        """Execute a small request in the event loop; return the result or the missing data."""
        return self._execute(request, self._context({}, may_take_long=False))

    async def _with_loads(
        self,
        lane: Lane,
        request: GraphQLRequest,
        missing: NotLoaded | None,
        loaded: dict[Any, Any],
        patience: float,
    ) -> Executed | None:
        """Load missing data, and execute a request; return None if it needs too many loads.

        Loaded data is added to ``loaded``.
        """
        for _ in range(_MAX_LOADS):
            if missing is not None and missing.cache is not None:
                place = missing.cache, missing.key
                try:
                    lane_to_make = self._loading_lane(missing)
                    seconds = patience * lane_to_make.patience
                    loaded[place] = await self._loads.value_in(
                        lane_to_make,
                        place,
                        missing.load,
                        seconds=seconds if missing.cache in self._explained else None,
                    )
                except CachelogError as error:
                    loaded[place] = Failed(error)  # the execution turns it into an error of a field
            outcome = await self._in_lane(lane, request, self._context(loaded))
            if isinstance(outcome, Executed):
                return outcome
            missing = outcome
            if missing.cache is None:
                return None
        return None

    def _loading_lane(self, missing: NotLoaded) -> Lane:
        """Return the lane that loads missing data; slow computations have a separate lane."""
        slow = *self._explained, self._library.holes, self._library.twins
        takes_long = missing.cache in slow
        if isinstance(missing.key, HistoryCall):
            takes_long = _is_large(missing.key)
        return self._lanes.explaining if takes_long else self._lanes.loading

    async def _in_lane(
        self, lane: Lane, request: GraphQLRequest, context: Context
    ) -> Executed | NotLoaded:
        queue = ExitStack()
        queue.enter_context(context.budget.waiting())

        def work() -> Executed | NotLoaded:
            queue.close()
            return self._execute(request, context)

        return await lane.run(work, context.budget.cancel)

    def _context(
        self, loaded: Mapping[Any, Any], *, may_load: bool = False, may_take_long: bool = True
    ) -> Context:
        """Return a context with the data in memory and ``loaded``."""
        return Context(
            self._catalog,
            self._library,
            may_load=may_load,
            may_take_long=may_take_long,
            budget=Budget(self.api.limits, is_brief=not may_take_long),
            loaded=loaded,
            answers=self.history_answers,
        )

    def _execute(self, request: GraphQLRequest, context: Context) -> Executed | NotLoaded:
        """Execute a request in this thread; return the result or the missing data."""
        try:
            answer = self.api.execute(
                request.query,
                request.variables,
                request.operation_name,
                context=context,
                include_cost=request.include_cost,
                cost=request.cost,
            )
        except NotLoaded as missing:
            return missing
        body = orjson.dumps(answer.body())
        return Executed(
            body=body,
            tag=tag_of(body),
            started=answer.executed,
            is_good=answer.executed and not answer.errors,
            is_permanent=context.is_permanent,
            code=_code_of(answer.errors),
        )


def _code_of(errors: Sequence[GraphQLFormattedError]) -> str | None:
    """Return the code of the first error, if any."""
    for error in errors:
        code: str | None = error.get("extensions", {}).get("code")
        return code
    return None


def _is_large(call: HistoryCall) -> bool:
    """Return whether a history query reads most of the stored changes."""
    if call.method != HistoryQueries.hash_histories.__name__:
        return False
    (hashes,) = call.arguments
    return isinstance(hashes, frozenset) and len(hashes) > _FEW_HASHES
