"""Untrusted input: regular files, and JSON decoded to typed records.

A path can name a pipe without a writer or an endless device, and a file can be larger than
memory. Therefore, the type and size of a file are checked before it is read.
"""

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from stat import S_ISREG
from typing import BinaryIO, TypeVar

import msgspec

from snapshots.errors import SourceError

# -- regular files


class Missing(SourceError):
    """A location does not exist or is not readable: no such file, or HTTP 403, 404 or 410."""


class AccessDenied(Missing):
    """HTTP 403, which S3 also returns for missing objects in buckets that may not be listed."""


@contextmanager
def named_by(location: str, name: str) -> Iterator[None]:
    """Convert Missing in the block to SourceError, at the document that names the location."""
    try:
        yield
    except Missing as error:
        raise SourceError(location, f"names {name}: {error.reason}") from None


def open_regular(location: str) -> tuple[BinaryIO, int]:
    """Open a regular file; return it with its size in bytes.

    Raises Missing if it does not exist, and SourceError if it is unreadable or not a regular file.
    """
    try:
        # Without O_NONBLOCK, opening a pipe would wait for a writer.
        descriptor = os.open(location, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except FileNotFoundError:
        raise Missing(location, "does not exist") from None
    except OSError as error:
        raise unreadable(location, error) from None
    except ValueError:  # the path contains a NUL
        raise SourceError(location, "is not a path") from None
    status = os.fstat(descriptor)
    if not S_ISREG(status.st_mode):
        os.close(descriptor)
        raise SourceError(location, "is not a file")
    return os.fdopen(descriptor, "rb"), status.st_size


def read_regular(location: str, limit: int) -> bytes:
    """Return the content of a regular file of at most ``limit`` bytes.

    Raises Missing if it does not exist, and SourceError if it is unreadable, not a regular file, or
    too large.
    """
    file, size = open_regular(location)
    with file:
        try:
            data = file.read(size + 1) if size <= limit else b""
            if len(data) > size:  # it grows, or the system generates it on reading
                data += file.read(max(0, limit + 1 - len(data)))
        except OSError as error:
            raise unreadable(location, error) from None
    if size > limit or len(data) > limit:
        raise SourceError(location, f"contains more than {limit:,} bytes")
    return data


def walk(
    folder: str, onerror: Callable[[OSError], object] | None = None
) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield folders and the names in them, as ``os.walk`` does, but at any depth."""
    pending = [folder]
    while pending:
        for parent, folders, names in islice(os.walk(pending.pop(), onerror=onerror), 1):
            yield parent, folders, names
            paths = (os.path.join(parent, name) for name in folders)  # noqa: PTH118 - for speed
            pending += [path for path in paths if not os.path.islink(path)]  # noqa: PTH114


def unreadable(location: str, error: OSError) -> SourceError:
    """Return the error for a path that the operating system cannot read."""
    return SourceError(location, f"cannot be read: {error.strerror}")


# -- decoding of JSON to typed records

_VALIDATION = re.compile(r"(?P<reason>.*?)(?: - at `(?:key` in `)?\$(?P<path>[^`]*)`)?", re.S)
_ABSENT = re.compile(r"Object missing required field `(?P<field>.+)`")

T = TypeVar("T")


def decode_json(
    data: bytes | bytearray | msgspec.Raw, shape: type[T], location: str, key: str = ""
) -> T:
    """Decode JSON as ``shape``; ``location`` and ``key`` are the position of the text for errors.

    Raises SourceError with the key of the invalid value.
    """
    try:
        return msgspec.json.decode(data, type=shape)
    except JSON_ERRORS as error:
        raise unreadable_json(error, location, key) from None


JSON_ERRORS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What msgspec raises for a text that is not JSON of the expected shape."""


def unreadable_json(error: Exception, location: str, key: str = "") -> SourceError:
    """Return the error for one of ``JSON_ERRORS``, at the position of the text."""
    if isinstance(error, msgspec.ValidationError):
        return misshapen(error, location, key)
    if isinstance(error, RecursionError):
        return SourceError(location, "is nested too deeply", key=key or None)
    return SourceError(location, f"is not valid JSON: {error}", key=key or None)


def misshapen(error: msgspec.ValidationError, location: str, key: str) -> SourceError:
    """Return the error for a validation error of msgspec below a key."""
    text = str(error)
    match = _VALIDATION.fullmatch(text)
    reason, path = match.group("reason", "path") if match else (text, None)
    full_key = f"{key}{path or ''}"
    if absent := _ABSENT.fullmatch(reason):
        return SourceError(location, "is missing", key=f"{full_key}.{absent['field']}".lstrip("."))
    return SourceError(location, reason[0].lower() + reason[1:], key=full_key.lstrip(".") or None)
