"""Asking what a page shows: the very executor of the API, in process."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson

from server.asgi.allowances import Allowances
from server.asgi.lanes import Lanes
from server.graphql.execution import Execution
from server.graphql.requests import GraphQLRequest
from server.pages.documents import Document


class Answered(NamedTuple):
    """What a document was answered with.

    ``is_good`` tells that there are no errors, ``is_permanent`` that the answer stays true.
    """

    data: Mapping[str, Any]
    errors: list[dict[str, Any]]
    is_good: bool
    is_permanent: bool


class Asker:
    """Asks the catalog what pages show, within the limits that the API's requests have."""

    def __init__(self, execution: Execution, lanes: Lanes, allowances: Allowances) -> None:
        self._execution = execution
        self._lanes = lanes
        self._allowances = allowances

    async def ask(self, document: Document, variables: Mapping[str, Any], scope: Any) -> Answered:
        """Return what a document is answered with; ``scope`` is that of the client's request.

        Raises BadRequest where there is no room, or the client may not ask for so much.
        """
        request = GraphQLRequest(document.text, dict(variables), None)
        if self._execution.api.is_weighed(*request.cost_arguments()):
            weight, units = self._execution.weigh(request)
        else:  # parsing takes long, for the first who asks
            weight, units = await self._lanes.reading.run(lambda: self._execution.weigh(request))
        if self._allowances.is_limited:
            self._allowances.charge(scope, units)
        begun = self._execution.begin(request, weight)
        executed = begun if isinstance(begun, tuple) else await begun
        answer = orjson.loads(executed.body)
        return Answered(
            answer.get("data") or {},
            answer.get("errors") or [],
            executed.is_good,
            executed.is_permanent,
        )
