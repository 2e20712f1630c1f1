"""Forms in the encodings of browsers, and the documents, paths and variables of pages."""

import tracemalloc
from importlib.resources import files
from typing import Any
from urllib.parse import unquote_to_bytes, urlencode

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schema.api import API
from schema.limits import Limits
from server.asgi.errors import BadRequest
from server.pages import forms
from server.pages.addresses import path_filled
from server.pages.documents import PAGE_LENGTH, PageDocument, document
from server.pages.forms import Field, read_form

NAMES = st.text(st.characters(codec="ascii", min_codepoint=97, max_codepoint=122), min_size=1)
FORMS = st.dictionaries(NAMES, st.binary(max_size=200), min_size=1, max_size=5)


@given(sent_files=FORMS)
def test_files_round_trip(sent_files: dict[str, bytes]) -> None:
    """Any bytes, with the names of the files."""
    sent = {name: (f"{name}.lock", content) for name, content in sent_files.items()}
    request = httpx.Request("POST", "http://127.0.0.1", files=sent)
    form = read_form(request.headers["content-type"].encode(), request.read())
    assert form == {name: Field(content, f"{name}.lock") for name, content in sent_files.items()}


@given(FORMS)
def test_fields_round_trip(fields: dict[str, bytes]) -> None:
    """In the other encoding of forms; also empty ones."""
    form = read_form(b"application/x-www-form-urlencoded", urlencode(fields).encode())
    assert form == {name: Field(content) for name, content in fields.items()}


@given(st.text("%41aF+é", max_size=40), st.integers(5, 9))
def test_escapes_across_pieces(text: str, piece: int) -> None:
    """As by the standard library; an invalid escape is literal."""
    content = text.encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(forms, "PIECE_BYTES", piece)
        form = read_form(b"application/x-www-form-urlencoded", b"text=" + content)
    assert form == {"text": Field(unquote_to_bytes(content.replace(b"+", b" ")))}


def test_memory_of_a_long_form() -> None:
    """Also if all bytes are escaped."""
    body = b"text=" + b"%" * (1 << 17)
    tracemalloc.start()
    try:
        read_form(b"application/x-www-form-urlencoded", body)
        assert tracemalloc.get_traced_memory()[1] < 20 * len(body)
    finally:
        tracemalloc.stop()


MULTIPART = b"multipart/form-data; boundary=abc"
TRUNCATED = b'--abc\r\nContent-Disposition: form-data; name="text"\r\n\r\nhalf'


@pytest.mark.parametrize(
    ("content_type", "body", "status"),
    [
        (b"", b"", 415),
        (b"text/plain", b"a=b", 415),
        (b"multipart/form-data", b"--abc--", 400),
        (MULTIPART, b"no parts at all", 400),
        (MULTIPART, b'--abc\r\nContent-Disposition: form-data; name="a"\r\n\r\n' * 21, 400),
        (MULTIPART, b"--abc\r\nA: b\r\n\r\n\r\n" * 21 + b"--abc--", 400),
        (MULTIPART, b"--abc\r\nA: " + b";" * 60_000 + b"\r\n\r\n\r\n--abc--", 400),
        (b"application/x-www-form-urlencoded", b"&".join([b"a=b"] * 21), 400),
        *((MULTIPART, TRUNCATED + end, 400) for end in (b"", b"\r\n--abc", b"\r\n--ab")),
    ],
)
def test_invalid_form_is_refused(content_type: bytes, body: bytes, status: int) -> None:
    """Also one with too many fields, before all of them are parsed, or that is truncated."""
    with pytest.raises(BadRequest) as caught:
        read_form(content_type, body)
    assert caught.value.status == status


def test_names_in_invalid_utf8() -> None:
    """They are shown with replacement characters."""
    body = (
        b'--abc\r\nContent-Disposition: form-data; name="file"; filename="\xff.lock"\r\n\r\n{}'
        b"\r\n--abc--\r\n"
    )
    assert read_form(MULTIPART, body) == {"file": Field(b"{}", "\ufffd.lock")}


_API = API()
DOCUMENT_NAMES = [
    file.name.removesuffix(".graphql") for file in (files("server.pages") / "queries").iterdir()
]
TEXT = (
    "query Q($ref: String!, $n: Int, $on: Boolean, $in: [String!], $first: Int, $last: Int) { a }"
)


@pytest.mark.parametrize("name", DOCUMENT_NAMES)
def test_document_is_valid(name: str) -> None:
    """It begins with a comment, and its cost is allowed."""
    page = document(name)
    assert _API.documents.get(page.text).errors == ()
    assert page.text.startswith("# ")
    variables = page.variables(page.known({name: ["1"] for name in page.parameters}))
    assert _API.cost(page.text, None, variables).units <= Limits.max_cost


@pytest.mark.parametrize(
    ("parameters", "variables"),
    [
        ({"ref": ["a", "b"]}, {"ref": "b", "first": PAGE_LENGTH}),
        ({"n": ["12"], "on": ["true"]}, {"n": 12, "on": True, "first": PAGE_LENGTH}),
        ({"n": ["x"], "on": ["1"]}, {"n": "x", "on": "1", "first": PAGE_LENGTH}),
        ({"in": ["b", "a", ""]}, {"in": ["b", "a"], "first": PAGE_LENGTH}),
        ({"ref": [""], "unknown": ["x"], "first": ["9999"]}, {"first": PAGE_LENGTH}),
    ],
)
def test_variables_in_an_address(
    parameters: dict[str, list[str]], variables: dict[str, Any]
) -> None:
    """By the types of the document, ignoring others."""
    page = PageDocument("q", TEXT)
    assert page.variables(page.known(parameters)) == variables


COMPARE = "/compare/{base}...{head}"


@pytest.mark.parametrize(
    ("pattern", "values", "path"),
    [
        ("/hash/{hash}", {"hash": ["abc"]}, "/hash/abc"),
        ("/hash/{hash}", {"hash": ["x", " /abc\r\n"]}, "/hash/abc"),
        ("/hash/{hash}", {"hash": ["a/b?c#d"]}, "/hash/a%2Fb%3Fc%23d"),
        (COMPARE, {"base": ["v1"], "head": ["develop~1"]}, "/compare/v1...develop~1"),
        (COMPARE, {"base": ["{head}"], "head": ["b"]}, "/compare/%7Bhead%7D...b"),
        (COMPARE, {"base": ["v1"], "head": [""]}, None),
        (COMPARE, {"base": ["v1"]}, None),
        ("/hash/{hash}", {"hash": [" / "]}, None),
    ],
)
def test_path_is_filled_from_a_form(
    pattern: str, values: dict[str, list[str]], path: str | None
) -> None:
    """With escaped values; None if a value is missing."""
    assert path_filled(pattern, values) == path
