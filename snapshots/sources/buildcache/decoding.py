"""JSON to typed records, with errors that name the key."""

import re
from typing import TypeVar

import msgspec

from snapshots.errors import SourceError

_VALIDATION = re.compile(r"(?P<reason>.*?)(?: - at `(?:key` in `)?\$(?P<path>[^`]*)`)?", re.S)
_ABSENT = re.compile(r"Object missing required field `(?P<field>.+)`")

T = TypeVar("T")


def decode_json(
    data: bytes | bytearray | msgspec.Raw, shape: type[T], location: str, key: str = ""
) -> T:
    """Decode JSON as ``shape``; ``location`` and ``key`` say where the text stands.

    Raises SourceError with the key of what is wrong.
    """
    try:
        return msgspec.json.decode(data, type=shape)
    except msgspec.ValidationError as error:
        raise _misshapen(str(error), location, key) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise SourceError(location, f"is no good JSON: {error}", key=key or None) from None
    except RecursionError:
        raise SourceError(location, "is nested too deeply", key=key or None) from None


def _misshapen(text: str, location: str, key: str) -> SourceError:
    match = _VALIDATION.fullmatch(text)
    reason, path = match.group("reason", "path") if match else (text, None)
    place = f"{key}{path or ''}"
    if absent := _ABSENT.fullmatch(reason):
        return SourceError(location, "is missing", key=f"{place}.{absent['field']}".lstrip("."))
    return SourceError(location, reason[0].lower() + reason[1:], key=place.lstrip(".") or None)
