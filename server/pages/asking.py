"""Asking what a page shows: the very executor of the API, in process."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson

from server.asgi.allowances import Allowances
from server.asgi.lanes import Lanes
from server.graphql.execution import Executed, Execution, Weight
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

    def error_of(self, subject: str) -> Mapping[str, Any] | None:
        """Return why an answer lacks its subject, named with dots; None where no error says it.

        Other parts may have failed too. Where all of the answer is gone, the first error says why.
        """
        root = subject.partition(".")[0]
        of_root = (it for it in self.errors if not self.data or root in it.get("path", ())[:1])
        return next(of_root, None)


class Question(NamedTuple):
    """What is going to be asked, and how much work it is."""

    request: GraphQLRequest
    weight: Weight

    @property
    def variables(self) -> Mapping[str, Any]:
        """Return the variables of its document."""
        return self.request.variables or {}


class Asker:
    """Asks the catalog what pages show, within the limits that the API's requests have."""

    def __init__(self, execution: Execution, lanes: Lanes, allowances: Allowances) -> None:
        self._execution = execution
        self._lanes = lanes
        self._allowances = allowances

    async def ask(self, document: Document, variables: Mapping[str, Any], scope: Any) -> Answered:
        """Return what a document is answered with; raises as ``weighed`` does."""
        return await self.answered(await self.weighed(document.text, variables, scope))

    async def weighed(self, text: str, variables: Mapping[str, Any], scope: Any) -> Question:
        """Return a question that is charged to the client whose request has this ``scope``.

        Raises BadRequest where there is no room, or the client may not ask for so much.
        """
        request = GraphQLRequest(text, dict(variables), None)
        weight, units = await self._weigh(request)
        if self._allowances.is_limited:
            self._allowances.charge(scope, units)
        return Question(request, weight)

    async def is_affordable(self, text: str, variables: Mapping[str, Any]) -> bool:
        """Tell whether a document costs no more than one request may."""
        _, units = await self._weigh(GraphQLRequest(text, dict(variables), None))
        return units <= self._execution.api.limits.max_cost

    async def _weigh(self, request: GraphQLRequest) -> tuple[Weight, int]:
        if self._execution.api.is_weighed(*request.cost_arguments()):
            return self._execution.weigh(request)
        # Parsing takes long, for the first who asks.
        return await self._lanes.reading.run(lambda: self._execution.weigh(request))

    async def answered(self, question: Question) -> Answered:
        """Return what a question is answered with; raises BadRequest where there is no room."""
        begun = self._execution.begin(question.request, question.weight)
        executed = begun if isinstance(begun, Executed) else await begun
        answer = orjson.loads(executed.body)
        return Answered(
            answer.get("data") or {},
            answer.get("errors") or [],
            executed.is_good,
            executed.is_permanent,
        )
