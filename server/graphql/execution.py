"""Where a request is executed: in the event loop, or in a lane of threads."""

from collections.abc import Coroutine
from contextlib import ExitStack
from typing import Any, NamedTuple

import orjson

from schema import api
from schema.budget import Budget
from schema.context import Context, NotLoaded
from schema.limits import Limits
from server.graphql.lanes import Lane, Lanes
from server.graphql.requests import GraphQLRequest
from server.responses import tag_of
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.library import Library
from snapshots.errors import CachelogError

_LOADS = 6
"""How many things a request may have loaded, one after the other, before a lane takes it over."""


class Executed(NamedTuple):
    """What a request is answered with.

    Without ``started`` it was refused before anything was executed, ``is_good`` tells that there
    are no errors, and ``is_permanent`` that the answer stays true for ever. ``tag`` follows from
    the bytes of the ``body``.
    """

    body: bytes
    tag: bytes
    started: bool
    is_good: bool
    is_permanent: bool


class Execution:
    """Executes requests over a catalog so that none of them holds up the others.

    What is in memory and small runs in the event loop, because a thread would cost more than the
    work. Whatever has to be loaded is loaded in a lane of its own, and all that is large runs in
    another, so that neither waits for the other. The clock of a request's budget starts when its
    work begins.
    """

    def __init__(
        self, catalog: Catalog, library: Library, lanes: Lanes, limits: Limits | None = None
    ) -> None:
        self._catalog = catalog
        self._library = library
        self._lanes = lanes
        self._limits = limits or Limits()

    def begin(self, request: GraphQLRequest) -> Executed | Coroutine[Any, Any, Executed]:
        """Execute a small request now; return what has to be awaited for any other.

        To be called in the event loop, with a document that is known already or short.
        """
        if not api.is_light(*request.cost_arguments()):
            return self._in_lane(self._lanes.heavy, request)
        try:
            return self._execute(request, self._context(may_load=False))
        except NotLoaded as missing:
            return self._after_loading(request, missing)

    async def execute(self, request: GraphQLRequest) -> Executed:
        """Execute a request where it fits."""
        begun = self.begin(request)
        return begun if isinstance(begun, Executed) else await begun

    async def _after_loading(self, request: GraphQLRequest, missing: NotLoaded) -> Executed:
        """Load what is missing, and execute a request of which nothing else is large."""
        for _ in range(_LOADS):
            if missing.cache is None:
                break
            try:
                await self._lanes.loading.run(missing.load)
                return self._execute(request, self._context(may_load=False))
            except CachelogError:
                break  # executing it again makes the error of a field from it
            except NotLoaded as another:
                missing = another
        return await self._in_lane(self._lanes.light, request)

    async def _in_lane(self, lane: Lane, request: GraphQLRequest) -> Executed:
        context = self._context(may_load=True)
        queue = ExitStack()
        queue.enter_context(context.budget.waiting())

        def work() -> Executed:
            queue.close()
            return self._execute(request, context)

        return await lane.run(work, context.budget.cancel)

    def _context(self, *, may_load: bool) -> Context:
        budget = Budget(self._limits)
        return Context(self._catalog, self._library, may_load=may_load, budget=budget)

    def _execute(self, request: GraphQLRequest, context: Context) -> Executed:
        """Execute a request here; raises NotLoaded where that would take loading first."""
        answer = api.execute(
            request.query, request.variables, request.operation_name, context=context
        )
        body = orjson.dumps(answer.body())
        return Executed(
            body=body,
            tag=tag_of(body),
            started=answer.executed,
            is_good=answer.executed and not answer.errors,
            is_permanent=context.is_permanent,
        )
