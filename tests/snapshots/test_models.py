"""The records of the domain."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from msgspec.structs import replace

from snapshots.models import utc
from tests.snapshots.factories import a_revision, a_spec, day, digest_of


def test_short_form() -> None:
    """A record tells its own short form."""
    assert a_spec().short == "hdf5@1.14.5+mpi~cxx arch=linux-ubuntu22.04-x86_64_v3 %gcc@13.2.0"


@pytest.mark.parametrize(
    "moment",
    [
        datetime(2025, 3, 30, 12),
        datetime(2025, 3, 30, 12, tzinfo=UTC),
        datetime(2025, 3, 30, 14, tzinfo=timezone(timedelta(hours=2))),
    ],
)
def test_utc(moment: datetime) -> None:
    """A moment is the same in UTC, and is in UTC already where it names no zone."""
    assert utc(moment).isoformat() == "2025-03-30T12:00:00+00:00"


def test_keys_of_revisions() -> None:
    """A key follows from tag, time and content alone: an import made later changes none."""
    line = a_revision("develop", 1, "a")
    assert replace(line, published_at=day(9), num_specs=7).key == line.key
    others = [
        replace(line, tag="main"),
        replace(line, taken_at=day(2)),
        replace(line, digest=digest_of("b")),
    ]
    assert len({line.key, *(other.key for other in others)}) == 4
    assert line.key == "aa7d17f726b42812fe"
