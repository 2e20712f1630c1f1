"""Responses in their content codings: each is made once, and says what it is."""

from server.asgi.responses import CODINGS, MIN_COMPRESSED, Response

JSON = b"application/json; charset=utf-8"


def response(body: bytes, cache_control: bytes = b"no-cache") -> Response:
    """Return a response with that body."""
    return Response(200, body, JSON, cache_control)


def test_each_coding_is_made_once() -> None:
    """A coding is known after it was asked for, and the same object from then on."""
    made = response(b"x" * MIN_COMPRESSED)
    assert made.known("identity") is made.encoded("identity")
    for coding in CODINGS:
        assert made.known(coding) is None
        encoded = made.encoded(coding)
        assert made.known(coding) is encoded is made.encoded(coding)
        assert (b"content-encoding", coding.encode()) in encoded.headers


def test_few_bytes_are_not_compressed() -> None:
    """Below the limit the plain body is all that is on offer."""
    assert response(b"x" * (MIN_COMPRESSED - 1)).codings == ()
    assert response(b"x" * MIN_COMPRESSED).codings == CODINGS


def test_headers_say_what_is_sent() -> None:
    """Length, ETag, type and lifetime stand in the headers; 304 has all but the length."""
    made = response(b"x" * MIN_COMPRESSED, b"immutable")
    for coding in ("identity", *CODINGS):
        encoded = made.encoded(coding)
        headers = dict(encoded.headers)
        assert headers[b"content-length"] == str(len(encoded.content)).encode()
        assert headers[b"etag"] == encoded.etag
        assert headers[b"content-type"] == JSON
        assert headers[b"cache-control"] == b"immutable"
        assert headers[b"vary"] == b"accept, accept-encoding"
        del headers[b"content-length"]
        assert dict(encoded.not_modified) == headers


def test_etags_follow_from_the_body_and_the_coding() -> None:
    """Equal bodies have equal ETags; other bodies and other codings have others."""
    bodies = [b"x" * MIN_COMPRESSED, b"y" * MIN_COMPRESSED]
    etags = [response(body).encoded(it).etag for body in bodies for it in ("identity", *CODINGS)]
    again = [response(body).encoded(it).etag for body in bodies for it in ("identity", *CODINGS)]
    assert etags == again
    assert len(set(etags)) == len(etags)
    assert all(etag[:1] == etag[-1:] == b'"' for etag in etags)
