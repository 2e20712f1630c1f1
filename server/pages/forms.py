"""Parsing of HTML forms, in memory; their contents are never written anywhere.

Sources: RFC 7578 (multipart/form-data), and the URL standard (application/x-www-form-urlencoded).
"""

from collections.abc import Mapping
from urllib.parse import unquote_to_bytes

import msgspec
from python_multipart.multipart import parse_options_header

from server.asgi.errors import BadRequest

_MULTIPART = b"multipart/form-data"
_URLENCODED = b"application/x-www-form-urlencoded"
_MAX_FIELDS = 20
_MAX_HEAD = 4_096
PIECE_BYTES = 8 << 10
"""Number of bytes of an escaped text that are unescaped at a time."""


class Field(msgspec.Struct, frozen=True):
    """The value of a form field; ``filename`` is the name of an uploaded file, else empty."""

    content: bytes
    filename: str = ""

    @property
    def text(self) -> str:
        """The content as text; invalid UTF-8 is replaced."""
        return self.content.decode("utf-8", "replace")


def read_form(content_type: bytes, body: bytes) -> Mapping[str, Field]:
    """Return the fields of a form by name; of several with one name, the last one is used.

    Raises BadRequest for a body that is not a form, or has more than 20 fields.
    """
    kind, options = parse_options_header(content_type)
    if kind == _MULTIPART:
        return _multipart(body, options.get(b"boundary", b""))
    if kind == _URLENCODED:
        return _urlencoded(body)
    raise BadRequest(
        "The body is not a form: send multipart/form-data or application/x-www-form-urlencoded",
        status=415,
        code="UNSUPPORTED_MEDIA_TYPE",
    )


def _urlencoded(body: bytes) -> Mapping[str, Field]:
    if body.count(b"&") >= _MAX_FIELDS:
        raise _too_many()
    pairs = (pair.partition(b"=") for pair in body.split(b"&"))
    return {
        _unescaped(name).decode("latin-1"): Field(_unescaped(content))
        for name, _, content in pairs
        if name or content
    }


def _unescaped(text: bytes) -> bytes:
    """Return the unescaped text; a percent sign that escapes nothing is unchanged.

    It is unescaped in pieces, because the library takes two hundred times the memory of its text.
    """
    text = text.replace(b"+", b" ")
    content, place = bytearray(), 0
    while place < len(text):
        end = place + PIECE_BYTES
        cut = text.find(b"%", end - 2, end)  # do not split an escape
        end = end if cut < 0 else cut
        content += unquote_to_bytes(text[place:end])
        place = end
    return bytes(content)


def _multipart(body: bytes, boundary: bytes) -> Mapping[str, Field]:
    delimiter = b"\r\n--" + boundary
    if not boundary or not body.startswith(delimiter[2:]):
        raise BadRequest("The form cannot be read: it has no parts")
    first, *others = body.removeprefix(delimiter[2:]).split(delimiter, _MAX_FIELDS + 1)
    if len(others) > _MAX_FIELDS:
        raise _too_many()
    if not others or not others[-1].startswith(b"--"):
        raise BadRequest("The form ends too early")
    return dict(map(_part, [first, *others[:-1]]))


def _part(part: bytes) -> tuple[str, Field]:
    """Return the name and the field of a part: headers, an empty line, and the content."""
    head, separator, content = part.partition(b"\r\n\r\n")
    if not (head.startswith(b"\r\n") and separator) or len(head) > _MAX_HEAD:
        raise BadRequest("The form cannot be read: a part has no headers, or long ones")
    headers = (line.partition(b":") for line in head.split(b"\r\n"))
    disposition = {name.lower(): value for name, _, value in headers}.get(
        b"content-disposition", b""
    )
    _, options = parse_options_header(disposition.strip())
    name, filename = (
        options.get(key, b"").decode("utf-8", "replace") for key in (b"name", b"filename")
    )
    return name, Field(content, filename)


def _too_many() -> BadRequest:
    return BadRequest(f"The form has more than {_MAX_FIELDS} fields")
