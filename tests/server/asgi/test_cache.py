"""Responses that are kept: the latest ones, and never more bytes than allowed."""

import random

import pytest
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


def test_long_questions_count_too() -> None:
    """A short answer to a question of many bytes takes those bytes; what was put last stays."""
    cache = ResponseCache(100_000)
    keys = [key(f"{number}" + " " * 40_000) for number in range(20)]
    for long in keys:
        cache.put(long, response(b"{}"))
    assert [long for long in keys if cache.get(long)] == keys[-2:]


@pytest.mark.parametrize("room", [1_000, 9_000])
def test_a_response_that_grows_is_counted_anew(room: int) -> None:
    """With its new coding it may push others out, or be too large itself."""
    made = response(noise(5_000))
    alone = key("a").num_bytes + made.num_bytes
    cache = ResponseCache(alone + room)
    cache.put(key("a"), made)
    assert cache.num_bytes == alone
    made.encoded("gzip")
    cache.put(key("a"), made)
    assert cache.num_bytes == (0 if room < 5_000 else key("a").num_bytes + made.num_bytes)
    assert (cache.get(key("a")) is made) == (room > 5_000)


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
