"""Suggested names for a partial text, best match first."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots.frames.suggestions import (
    Suggestion,
    SuggestionKind,
    Suggestions,
    is_one_typo,
    names_of,
    words,
)
from tests.snapshots.factories import a_spec
from tests.snapshots.records import frame_of

PACKAGE, STACK = SuggestionKind.PACKAGE, SuggestionKind.STACK
VERSION, VARIANT = SuggestionKind.VERSION, SuggestionKind.VARIANT
NAMES = Suggestions(
    [
        Suggestion(PACKAGE, "hdf", 1),
        Suggestion(PACKAGE, "hdf5", 9),
        Suggestion(PACKAGE, "hdf5-io", 2),
        Suggestion(PACKAGE, "py-h5py", 3),
        Suggestion(PACKAGE, "netcdf-c", 4),
        Suggestion(PACKAGE, "py_numpy", 4),
        Suggestion(PACKAGE, "openmpi", 8),
        Suggestion(PACKAGE, "mpich", 8),
        Suggestion(STACK, "hdf-tools", 2),
        Suggestion(STACK, "hdf5", 1),
        Suggestion(VERSION, "hdf5@1.14.3", 1),
        Suggestion(VERSION, "hdf5@1.12.1", 3),
        Suggestion(VARIANT, "+mpi", 20),
    ]
)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        # Equal names of any kind come first, then prefixes: packages first, the most used first.
        ("hdf5", ["hdf5", "hdf5", "hdf5-io"]),
        ("hdf", ["hdf", "hdf5", "hdf5-io", "hdf-tools", "hdf5"]),
        ("HDF5-I", ["hdf5-io"]),
        # Prefixes of a word, then parts of a name.
        ("mpi", ["mpich", "openmpi", "+mpi"]),
        ("h5", ["py-h5py"]),
        ("c", ["netcdf-c", "mpich"]),
        ("cdf", ["netcdf-c"]),
        # Separators of words, and sigils before a name, are ignored.
        ("py-numpy", ["py_numpy"]),
        ("numpy", ["py_numpy"]),
        ("^hdf5-io", ["hdf5-io"]),
        ("%hdf5-io", ["hdf5-io"]),
        # One typo: replaced, missing, additional, swapped; not in names of three characters.
        ("hdg5", ["hdf5", "hdf5"]),
        ("hfd5", ["hdf5", "hdf5"]),
        ("mich", ["mpich"]),
        ("mpiich", ["mpich"]),
        ("pmich", ["mpich"]),
        ("hd5", []),
        ("opnempii", []),
        # Versions are suggested after an @ only.
        ("hdf5@", ["hdf5", "hdf5", "hdf5-io", "hdf5@1.12.1", "hdf5@1.14.3"]),
        ("hdf5@1.1", ["hdf5@1.12.1", "hdf5@1.14.3"]),
        ("hdf5@1.14", ["hdf5@1.14.3"]),
        ("+m", ["+mpi"]),
        ("", []),
        ("  ", []),
        ("%", []),
        ("nothing", []),
    ],
)
def test_best_matches_come_first(text: str, values: list[str]) -> None:
    """Equal names come first, then prefixes, words and parts; otherwise those one typo away."""
    assert [name.value for _, name in NAMES.like(text, [*SuggestionKind], 10)] == values


@given(st.text("abc", min_size=4, max_size=8), st.integers(0, 7), st.sampled_from("abcx"))
def test_typos(name: str, index: int, char: str) -> None:
    """A name is suggested for every text that is one typo away, and for no farther one."""
    index %= len(name)
    names = Suggestions([Suggestion(PACKAGE, name, 1)])
    start, end = name[:index], name[index + 1 :]
    replaced, inserted, deleted = start + char + end, start + char + name[index:], start + end
    swapped = start + end[:1] + name[index] + end[1:]
    for text in (replaced, inserted, deleted, swapped):
        if len(text) >= 4:
            assert [match.value for _, match in names.like(text, [PACKAGE], 1)] == [name]
    assert not is_one_typo(words(f"{name}xy"), words(name))


def test_names_of_a_frame() -> None:
    """Packages, stacks except root, compilers, targets, variants and versions."""
    specs = [
        a_spec("1", version="1.14.3", stacks=("e4s", "root"), variants=("+mpi",)),
        a_spec("2", version="1.12.1", stacks=("root",), variants=(), compiler="gcc@12.3.0"),
        a_spec("3", name="zlib", version="1.14.3", compiler=None, variants=(), stacks=("root",)),
    ]
    suggestions = [*names_of(frame_of(specs), "c0")]
    names = {(name.kind.name, name.value): name.count for name in suggestions}
    assert {name.value: name.newest for name in suggestions if name.newest} == {
        "hdf5": "1.14.3",
        "zlib": "1.14.3",
    }
    assert names == {
        ("PACKAGE", "hdf5"): 2,
        ("PACKAGE", "zlib"): 1,
        ("STACK", "e4s"): 1,
        ("COMPILER", "gcc@12.3.0"): 1,
        ("COMPILER", "gcc@13.2.0"): 1,
        ("VARIANT", "+mpi"): 1,
        ("TARGET", "x86_64_v3"): 3,
        ("TARGET", "x86_64"): 3,  # their family
        ("VERSION", "hdf5@1.14.3"): 1,
        ("VERSION", "hdf5@1.12.1"): 1,
        ("VERSION", "zlib@1.14.3"): 1,
    }
