"""Large responses on their way: how many bytes, and who is refused."""

import asyncio
from unittest.mock import AsyncMock, Mock, create_autospec

import pytest
from starlette.types import Message, Scope

from server.asgi.allowances import Allowances
from server.asgi.errors import BadRequest
from server.asgi.exchanges import RequestIds, SecurityHeaders
from server.asgi.lanes import Lanes
from server.asgi.responses import Response
from server.asgi.room import Incoming, Outgoing
from server.graphql.answers import Answer, Answers
from server.graphql.endpoint import DirectAnswers, GraphQLEndpoint, proxy_reader
from server.graphql.event_streams import EventStreams

SCOPE: Scope = {"client": ("10.0.0.1", 1), "headers": []}


def response(num_bytes: int) -> Response:
    """Return a response of that many bytes."""
    return Response(200, b"x" * num_bytes, b"text/plain", b"no-store")


def test_large_responses_are_counted_while_they_are_sent() -> None:
    """Twice, as each may be compressed too; small ones are not counted."""
    outgoing = Outgoing(10 << 20)
    places = [outgoing.begin(response(it), SCOPE) for it in (1 << 20, 2 << 20, 1_000)]
    assert [it.num_bytes for it in places] == [2 << 20, 4 << 20, 0]
    assert outgoing.num_bytes == 6 << 20
    for place in places:
        place.leave()
    assert outgoing.num_bytes == 0


def test_without_room_a_large_response_is_refused() -> None:
    """Small ones are sent all the same, and large ones again when there is room."""
    outgoing = Outgoing(5 << 20)
    first = outgoing.begin(response(2 << 20), SCOPE)
    with pytest.raises(BadRequest) as caught:
        outgoing.begin(response(1 << 20), SCOPE)
    assert caught.value.status == 503
    assert dict(caught.value.headers)[b"retry-after"]
    assert outgoing.begin(response(1_000), SCOPE).num_bytes == 0
    assert outgoing.num_bytes == first.num_bytes
    first.leave()
    assert outgoing.begin(response(1 << 20), SCOPE).num_bytes == 2 << 20


def test_one_that_is_larger_than_the_bound_is_sent_alone() -> None:
    """What settings allow as an answer can always be sent."""
    assert Outgoing(1).begin(response(1 << 20), SCOPE).num_bytes == 2 << 20


def test_a_request_is_counted_once_where_there_is_no_room() -> None:
    """Its answer is kept, and was to be sent at once before it goes by way of ASGI."""
    allowances = Allowances(requests=2, cost=0)
    outgoing = Outgoing(1 << 20)
    outgoing.begin(response(1 << 20), {**SCOPE, "client": ("10.0.0.2", 1)})
    kept = Answer(response(1 << 20), None)
    kept.response.encoded("identity")
    answers = create_autospec(Answers, instance=True)
    answers.responses = Mock(num_hits=0)
    answers.known.return_value = kept
    direct = DirectAnswers(
        answers,
        "/graphql",
        allowances=allowances,
        outgoing=outgoing,
        ids=RequestIds(None),
        headers=SecurityHeaders(needs_cdn=False),
        observers=(),
        behind_proxies=proxy_reader(()),
        has_cors=False,
    )
    endpoint = GraphQLEndpoint(
        answers,
        create_autospec(Lanes, instance=True),
        page=None,
        incoming=Incoming(1_000, 1_000),
        outgoing=outgoing,
        allowances=allowances,
        streams=create_autospec(EventStreams, instance=True),
    )
    scope = {**SCOPE, "path": "/graphql", "method": "GET", "query_string": b"query={a}"}
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    assert direct(scope, b"") is None
    asyncio.run(endpoint(scope, AsyncMock(), send))
    assert sent[0]["status"] == 503
    allowances.count_request(scope)
    with pytest.raises(BadRequest, match="requests"):
        allowances.count_request(scope)
