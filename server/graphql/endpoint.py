"""The GraphQL endpoint as a plain ASGI application: it reads requests and sends responses."""

from collections.abc import Callable
from functools import partial

import orjson
from starlette.types import Receive, Scope, Send

from schema.errors import bounded
from server.asgi.allowances import Allowances
from server.asgi.errors import BadRequest
from server.asgi.exchanges import CODE, note_answer
from server.asgi.hang_ups import GONE, unless_gone
from server.asgi.lanes import Lanes
from server.asgi.negotiation import (
    JSON,
    accepted_media_type,
    prefers_events,
    prefers_html,
    takes_events,
)
from server.asgi.responses import EncodedBody, Response
from server.asgi.sending import REVALIDATE, coding_for, send_head, send_response
from server.graphql.answers import Answer, Answers, Charge
from server.graphql.event_streams import EventStreams
from server.graphql.incoming import LARGE_BODY, Body, Incoming
from server.graphql.outgoing import Outgoing
from server.graphql.parsed_requests import RequestBytes

_ALLOW = b"GET, HEAD, POST, OPTIONS"
_TELL_COST = b"x-cachelog-cost"
"""The header, other than 0, by which a client asks for extensions.cost."""

_HTML = b"text/html; charset=utf-8"


class GraphQLEndpoint:
    """Sends what ``answers`` has to say to GET, HEAD and POST, and browsers the ``page``, if any.

    ``incoming`` bounds the bytes of bodies, ``outgoing`` those of all large responses that are on
    their way, ``allowances`` what a client may ask for. The lanes are those that
    ``answers`` works in. Clients that take server-sent events are answered by ``streams``.
    """

    def __init__(
        self,
        answers: Answers,
        lanes: Lanes,
        *,
        page: Callable[[], bytes] | None,
        incoming: Incoming,
        outgoing: Outgoing,
        allowances: Allowances,
        streams: EventStreams,
    ) -> None:
        self._answers = answers
        self._allowances = allowances
        self._lanes = lanes
        self._page = page
        self._incoming = incoming
        self._outgoing = outgoing
        self._streams = streams

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        with self._incoming.body(scope) as body:
            await self._answer(scope, receive, send, body)

    async def _answer(self, scope: Scope, receive: Receive, send: Send, body: Body) -> None:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        try:
            method = scope["method"]
            charge = None
            if self._allowances.is_limited:
                self._allowances.count_request(scope)
                charge = partial(self._allowances.charge, scope)
            if method == "POST":
                content = await body.read(receive)
                if content is None:
                    await send_head(send, GONE, [])
                    return
            elif method in ("GET", "HEAD"):
                content = scope["query_string"]
                accept = headers.get(b"accept", b"").decode("latin-1")
                if self._page is not None and prefers_html(accept):
                    # The page itself reads from its address what to fill the editor with.
                    page = Response(200, self._page(), _HTML, REVALIDATE)
                    await send_response(page, scope, headers, send)
                    return
            elif method == "OPTIONS":
                await send_head(send, 204, [(b"allow", _ALLOW)])
                return
            else:
                raise BadRequest(
                    f"{method} is not allowed: use GET or POST",
                    status=405,
                    code="METHOD_NOT_ALLOWED",
                    headers=((b"allow", _ALLOW),),
                )
            asked = _request_bytes(method, content, headers)
            if b"event-stream" in asked.accept.lower() and await self._is_streamed(
                asked, scope, receive, send, charge
            ):
                return
            begun = self._answers.begin(asked, charge)
            answer = begun if isinstance(begun, Answer) else await unless_gone(receive, begun)
            if answer is None:
                await send_head(send, GONE, [])  # for the log: nobody receives it
                return
            note_answer(scope, answer)
            with self._outgoing.begin(answer.response, scope):
                if await send_response(
                    answer.response, scope, headers, send, compressing=self._lanes.compressing
                ):
                    self._answers.count_anew(answer)
        except BadRequest as error:
            scope[CODE] = error.code
            refusal = _refusal(error, headers)
            await send_response(refusal, scope, headers, send, list(error.headers))

    def known(
        self, scope: Scope, headers: dict[bytes, bytes], body: bytes, max_bytes: int
    ) -> tuple[Answer, EncodedBody] | None:
        """Return the answer to a whole request where it is kept, in the coding for its client.

        None where it has to be made, has more bytes, or is not to be given to this client.
        """
        method = scope["method"]
        if method == "POST":
            content = body
        elif method == "GET":
            content = scope["query_string"]  # that of a page is no known request
        else:
            return None
        answer = self._answers.known(_request_bytes(method, content, headers))
        if answer is None:
            return None
        encoded = answer.response.known(coding_for(answer.response, headers))
        if encoded is None or len(encoded.content) > max_bytes or not self._is_allowed(scope):
            return None
        self._answers.responses.num_hits += 1
        return answer, encoded

    def _is_allowed(self, scope: Scope) -> bool:
        """Count a request where its client may ask for more; one that may not is not counted."""
        if self._allowances.is_limited:
            try:
                self._allowances.count_request(scope)
            except BadRequest:
                return False
        return True

    async def _is_streamed(
        self,
        asked: RequestBytes,
        scope: Scope,
        receive: Receive,
        send: Send,
        charge: Charge | None,
    ) -> bool:
        """Answer a request by events, where its client takes them and they are what it wants."""
        accept = asked.accept.decode("latin-1")
        if not takes_events(accept):
            return False
        events_only = prefers_events(accept)
        if len(asked.content) > LARGE_BODY:
            if not events_only:
                return False
            # A subscription would hold it for as long as it lasts.
            raise BadRequest(
                f"the body of a request for events has more than {LARGE_BODY} bytes",
                status=413,
                code="PAYLOAD_TOO_LARGE",
            )
        if events_only:
            asked = asked._replace(accept=JSON.encode())  # for what is in the events
        return await self._streams.answer(
            asked, scope, receive, send, charge=charge, events_only=events_only
        )


def _request_bytes(method: str, content: bytes, headers: dict[bytes, bytes]) -> RequestBytes:
    return RequestBytes(
        method == "POST",
        content,
        headers.get(b"content-type", b""),
        headers.get(b"accept", b""),
        headers.get(_TELL_COST, b"0") not in (b"", b"0"),
    )


def _refusal(error: BadRequest, headers: dict[bytes, bytes]) -> Response:
    media_type = accepted_media_type(headers.get(b"accept", b"").decode("latin-1")) or JSON
    shown = {"message": bounded(error.message), "extensions": {"code": error.code}}
    body = orjson.dumps({"errors": [shown]})
    return Response(error.status, body, f"{media_type}; charset=utf-8".encode(), b"no-store")
