"""The records of the domain."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from msgspec.structs import replace

from snapshots.models import Spec, utc
from tests.snapshots.factories import a_revision, a_spec, day, digest_of


@pytest.mark.parametrize(
    ("spec", "short"),
    [
        (
            a_spec(
                version="1.14.5",
                variants=("+mpi", "build_type=Release", 'cflags="-O2 -g"', "~cxx"),
            ),
            "hdf5@1.14.5%gcc@13.2.0+mpi~cxx build_type=Release "
            'cflags="-O2 -g" arch=linux-ubuntu22.04-x86_64_v3',
        ),
        (
            a_spec(compiler=None, variants=()),
            "hdf5@1.14.5 arch=linux-ubuntu22.04-x86_64_v3",
        ),
    ],
)
def test_short_form(spec: Spec, short: str) -> None:
    """The short form is Spack's: switches first, then values, the architecture last."""
    assert spec.short == short


def test_short_form_of_an_empty_variant() -> None:
    """A page may hold any text among the variants: the short form does not fall over it."""
    assert a_spec(variants=("", "+mpi")).short.startswith("hdf5@1.14.5%gcc@13.2.0+mpi ")


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
