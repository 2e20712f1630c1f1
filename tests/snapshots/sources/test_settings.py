"""Settings of reading."""

import msgspec
import pytest

from snapshots.errors import InvalidArgument
from snapshots.sources.settings import ReadSettings


@pytest.mark.parametrize("name", ["attempts", "workers"])
@pytest.mark.parametrize("value", [0, -1])
def test_fewer_than_one(name: str, value: int) -> None:
    """Without an attempt or a worker nothing could be read, so that is refused at once."""
    with pytest.raises(InvalidArgument, match=f"{name}: must be at least 1, not {value}"):
        msgspec.structs.replace(ReadSettings(), **{name: value})
    assert getattr(msgspec.structs.replace(ReadSettings(), **{name: 1}), name) == 1
