"""JSON documents in a row, as a command prints them that is asked of several specs."""

import json
from collections.abc import Iterator

import msgspec

from snapshots.errors import SourceError

MAX_DOCUMENTS = 10_000
"""How many documents may follow one another."""

_WHITE = " \t\r\n"


def documents(data: bytes, location: str) -> Iterator[msgspec.Raw]:
    """Yield each JSON document, unread; ``location`` names the whole in errors.

    No white space is around them. A document that stands alone is not looked into. Raises
    SourceError with the line of what is no JSON, and where there are too many documents or none.
    """
    try:
        yield msgspec.json.decode(data.strip(), type=msgspec.Raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        yield from _in_a_row(data, location)


def _in_a_row(data: bytes, location: str) -> Iterator[msgspec.Raw]:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        reason = f"is not UTF-8: byte {error.start + 1:,}"
        raise SourceError(location, reason, line=data.count(b"\n", 0, error.start) + 1) from None
    decoder, place, found = json.JSONDecoder(), _behind_white(text, 0), 0
    while place < len(text):
        try:
            _, end = decoder.raw_decode(text, place)
        except json.JSONDecodeError as error:
            reason = f"is no good JSON: {error.msg}"
            raise SourceError(location, reason, line=error.lineno) from None
        except (RecursionError, ValueError):  # a number of thousands of digits, too
            raise SourceError(location, "is nested too deeply, or has too long a number") from None
        found += 1
        if found > MAX_DOCUMENTS:
            raise SourceError(location, f"holds more than {MAX_DOCUMENTS:,} documents")
        yield msgspec.Raw(text[place:end].encode())
        place = _behind_white(text, end)
    if not found:
        raise SourceError(location, "is empty")


def _behind_white(text: str, place: int) -> int:
    """Return the place of the next character that is not white."""
    while place < len(text) and text[place] in _WHITE:
        place += 1
    return place
