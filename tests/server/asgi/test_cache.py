"""Responses that are kept: the latest ones, and never more bytes than allowed."""

import random

from hypothesis import example, given
from hypothesis import strategies as st

from server.asgi.responses import CODINGS, CacheKey, Response, ResponseCache
from tests.expensive import examples

JSON = b"application/json; charset=utf-8"


def response(body: bytes) -> Response:
    """Return a response with that body."""
    return Response(200, body, JSON, b"no-cache")


def key(name: str, generation: int | None = None) -> CacheKey:
    """Return the key of a question."""
    return CacheKey(name, b"null", None, "application/json", generation)


def noise(num_bytes: int, seed: int = 0) -> bytes:
    """Return bytes that no coding makes fewer."""
    return random.Random(seed).randbytes(num_bytes)


def test_a_cache_returns_what_was_put() -> None:
    """Under the same key, and under no other generation."""
    cache, made = ResponseCache(1 << 20), response(b"a")
    cache.put(key("a", 1), made)
    assert cache.get(key("a", 1)) is made
    assert cache.get(key("a", 2)) is None
    assert cache.get(key("a")) is None
    assert key("a" * 40_000).num_bytes > 40_000  # a long question takes room, too


@examples(100)
@example(max_bytes=0, steps=[("a", 0, "gzip")])
@given(
    max_bytes=st.integers(0, 30_000),
    steps=st.lists(
        st.tuples(st.sampled_from("abcdef"), st.integers(0, 9_000), st.sampled_from(CODINGS))
    ),
)
def test_a_cache_never_exceeds_its_bytes(max_bytes: int, steps: list[tuple[str, int, str]]) -> None:
    """Its count is the sum of what it keeps, whatever is put, put again, or grows."""
    cache = ResponseCache(max_bytes)
    for name, size, coding in steps:
        made = cache.get(key(name)) or response(noise(size))
        cache.put(key(name), made)
        made.encoded(coding)
        cache.put(key(name), made)
        kept = {it: found for it in "abcdef" if (found := cache.get(key(it))) is not None}
        assert cache.num_bytes == sum(key(it).num_bytes + kept[it].num_bytes for it in kept)
        assert cache.num_bytes <= max_bytes
