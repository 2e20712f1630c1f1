"""The names that resemble one that nothing has."""

import pytest

from snapshots.wording import nearest_hint, nearest_names


@pytest.mark.parametrize(
    ("name", "known", "nearest"),
    [
        ("zlb", ["hdf5", "zlib", "zlib-ng", "zlib"], ["zlib", "zlib-ng"]),
        ("hdf", ["hdf5", "hdf4", "hdfeos", "hdf6"], ["hdf6", "hdf5", "hdf4"]),
        ("x" * 1_000, ["x" * 200], ["x" * 200]),
        ("HDF", ["hdf5", "HDF5", "zlib"], ["HDF5", "hdf5"]),
        ("zlib", ["openmpi"], []),
        ("zlib", [], []),
    ],
)
def test_nearest_names(name: str, known: list[str], nearest: list[str]) -> None:
    """At most three, each once, best first; a long name is as near as its beginning."""
    assert nearest_names(name, known) == nearest
    assert nearest_names(name, known, most=1) == nearest[:1]


def test_nearest_hint() -> None:
    """It goes behind a message, and is nothing where nothing is near."""
    assert nearest_hint(["zlib", "zlib-ng"]) == "; nearest: zlib, zlib-ng"
    assert nearest_hint([]) == ""
