"""Quick fetches, as tests of the transport make them."""

from pathlib import Path

import msgspec

from snapshots.sources.downloads import StoredBody
from snapshots.sources.reports import Report
from snapshots.sources.settings import ReadSettings
from snapshots.sources.transport import Transport

QUICK = ReadSettings(timeout=5, attempts=3, backoff=0.001)
DATA = b'{"database": {}}' * 100


def fetched(location: str, settings: ReadSettings = QUICK, report: Report | None = None) -> bytes:
    """Return what lies at a location as ``fetch`` brings it."""
    with Transport(settings, report or Report(), [location]) as transport:
        return bytes(loaded(transport.fetch(location), settings))


def loaded(body: StoredBody, settings: ReadSettings = QUICK) -> bytearray:
    """Return the unpacked content of a body."""
    return body.load(limit=settings.max_index_bytes)[0]


def keeping(folder: Path, **changes: object) -> ReadSettings:
    """Return quick settings that keep bodies in a folder."""
    return msgspec.structs.replace(QUICK, cache_dir=folder, **changes)


def kept(folder: Path) -> list[Path]:
    """Return the files that are kept below a folder."""
    return [file for file in folder.rglob("*") if file.is_file()]
