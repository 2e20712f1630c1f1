"""Events that are kept for those who come later: within their bound, whoever asks for them."""

from typing import Any, cast

import pytest

from server.graphql.event_streams import EVENT_BYTES, SharedEvents
from server.graphql.execution import Executed
from server.graphql.requests import GraphQLRequest, ParsedRequest
from tests.snapshots.factories import a_revision

_LONGEST = 64_000


class _Execution:
    """Answers everything at once."""

    async def execute(self, _request: GraphQLRequest, _weight: Any) -> Executed:
        return Executed(body=b"{}", tag=b"", started=True, is_good=True, is_permanent=True)


class _Catalog:
    state = 1


def _request(number: int) -> ParsedRequest:
    text = f"subscription {{ a{number}: revisionPublished {{ id }} }}"
    request = GraphQLRequest(f"{text:{_LONGEST}}", None, None)
    return ParsedRequest.of(request, "text/event-stream", 0)


@pytest.mark.anyio
async def test_kept_events_are_bounded_with_their_documents() -> None:
    """Many different long documents about one revision do not fill memory."""
    catalog, execution = cast("Any", _Catalog()), cast("Any", _Execution())
    revision = a_revision("develop", 0)
    events = SharedEvents(catalog, execution)
    requests = [_request(number) for number in range(400)]
    for request in requests:
        await events.of(request, revision)
    kept = [question for question, *_ in events._made]
    assert 100 < len(kept) <= EVENT_BYTES // _LONGEST
    assert kept == [request.permanent_key for request in requests[-len(kept) :]]
    again = [await events.of(requests[-1], revision) for _ in range(2)]
    assert again[0] is again[1]
