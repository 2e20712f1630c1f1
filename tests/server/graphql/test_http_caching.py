"""Caching and compression of responses: ETags, lifetimes and content codings, on real sockets."""

import gzip
from collections.abc import Callable
from typing import NamedTuple

import brotli
import httpx
import pytest
import zstandard

from snapshots.catalog.catalog import Catalog

TAGS = "{ tags { name } }"
LONG = "{ revision { specs(first: 200) { nodes { hash name version variants stacks } } } }"
IMMUTABLE = "public, max-age=31536000, immutable"
VARY = "accept, accept-encoding"


class Sent(NamedTuple):
    """A response with its content as transferred."""

    status: int
    headers: httpx.Headers
    content: bytes


def get(client: httpx.Client, query: str, **headers: str) -> Sent:
    """Send a query by GET; header names have _ instead of -."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    with client.stream("GET", "/graphql", params={"query": query}, headers=named) as response:
        return Sent(response.status_code, response.headers, b"".join(response.iter_raw()))


@pytest.fixture(scope="module")
def digests(demo_catalog: object) -> tuple[str, str]:
    """Return the digests of the two newest revisions."""
    catalog = Catalog(str(demo_catalog))
    catalog.refresh()
    head, base = (revision.digest for revision in catalog.history.revisions[:2])
    return base, head


# -- content codings

DECODERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.decompress,
    "br": brotli.decompress,
    "zstd": lambda body: zstandard.ZstdDecompressor().decompress(body, 1 << 24),
}


@pytest.mark.parametrize("coding", DECODERS)
def test_compressed_response_is_equal(client: httpx.Client, coding: str) -> None:
    """Smaller, decompressed to the same bytes, and with a different ETag."""
    plain = get(client, LONG, accept_encoding="identity")
    compressed = get(client, LONG, accept_encoding=coding)
    assert "content-encoding" not in plain.headers
    assert compressed.headers["content-encoding"] == coding
    assert len(compressed.content) < len(plain.content) / 2
    assert int(compressed.headers["content-length"]) == len(compressed.content)
    assert DECODERS[coding](compressed.content) == plain.content
    assert compressed.headers["etag"] != plain.headers["etag"]
    assert plain.headers["vary"] == compressed.headers["vary"] == VARY


# -- conditional requests


@pytest.mark.parametrize("coding", ["identity", "gzip", "br", "zstd"])
def test_matching_etag_is_not_modified(client: httpx.Client, coding: str) -> None:
    """304 without a body, but with the headers that the client needs to store the response."""
    first = get(client, LONG, accept_encoding=coding)
    etag = first.headers["etag"]
    for shown in (etag, f"W/{etag}", f'"x", {etag}', f'"x" ,W/{etag},"y"', "*"):
        again = get(client, LONG, accept_encoding=coding, if_none_match=shown)
        assert (again.status, again.content) == (304, b"")
        for name in ("etag", "cache-control", "vary"):
            assert again.headers[name] == first.headers[name]
    for shown in ('"x"', etag.strip('"'), f"{etag}x", ""):
        assert get(client, LONG, accept_encoding=coding, if_none_match=shown).status == 200


# -- lifetimes

PERMANENT = (
    '{ revision(ref: "%(head)s") { tag numSpecs packages { nodes { name versions } } } }',
    '{ compare(base: "%(base)s", head: "%(head)s") { summary { specsAdded } } }',
    '{ compare(base: "%(base)s", head: "%(head)s") { causes { nodes { title } } } }',
    '{ a: revision(ref: "%(base)s") { digest } b: revision(ref: "%(HEAD)s") { digest } }',
)
CHANGING = (
    TAGS,
    "{ revision { digest } }",
    '{ revision(ref: "%(short)s") { digest } }',
    '{ revision(ref: "%(head)s~1") { digest } }',
    '{ revision(ref: "%(head)s") { next { digest } } }',
    '{ revision(ref: "%(head)s") { previous { digest } } }',
    '{ compare(base: "develop-2025-01-05", head: "%(head)s") { id } }',
    '{ compare(base: "%(base)s", head: "develop") { id } }',
    '{ compare(base: "%(base)s", head: "%(head)s") { releaseNotes } }',  # RETURNED can change
    '{ revision(ref: "%(head)s") { digest } __schema { types { name } } }',
    "{ revisions { totalCount } }",
    '{ series(name: "develop") { growth { numSpecs } } }',
    '{ revision(ref: "%(head)s") { specs(first: 1) { nodes { history { hash } } } } }',
    '{ revision(ref: "%(head)s") { packages(first: 1) { nodes { history { name } } } } }',
    '{ tag(name: "nope") { name } }',
    '{ revision(ref: "%(head)s") { tag } other: revision(ref: "nope") { tag } }',
    "{ nope }",
)


def with_digests(query: str, digests: tuple[str, str]) -> str:
    """Return the query with the digests inserted."""
    base, head = digests
    return query % {"base": base, "head": head, "HEAD": head.upper(), "short": head[:12]}


LIFETIMES = dict.fromkeys(PERMANENT, IMMUTABLE) | dict.fromkeys(CHANGING, "no-cache")


@pytest.mark.parametrize(("query", "lifetime"), LIFETIMES.items())
def test_lifetime_of_responses(
    client: httpx.Client, digests: tuple[str, str], query: str, lifetime: str
) -> None:
    """Permanent if the query names digests; a tag can move, a prefix become ambiguous."""
    for _ in range(2):
        sent = get(client, with_digests(query, digests))
        assert (sent.status, sent.headers["cache-control"]) == (200, lifetime)


def test_lifetime_of_nodes(client: httpx.Client, digests: tuple[str, str]) -> None:
    """An id names an object permanently; an unknown one may exist elsewhere."""
    query = with_digests('{ revision(ref: "%(head)s") { id stacks { id } } }', digests)
    revision = client.get("/graphql", params={"query": query}).json()["data"]["revision"]
    for id_ in (revision["id"], revision["stacks"][0]["id"]):
        sent = get(client, f'{{ node(id: "{id_}") {{ id }} }}')
        assert sent.headers["cache-control"] == IMMUTABLE
    sent = get(client, '{ node(id: "UmV2aXNpb246YTpi") { id } }')
    assert sent.headers["cache-control"] == "no-cache"
