"""Forms, as browsers send them."""

import tracemalloc
from urllib.parse import unquote_to_bytes, urlencode

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.asgi.errors import BadRequest
from server.pages import forms
from server.pages.forms import Field, read_form

NAMES = st.text(st.characters(codec="ascii", min_codepoint=97, max_codepoint=122), min_size=1)
FORMS = st.dictionaries(NAMES, st.binary(max_size=200), min_size=1, max_size=5)


@given(FORMS)
def test_files_are_read_as_they_were_sent(files: dict[str, bytes]) -> None:
    """Whatever bytes they hold, with the names of the files."""
    sent = {name: (f"{name}.lock", content) for name, content in files.items()}
    request = httpx.Request("POST", "http://127.0.0.1", files=sent)
    found = read_form(request.headers["content-type"].encode(), request.read())
    assert found == {name: Field(content, f"{name}.lock") for name, content in files.items()}


@given(FORMS)
def test_fields_are_read_as_they_were_sent(fields: dict[str, bytes]) -> None:
    """In the form's other coding; an empty field is one, too."""
    found = read_form(b"application/x-www-form-urlencoded", urlencode(fields).encode())
    assert found == {name: Field(content) for name, content in fields.items()}


@given(st.text("%41aF+é", max_size=40), st.integers(5, 9))
def test_escapes_are_read_whole_wherever_pieces_end(text: str, piece: int) -> None:
    """As the standard library reads them; what looks like an escape and is none stays."""
    content = text.encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(forms, "_PIECE", piece)
        found = read_form(b"application/x-www-form-urlencoded", b"text=" + content)
    assert found == {"text": Field(unquote_to_bytes(content.replace(b"+", b" ")))}


def test_a_long_form_takes_little_more_than_its_bytes() -> None:
    """Of bytes that are all escaped no text is made for each."""
    body = b"text=" + b"%" * (1 << 17)
    tracemalloc.start()
    try:
        read_form(b"application/x-www-form-urlencoded", body)
        assert tracemalloc.get_traced_memory()[1] < 20 * len(body)
    finally:
        tracemalloc.stop()


MULTIPART = b"multipart/form-data; boundary=abc"


@pytest.mark.parametrize(
    ("content_type", "body", "status"),
    [
        (b"", b"", 415),
        (b"application/json", b"{}", 415),
        (b"text/plain", b"a=b", 415),
        (b"multipart/form-data", b"--abc--", 400),
        (MULTIPART, b"no parts at all", 400),
        (MULTIPART, b'--abc\r\nContent-Disposition: form-data; name="a"\r\n\r\n' * 21, 400),
        (MULTIPART, b"--abc\r\nA: b\r\n\r\n\r\n" * 21 + b"--abc--", 400),
        (MULTIPART, b"--abc\r\nA: " + b";" * 60_000 + b"\r\n\r\n\r\n--abc--", 400),
        (b"application/x-www-form-urlencoded", b"&".join([b"a=b"] * 21), 400),
    ],
)
def test_what_is_no_form_is_refused(content_type: bytes, body: bytes, status: int) -> None:
    """So is one of more fields than any of ours has, before all of them are looked at."""
    with pytest.raises(BadRequest) as caught:
        read_form(content_type, body)
    assert caught.value.status == status


@pytest.mark.parametrize("missing", [b"", b"\r\n--abc", b"\r\n--ab"])
def test_a_form_that_ends_too_early_is_refused(missing: bytes) -> None:
    """What of it came is not taken for the whole."""
    body = b'--abc\r\nContent-Disposition: form-data; name="text"\r\n\r\nhalf' + missing
    with pytest.raises(BadRequest):
        read_form(MULTIPART, body)


def test_names_that_are_no_text_break_nothing() -> None:
    """They are shown as what they are: something that cannot be read."""
    body = (
        b'--abc\r\nContent-Disposition: form-data; name="file"; filename="\xff.lock"\r\n\r\n{}'
        b"\r\n--abc--\r\n"
    )
    assert read_form(MULTIPART, body) == {"file": Field(b"{}", "\ufffd.lock")}
