"""Events that are kept for those who come later: within their bound, whoever asks for them."""

import asyncio
from typing import Any, cast

from server.asgi.room import Outgoing
from server.graphql.event_streams import EVENT_BYTES, SharedEvents
from server.graphql.execution import Executed
from server.graphql.requests import GraphQLRequest, ParsedRequest
from tests.snapshots.factories import a_revision

_LONGEST = 64_000


class _Execution:
    """Answers everything at once."""

    def begin(self, _request: GraphQLRequest, _weight: Any) -> Executed:
        return Executed(body=b"{}", tag=b"", started=True, is_good=True, is_permanent=True)


class _Catalog:
    state = 1


def _asked(number: int) -> ParsedRequest:
    text = f"subscription {{ a{number}: revisionPublished {{ id }} }}"
    request = GraphQLRequest(f"{text:{_LONGEST}}", None, None)
    return ParsedRequest(request, "text/event-stream", 0)


def test_what_clients_ask_counts_with_what_is_kept_for_it() -> None:
    """Ever other long documents about one revision do not fill memory."""
    catalog, execution = cast("Any", _Catalog()), cast("Any", _Execution())
    revision = a_revision("develop", 0)

    async def run() -> None:
        events = SharedEvents(catalog, execution, cast("Outgoing", None))
        asked = [_asked(number) for number in range(400)]
        for it in asked:
            await events.of(it, revision)
        kept = [it for it in asked if events.kept(it, revision) is not None]
        assert 100 < len(kept) <= EVENT_BYTES // _LONGEST
        assert kept == asked[-len(kept) :]

    asyncio.run(run())
