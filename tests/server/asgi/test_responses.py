"""Responses: content negotiation, content codings, caching and sending."""

import asyncio
import random
import threading
from typing import Any
from unittest.mock import AsyncMock

import pytest
import zstandard
from hypothesis import example, given
from hypothesis import strategies as st

from server.asgi.lanes import Lane
from server.asgi.responses import (
    CODINGS,
    JSON,
    MIN_COMPRESSED,
    RESPONSE_JSON,
    CacheKey,
    Response,
    ResponseCache,
    ResponseSender,
    accepted_coding,
    accepted_media_type,
    prefers,
)
from tests.expensive import examples

MEDIA_TYPES = {
    "": JSON,
    "*/*": JSON,
    "application/*": JSON,
    JSON: JSON,
    RESPONSE_JSON: RESPONSE_JSON,
    f"{RESPONSE_JSON}, {JSON}": RESPONSE_JSON,
    f"{JSON}, {RESPONSE_JSON};q=0.9": JSON,
    f"{RESPONSE_JSON}, */*;q=0.1": RESPONSE_JSON,
    f"{JSON};q=0, */*": RESPONSE_JSON,
    "text/html": None,
    "*/*;q=0": None,
    f"{JSON};q=nonsense": None,
}


@pytest.mark.parametrize("accept", MEDIA_TYPES)
def test_accepted_media_type(accept: str) -> None:
    """By weight; GraphQL's own type if it has the same weight."""
    assert accepted_media_type(accept) == MEDIA_TYPES[accept]


ENCODINGS = {
    "": "identity",
    "gzip": "gzip",
    "GZIP": "gzip",
    "br, gzip": "gzip",
    "gzip;q=0.9, zstd;q=0.8": "gzip",
    "*": "zstd",
    "*;q=0.5, gzip": "gzip",
    "zstd;q=0, *": "gzip",
    "identity, gzip;q=0.5": "identity",
    "identity;q=0.5, gzip": "gzip",
    "deflate, x-gzip": "identity",
    "gzip;q=x": "identity",
}


@pytest.mark.parametrize("accepted", ENCODINGS)
def test_accepted_coding(accepted: str) -> None:
    """By weight, then in the order in which the server offers them."""
    assert accepted_coding(accepted, CODINGS) == ENCODINGS[accepted]


PREFERS_HTML = {
    "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8": True,
    "text/html": True,
    f"{JSON}, text/html;q=0.9": False,
    f"text/html;q=0.9, {RESPONSE_JSON};q=0.5": True,
    "text/html;q=0": False,
    "*/*": False,
}


@pytest.mark.parametrize("accept", PREFERS_HTML)
def test_only_a_browser_prefers_html(accept: str) -> None:
    """A browser lists HTML, and no GraphQL media type with the same weight."""
    assert prefers(accept, "text/html") == PREFERS_HTML[accept]


@given(header=st.text(max_size=40))
@example(header=";q=1,;;=,q=,gzip;q=inf")
def test_any_header_is_accepted(header: str) -> None:
    """A value is chosen or refused without an exception."""
    assert accepted_media_type(header) in (JSON, RESPONSE_JSON, None)
    assert accepted_coding(header, CODINGS) in (*CODINGS, "identity")
    assert prefers(header, "text/html") in (True, False)


CONTENT_TYPE = b"application/json; charset=utf-8"


def response(body: bytes, cache_control: bytes = b"no-cache") -> Response:
    """Return a response with that body."""
    return Response(200, body, CONTENT_TYPE, cache_control)


def test_small_bodies_are_not_compressed() -> None:
    """Below the limit, only the plain body is available."""
    assert response(b"x" * (MIN_COMPRESSED - 1)).codings == ()
    assert response(b"x" * MIN_COMPRESSED).codings == CODINGS


def test_etags_depend_on_body_and_coding() -> None:
    """Equal bodies have equal ETags per coding; all others differ."""
    parts = [
        (letter * MIN_COMPRESSED, name)
        for letter in (b"x", b"y")
        for name in ("identity", *CODINGS)
    ]
    etags, again = ([response(body).encoded(name).etag for body, name in parts] for _ in range(2))
    assert etags == again
    assert len(set(etags)) == len(etags)
    assert all(etag[:1] == etag[-1:] == b'"' for etag in etags)


def key(name: str, generation: int | None = None) -> CacheKey:
    """Return the key of a query."""
    return CacheKey(name, b"null", None, "application/json", generation)


def noise(num_bytes: int, seed: int = 0) -> bytes:
    """Return incompressible bytes."""
    return random.Random(seed).randbytes(num_bytes)


def test_cache_returns_the_stored_response() -> None:
    """Under the same key and generation only."""
    cache, stored = ResponseCache(1 << 20), response(b"a")
    cache.put(key("a", 1), stored)
    assert cache.get(key("a", 1)) is stored
    assert cache.get(key("a", 2)) is None
    assert cache.get(key("a")) is None
    assert key("a" * 40_000).num_bytes > 40_000


@examples(100)
@example(max_bytes=0, steps=[("a", 0, "gzip")])
@given(
    max_bytes=st.integers(0, 30_000),
    steps=st.lists(
        st.tuples(st.sampled_from("abcdef"), st.integers(0, 9_000), st.sampled_from(CODINGS))
    ),
)
def test_cache_never_exceeds_its_size(max_bytes: int, steps: list[tuple[str, int, str]]) -> None:
    """Its size is the sum of its entries, also if a response is stored again or grows."""
    cache = ResponseCache(max_bytes)
    for name, size, coding in steps:
        stored = cache.get(key(name)) or response(noise(size))
        cache.put(key(name), stored)
        stored.encoded(coding)
        cache.put(key(name), stored)
        entries = [(key(name), cache.get(key(name))) for name in "abcdef"]
        sizes = [entry.num_bytes + value.num_bytes for entry, value in entries if value]
        assert cache.num_bytes == sum(sizes)
        assert cache.num_bytes <= max_bytes


async def sent(response: Response, lane: Lane, *headers: tuple[bytes, bytes]) -> list[Any]:
    """Return the ASGI messages of a response that is compressed in a lane."""
    send = AsyncMock()
    scope = {"type": "http", "method": "GET", "headers": headers}
    sender = ResponseSender(ResponseCache(0), lane)
    await sender.send(response, scope, send)
    return [call.args[0] for call in send.call_args_list]


@pytest.mark.anyio
async def test_large_body_is_compressed_in_the_lane() -> None:
    """If the lane is full, the body is sent uncompressed."""
    gate = threading.Event()
    lane = Lane("test", threads=1, patience=0.05)
    body = noise(200_000)

    async def messages() -> list[Any]:
        response = Response(200, body, b"text/plain", b"no-store")
        return await sent(response, lane, (b"accept-encoding", b"zstd"))

    compressed = await messages()
    assert dict(compressed[0]["headers"])[b"content-encoding"] == b"zstd"
    assert zstandard.ZstdDecompressor().decompress(compressed[1]["body"]) == body
    busy = asyncio.ensure_future(lane.run(lambda: gate.wait(10)))
    await asyncio.sleep(0)
    plain = await messages()
    assert b"content-encoding" not in dict(plain[0]["headers"])
    assert plain[1]["body"] == body
    gate.set()
    await busy
    lane.close()
