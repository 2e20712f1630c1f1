"""Reading what a client takes: pure functions, which nothing a client sends can surprise."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from server.asgi.responses import (
    JSON,
    RESPONSE_JSON,
    accepted_coding,
    accepted_media_type,
    prefers,
)

CODINGS = ("zstd", "br", "gzip")

MEDIA_TYPES = {
    "": JSON,
    "*/*": JSON,
    "*/*;q=0.1": JSON,
    "application/*": JSON,
    JSON: JSON,
    "APPLICATION/JSON": JSON,
    RESPONSE_JSON: RESPONSE_JSON,
    f"{RESPONSE_JSON}, {JSON}": RESPONSE_JSON,
    f"{JSON}, {RESPONSE_JSON}": RESPONSE_JSON,
    f"{JSON}, {RESPONSE_JSON};q=0.9": JSON,
    f"{RESPONSE_JSON}, */*;q=0.1": RESPONSE_JSON,
    f"{JSON};q=0, */*": RESPONSE_JSON,
    "text/html, */*;q=0.8": JSON,
    "text/html": None,
    "*/*;q=0": None,
    f"{JSON};q=nonsense": None,
}


@pytest.mark.parametrize("accept", MEDIA_TYPES)
def test_the_media_type_is_the_best_that_the_client_takes(accept: str) -> None:
    """By weight; GraphQL's own where it is named with the same weight."""
    assert accepted_media_type(accept) == MEDIA_TYPES[accept]


ENCODINGS = {
    "": "identity",
    "gzip": "gzip",
    "GZIP": "gzip",
    "br, gzip": "br",
    "gzip, br, zstd": "zstd",
    "gzip;q=0.9, br;q=0.8": "gzip",
    "*": "zstd",
    "*;q=0.5, gzip": "gzip",
    "zstd;q=0, br;q=0.0, *": "gzip",
    "identity, gzip;q=0.5": "identity",
    "identity;q=0.5, gzip": "gzip",
    "deflate, x-gzip": "identity",
    "gzip;q=0": "identity",
    "gzip;q=x": "identity",
}


@pytest.mark.parametrize("accepted", ENCODINGS)
def test_the_coding_is_the_best_that_the_client_takes(accepted: str) -> None:
    """By weight, then in the order of the offers."""
    assert accepted_coding(accepted, CODINGS) == ENCODINGS[accepted]


BROWSERS = {
    "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8": True,
    "text/html": True,
    f"{JSON}, text/html;q=0.9": False,
    f"{JSON}, text/html": False,
    f"text/html;q=0.9, {RESPONSE_JSON};q=0.5": True,
    "text/html;q=0": False,
    "*/*": False,
    "": False,
    JSON: False,
}


@pytest.mark.parametrize("accept", BROWSERS)
def test_only_a_browser_prefers_html(accept: str) -> None:
    """It names HTML, and nothing of GraphQL that it likes as well."""
    assert prefers(accept, "text/html") == BROWSERS[accept]


@given(header=st.text(max_size=40))
@example(header=";q=1,;;=,q=,gzip;q=inf")
def test_no_header_is_too_odd(header: str) -> None:
    """Whatever it holds, something is chosen or refused."""
    assert accepted_media_type(header) in (JSON, RESPONSE_JSON, None)
    assert accepted_coding(header, CODINGS) in (*CODINGS, "identity")
    assert prefers(header, "text/html") in (True, False)
