"""Forms that browsers send: their fields, read in memory and never written anywhere.

Sources: RFC 7578 (multipart/form-data), and the URL standard (application/x-www-form-urlencoded).
"""

from collections.abc import Mapping
from urllib.parse import unquote_to_bytes

import msgspec
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from server.asgi.errors import BadRequest

_MULTIPART = b"multipart/form-data"
_URLENCODED = b"application/x-www-form-urlencoded"
_MAX_FIELDS = 20
_PIECE = 8 << 10
"""How many bytes of an escaped text are read at once."""


class Field(msgspec.Struct, frozen=True):
    """What a form has for a name; ``filename`` is that of a file that was chosen, else empty."""

    content: bytes
    filename: str = ""

    @property
    def text(self) -> str:
        """The content as text; what is no UTF-8 is replaced."""
        return self.content.decode("utf-8", "replace")


def read_form(content_type: bytes, body: bytes) -> Mapping[str, Field]:
    """Return the fields of a form by their names; of several of one name the last counts.

    Raises BadRequest for a body that is no form, or that has more than 20 fields.
    """
    kind, options = parse_options_header(content_type)
    if kind == _MULTIPART:
        return _Parts(options.get(b"boundary", b"")).read(body)
    if kind == _URLENCODED:
        return _urlencoded(body)
    raise BadRequest(
        "The body is no form: send multipart/form-data or application/x-www-form-urlencoded",
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
    """Return what a name or a content stands for; a percent sign that escapes nothing stays.

    Piece by piece: of a whole lock file the library takes two hundred times the memory.
    """
    text = text.replace(b"+", b" ")
    content, place = bytearray(), 0
    while place < len(text):
        end = place + _PIECE
        cut = text.find(b"%", end - 2, end)  # an escape is not parted
        end = end if cut < 0 else cut
        content += unquote_to_bytes(text[place:end])
        place = end
    return bytes(content)


class _Parts:
    """Reads the parts of one multipart body."""

    def __init__(self, boundary: bytes) -> None:
        self._boundary = boundary
        self._found: dict[str, Field] = {}
        self._num_parts = 0
        self._is_whole = False
        self._disposition = self._header = self._value = b""
        self._pieces: list[bytes] = []

    def read(self, body: bytes) -> Mapping[str, Field]:
        """Return the fields. Raises BadRequest."""
        try:
            parser = MultipartParser(
                self._boundary,
                {
                    "on_part_begin": self._begin,
                    "on_header_field": self._on_header,
                    "on_header_value": self._on_value,
                    "on_header_end": self._end_header,
                    "on_part_data": self._on_data,
                    "on_part_end": self._end,
                    "on_end": self._end_all,
                },
            )
            parser.write(body)
            parser.finalize()
        except FormParserError as error:
            raise BadRequest(f"The form cannot be read: {error}") from None
        if not self._is_whole:
            raise BadRequest("The form ends too early")
        return self._found

    def _begin(self) -> None:
        self._num_parts += 1
        if self._num_parts > _MAX_FIELDS:
            raise _too_many()
        self._disposition = b""
        self._pieces = []

    def _on_header(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def _on_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _end_header(self) -> None:
        if self._header.lower() == b"content-disposition":
            self._disposition = self._value
        self._header = self._value = b""

    def _on_data(self, data: bytes, start: int, end: int) -> None:
        self._pieces.append(data[start:end])

    def _end(self) -> None:
        _, options = parse_options_header(self._disposition)
        name, filename = (
            options.get(key, b"").decode("utf-8", "replace") for key in (b"name", b"filename")
        )
        self._found[name] = Field(b"".join(self._pieces), filename)

    def _end_all(self) -> None:
        self._is_whole = True


def _too_many() -> BadRequest:
    return BadRequest(f"The form has more than {_MAX_FIELDS} fields")
