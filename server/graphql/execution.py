"""Where a request is executed: in the event loop, or in one of a few threads."""

from typing import NamedTuple

import orjson
from anyio import CapacityLimiter, to_thread

from schema import api
from schema.context import Context, NotLoaded
from server.graphql.requests import GraphQLRequest
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.library import Library

_MANY_OBJECTS = 5_000
"""Requests for more objects than this are executed in a thread."""

_THREADS = 4
"""How many requests are executed in threads at the same time; more of them wait."""


class Executed(NamedTuple):
    """What a request is answered with.

    Without ``started`` it was refused before anything was executed, ``is_good`` tells that there
    are no errors, and ``is_permanent`` that the answer stays true for ever.
    """

    body: bytes
    started: bool
    is_good: bool
    is_permanent: bool


class Execution:
    """Executes requests over a catalog so that none of them holds up the others.

    What is in memory and small runs in the event loop, because a thread would cost more than the
    work. Whatever has to be loaded first, and all that is large, runs in a thread.
    """

    def __init__(self, catalog: Catalog, library: Library) -> None:
        self._catalog = catalog
        self._library = library
        self._threads = CapacityLimiter(_THREADS)

    async def execute(self, request: GraphQLRequest) -> Executed:
        """Execute a request where it fits."""
        if api.objects_asked(*request.cost_arguments()) <= _MANY_OBJECTS:
            try:
                return self._execute(request, may_load=False)
            except NotLoaded:
                pass
        return await to_thread.run_sync(
            lambda: self._execute(request, may_load=True), limiter=self._threads
        )

    def _execute(self, request: GraphQLRequest, *, may_load: bool) -> Executed:
        """Execute a request here; raises NotLoaded where that would take loading first."""
        context = Context(self._catalog, self._library, may_load=may_load)
        answer = api.execute(
            request.query, request.variables, request.operation_name, context=context
        )
        return Executed(
            body=orjson.dumps(answer.body()),
            started=answer.executed,
            is_good=answer.executed and not answer.errors,
            is_permanent=context.is_permanent,
        )
