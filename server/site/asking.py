"""A server of the catalog in this very process: what it says is what any server says."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import httpx
from msgspec.structs import replace

from server.app import GRAPHQL_PATH, create_app
from server.settings import Settings

_OF_ONE_EXCHANGE = frozenset(
    {"content-length", "date", "etag", "last-modified", "server", "vary", "x-request-id"}
)
"""Headers that hosts have values of their own for."""

_PATIENCE = 600.0
"""How many seconds a request may wait for a thread: nobody else asks."""


class Reply(NamedTuple):
    """What a server answers with."""

    status: int
    body: bytes
    headers: Mapping[str, str]

    @property
    def is_permanent(self) -> bool:
        """Whether it stays true for ever."""
        return "immutable" in self.headers.get("cache-control", "")


class LocalServer:
    """A server in this process, which nobody else reaches."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client

    async def get(self, address: str) -> Reply:
        """Return what is at an address."""
        return _reply(await self._client.get(address))

    async def answer(self, text: str, variables: Mapping[str, Any]) -> Reply:
        """Return the answer to a document."""
        asked = {"query": text, "variables": dict(variables)}
        return _reply(await self._client.post(GRAPHQL_PATH, json=asked))


@asynccontextmanager
async def server_of(settings: Settings, public_url: str) -> AsyncIterator[LocalServer]:
    """Run a server with the limits of others, for as long as the context lasts."""
    app = create_app(
        replace(
            settings,
            public_url=public_url,
            documents="",  # the site's own are asked
            pages=True,
            graphiql=False,
            metrics=False,
            tracing=False,
            access_log=False,
            cors_origins=(),
            requests_per_minute=0,
            cost_per_minute=0,
            queue_seconds=_PATIENCE,
            refresh=_PATIENCE,
        )
    )
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(
            transport=httpx.ASGITransport(app=app),
            base_url="http://cachelog",
            headers={"accept": "*/*", "accept-encoding": "identity"},
            timeout=None,  # noqa: S113 - the server's own limits hold
        ) as client,
    ):
        yield LocalServer(client)


def _reply(response: httpx.Response) -> Reply:
    headers = {it: value for it, value in response.headers.items() if it not in _OF_ONE_EXCHANGE}
    return Reply(response.status_code, response.content, headers)
