"""Files of the user's, opened without trust in what they are.

A name can stand for a pipe that nobody writes to or a device that never ends, and a file can be
larger than memory. So what is opened is asked what it is, and how large, before it is read.
"""

import os
from stat import S_ISREG
from typing import BinaryIO

from snapshots.errors import SourceError


class Missing(SourceError):
    """Nothing can be read at a location: no such file, or HTTP 403, 404 or 410."""


def open_regular(location: str) -> tuple[BinaryIO, int]:
    """Open a regular file; return it with its size in bytes.

    Raises Missing where there is none, and SourceError for what cannot be read or is no file.
    """
    try:
        # Without O_NONBLOCK to open a pipe would wait for somebody who writes to it.
        descriptor = os.open(location, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except FileNotFoundError:
        raise Missing(location, "does not exist") from None
    except OSError as error:
        raise unreadable(location, error) from None
    except ValueError:  # a NUL in it
        raise SourceError(location, "is no path") from None
    status = os.fstat(descriptor)
    if not S_ISREG(status.st_mode):
        os.close(descriptor)
        raise SourceError(location, "is no file")
    return os.fdopen(descriptor, "rb"), status.st_size


def read_regular(location: str, limit: int) -> bytes:
    """Return the content of a regular file of ``limit`` bytes or fewer.

    Raises Missing where there is none, and SourceError for what cannot be read, is no file or is
    larger.
    """
    file, size = open_regular(location)
    with file:
        try:
            data = file.read(size + 1) if size <= limit else b""
            if len(data) > size:  # it grows, or the system makes it up as it is read
                data += file.read(max(0, limit + 1 - len(data)))
        except OSError as error:
            raise unreadable(location, error) from None
    if size > limit or len(data) > limit:
        raise SourceError(location, f"holds more than {limit:,} bytes")
    return data


def unreadable(location: str, error: OSError) -> SourceError:
    """Return the error for a path that the operating system does not let be read."""
    return SourceError(location, f"cannot be read: {error.strerror}")
