"""Applications behind the middleware that observes requests and responses, without a server."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from server.asgi.exchanges import Exchanges, Observer, RequestIds

Application = Callable[[Scope, Receive, Send], Awaitable[None]]


async def respond(_scope: Scope, _receive: Receive, send: Send) -> None:
    """Respond in two chunks."""
    await send({"type": "http.response.start", "status": 201, "headers": []})
    await send({"type": "http.response.body", "body": b"abc", "more_body": True})
    await send({"type": "http.response.body", "body": b"de"})


async def fail(scope: Scope, _receive: Receive, _send: Send) -> None:
    """Fail before the response starts."""
    if scope["type"] == "http":
        raise ZeroDivisionError


def scope(path: str = "/graphql", **facts: Any) -> Scope:
    """Return the ASGI scope of a request."""
    return {
        "type": "http",
        "method": "GET",
        "path": path,
        "client": ("10.0.0.1", 5),
        "headers": [],
    } | facts


def exchange(
    application: Application,
    *scopes: Scope,
    observers: Sequence[Observer] = (),
) -> list[Message]:
    """Send requests, and return all messages of the responses."""
    messages: list[Message] = []
    exchanges = Exchanges(
        application,
        ids=RequestIds(),
        observers=observers,
        failure=lambda error: Response(type(error).__name__, status_code=500),
    )

    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(message: Message) -> None:
        messages.append(message)

    async def run() -> None:
        for scope in scopes:
            await exchanges(scope, receive, send)

    asyncio.run(run())
    return messages
