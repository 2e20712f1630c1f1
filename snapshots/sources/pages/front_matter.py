"""Parser of the untrusted front matter of Markdown pages.

Each key of a cache page is on one line with its value: JSON of up to 300 kB, a plain text, or a
list of plain texts. Other YAML is refused, so that a small file cannot represent a large value.
"""

import re
from collections.abc import Mapping
from typing import Any

import msgspec
import orjson

from snapshots.errors import SourceError
from snapshots.sources.file_kinds import kind_of, text_of

MAX_PAGE_BYTES = 64 << 20
"""Maximum size of a page, in bytes; the public build cache has less than a hundredth of it."""

_MARKER = re.compile(rb"---[ \t]*\r?(?:\n|\Z)")
_KEY = re.compile(r"(?P<key>[A-Za-z_][A-Za-z0-9_-]*):[ \t]+(?=\S)")
_PLAIN = re.compile(r"[^\[\]{}\"',]+")


class FrontMatter(msgspec.Struct):
    """The keys of a page with their values, and the line number of each key, counted from 1."""

    location: str
    values: dict[str, Any] = {}
    lines: dict[str, int] = {}

    def wrong(self, key: str, reason: str) -> SourceError:
        """Return the error for the value of a key."""
        return SourceError(self.location, reason, line=self.lines.get(key), key=key)


def parse(
    data: bytes, location: str, decoders: Mapping[str, "msgspec.json.Decoder[Any]"]
) -> FrontMatter:
    """Parse a page that consists of front matter between two ``---`` lines.

    A value is decoded by the key's decoder in ``decoders``. If it has none, or the decoder fails,
    the value is decoded like any other.

    Raises SourceError, with ``location``, for anything but such a page.
    """
    matter = FrontMatter(location)
    for number, line in enumerate(_between_markers(data, location).split("\n"), start=2):
        match = _KEY.match(line)
        if match is None:
            if line.strip():
                raise SourceError(location, "is not a key with its value on one line", line=number)
            continue
        key, text = match["key"], line[match.end() :].rstrip()
        if key in matter.lines:
            raise SourceError(location, "appears twice", line=number, key=key)
        matter.lines[key] = number
        try:
            matter.values[key] = decoders[key].decode(text)
        except (KeyError, ValueError, RecursionError):  # msgspec's errors are ValueErrors
            try:
                matter.values[key] = _value(text)
            except ValueError as error:
                raise matter.wrong(key, f"is not valid JSON: {error}") from None
    return matter


def _value(text: str) -> Any:
    """Return the value that a text represents. Raises ValueError."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        items = [item.strip() for item in text[1:-1].split(",")]
        if text[0] == "[" and text[-1] == "]" and all(map(_PLAIN.fullmatch, items)):
            return items
        if text[0] in "[{\"'":
            raise
        return text


def _between_markers(data: bytes, location: str) -> str:
    data = bytes(text_of(data, location, MAX_PAGE_BYTES))
    opening = _MARKER.match(data)
    if opening is None:
        if kind := kind_of(data):
            raise SourceError(location, kind.instead_of("a cache page"))
        raise SourceError(location, "does not begin with a '---' line", line=1)
    start = opening.end()
    closing = _marker_after(data, start)
    if closing is None:
        raise SourceError(location, "is cut: the closing '---' line is missing")
    if data[closing.end() :].strip():
        line = data.count(b"\n", 0, closing.start()) + 2
        raise SourceError(location, "has text after its front matter", line=line)
    try:
        return data[start : closing.start()].decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, start + error.start) + 1
        raise SourceError(location, f"is not UTF-8: {error.reason}", line=line) from None


def _marker_after(data: bytes, start: int) -> re.Match[bytes] | None:
    # Searching the entire page with a regular expression would take as long as decoding it.
    line_start = start
    while True:
        if marker := _MARKER.match(data, line_start):
            return marker
        line_start = data.find(b"\n---", line_start) + 1
        if not line_start:
            return None
