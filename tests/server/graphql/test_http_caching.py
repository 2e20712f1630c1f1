"""How answers may be kept and packed: ETags, lifetimes and content codings, on real sockets."""

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
    """A response whose content is still as it was sent."""

    status: int
    headers: httpx.Headers
    content: bytes


def ask(client: httpx.Client, query: str, **headers: str) -> Sent:
    """Ask a question in the address; the names of headers have _ for -."""
    named = {name.replace("_", "-"): it for name, it in headers.items()}
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
def test_a_packed_answer_is_the_same_answer(client: httpx.Client, coding: str) -> None:
    """Smaller on the way, equal to the byte at the end; an ETag of its own."""
    plain = ask(client, LONG, accept_encoding="identity")
    packed = ask(client, LONG, accept_encoding=coding)
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == coding
    assert len(packed.content) < len(plain.content) / 2
    assert int(packed.headers["content-length"]) == len(packed.content)
    assert DECODERS[coding](packed.content) == plain.content
    assert packed.headers["etag"] != plain.headers["etag"]
    assert plain.headers["vary"] == packed.headers["vary"] == VARY


def test_small_answers_are_not_packed(client: httpx.Client) -> None:
    """It would cost more than it saves."""
    assert "content-encoding" not in ask(client, TAGS, accept_encoding="gzip, br, zstd").headers


# -- conditional requests


@pytest.mark.parametrize("coding", ["identity", "gzip", "br", "zstd"])
def test_what_the_client_has_is_not_sent_again(client: httpx.Client, coding: str) -> None:
    """304 without a body, but with what the client needs to keep the answer further."""
    first = ask(client, LONG, accept_encoding=coding)
    etag = first.headers["etag"]
    for shown in (etag, f"W/{etag}", f'"x", {etag}', f'"x" ,W/{etag},"y"', "*"):
        again = ask(client, LONG, accept_encoding=coding, if_none_match=shown)
        assert (again.status, again.content) == (304, b"")
        for name in ("etag", "cache-control", "vary"):
            assert again.headers[name] == first.headers[name]
    for shown in ('"x"', etag.strip('"'), f"{etag}x", ""):
        assert ask(client, LONG, accept_encoding=coding, if_none_match=shown).status == 200


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
    '{ revision(ref: "develop") { digest } }',
    '{ revision(ref: "%(short)s") { digest } }',
    '{ revision(ref: "%(head)s~1") { digest } }',
    '{ revision(ref: "%(head)s") { next { digest } } }',
    '{ revision(ref: "%(head)s") { previous { digest } } }',
    '{ compare(base: "develop-2025-01-05", head: "%(head)s") { id } }',
    '{ compare(base: "%(base)s", head: "develop") { id } }',
    '{ compare(base: "%(base)s", head: "%(head)s") { releaseNotes } }',  # what returned may change
    '{ revision(ref: "%(head)s") { digest } tags { name } }',
    '{ revision(ref: "%(head)s") { digest } __schema { types { name } } }',
    '{ __type(name: "Spec") { fields { name } } }',
    "{ revisions { totalCount } }",
    "{ allSeries { name } }",
    '{ series(name: "develop") { growth { numSpecs } } }',
    '{ revision(ref: "%(head)s") { specs(first: 1) { nodes { history { hash } } } } }',
    '{ revision(ref: "%(head)s") { packages(first: 1) { nodes { history { name } } } } }',
    '{ tag(name: "nope") { name } }',
)


def filled(query: str, digests: tuple[str, str]) -> str:
    """Return the question with the digests in it."""
    base, head = digests
    return query % {"base": base, "head": head, "HEAD": head.upper(), "short": head[:12]}


LIFETIMES = dict.fromkeys(PERMANENT, IMMUTABLE) | dict.fromkeys(CHANGING, "no-cache")


@pytest.mark.parametrize(("query", "lifetime"), LIFETIMES.items())
def test_answers_that_name_only_digests_stay_true(
    client: httpx.Client, digests: tuple[str, str], query: str, lifetime: str
) -> None:
    """They may be kept for ever; a tag can get another revision, a prefix become ambiguous."""
    for _ in range(2):
        sent = ask(client, filled(query, digests))
        assert (sent.status, sent.headers["cache-control"]) == (200, lifetime)


def test_objects_by_their_ids_stay_true(client: httpx.Client, digests: tuple[str, str]) -> None:
    """An id names an object for ever; one that names none may be known elsewhere already."""
    question = filled('{ revision(ref: "%(head)s") { id stacks { id } } }', digests)
    revision = client.get("/graphql", params={"query": question}).json()["data"]["revision"]
    for id_ in (revision["id"], revision["stacks"][0]["id"]):
        sent = ask(client, f'{{ node(id: "{id_}") {{ id }} }}')
        assert sent.headers["cache-control"] == IMMUTABLE
    sent = ask(client, '{ node(id: "UmV2aXNpb246YTpi") { id } }')
    assert sent.headers["cache-control"] == "no-cache"


def test_errors_are_not_kept(client: httpx.Client, digests: tuple[str, str]) -> None:
    """What is not found today may be published tomorrow."""
    question = '{ revision(ref: "%(head)s") { tag } other: revision(ref: "nope") { tag } }'
    assert ask(client, filled(question, digests)).headers["cache-control"] == "no-cache"
    assert ask(client, "{ nope }").headers["cache-control"] == "no-cache"
    assert ask(client, "").headers["cache-control"] == "no-store"
