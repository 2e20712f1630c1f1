"""JSON to typed records, with errors that name the key."""

import json
import re
from typing import Any, TypeVar

import msgspec

from snapshots.errors import SourceError
from snapshots.escaping import quoted

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


def refuse_repeated_keys(data: bytes | bytearray, location: str) -> None:
    """Raise SourceError where an object of good JSON has a key twice, of which one would be lost.

    This takes as long as Python's own decoder: some 10 s a GB.
    """

    def keys_of(pairs: list[tuple[str, Any]]) -> None:
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise SourceError(location, f"has the key {quoted(key)} twice in one object")
            seen.add(key)

    try:
        json.loads(data, object_pairs_hook=keys_of)
    except RecursionError:
        raise SourceError(location, "is nested too deeply") from None
    except ValueError as error:
        raise SourceError(location, f"is no good JSON: {error}") from None


def _misshapen(text: str, location: str, key: str) -> SourceError:
    match = _VALIDATION.fullmatch(text)
    reason, path = match.group("reason", "path") if match else (text, None)
    place = f"{key}{path or ''}"
    if absent := _ABSENT.fullmatch(reason):
        return SourceError(location, "is missing", key=f"{place}.{absent['field']}".lstrip("."))
    return SourceError(location, reason[0].lower() + reason[1:], key=place.lstrip(".") or None)
