"""Texts for numbers, days, digests, names, the program and external input."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots import texts
from snapshots.sources.reports import Report


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 specs"), (1, "1 spec"), (2, "2 specs"), (58_000, "58,000 specs")]
)
def test_numbers_with_their_noun(count: int, text: str) -> None:
    """The noun of one is singular; thousands are separated."""
    assert texts.counted(count, "spec") == text


@pytest.mark.parametrize(
    ("num_names", "text"), [(0, ""), (2, "a, b"), (3, "a, b, c"), (1_004, "a, b, c and 1,001 more")]
)
def test_few_of_many_names(num_names: int, text: str) -> None:
    """The first names are listed, the others counted."""
    assert texts.few(["a", "b", "c", *"d" * num_names][:num_names], 3) == text


@pytest.mark.parametrize(
    ("whole", "short"),
    [
        ("1.14.3", "1.14.3"),
        ("git.develop=1.14", "git.develop=1.14"),
        (f"git.{'2b4cfcd' + 'a' * 33}=1.14.3", "git.2b4cfcd…=1.14.3"),
        (f"git.{'2b4cfcd' + 'a' * 33}", "git.2b4cfcd…"),
    ],
)
def test_a_commit_in_a_version_is_shortened(whole: str, short: str) -> None:
    """A commit is shortened to its usual prefix; other versions are unchanged."""
    assert texts.short_version(whole) == short


# -- external texts in messages


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("gcc@13 ü 日本", "gcc@13 ü 日本"),
        ("a\nb", r"a\x0ab"),
        ("\x1b[31m", r"\x1b[31m"),
        ("\u202etxt", r"\u202etxt"),
        ("a\u3164", r"a\u3164"),
        ("\U000e0041", r"\U000e0041"),
        ("\ud800", r"\ud800"),
    ],
)
def test_invisible_characters_are_escaped(text: str, shown: str) -> None:
    """Other characters are unchanged."""
    assert texts.visible(text) == shown


@given(st.text())
def test_visible_texts_are_plain(text: str) -> None:
    """The text has no characters that control a terminal, and can be encoded."""
    assert texts.is_plain(texts.visible(text))
    texts.visible(text).encode()


@given(st.text(min_size=1, max_size=300))
def test_quotes(text: str) -> None:
    """A quotation is short and plain, regardless of the text."""
    assert texts.is_plain(texts.quoted(text))
    assert len(texts.quoted(text)) <= 80 * 10 + 2


@given(st.text(max_size=50), st.integers(5, 60))
def test_shortened(text: str, longest: int) -> None:
    """A text that is too long keeps its beginning and its end."""
    short = texts.shortened(text, longest)
    assert len(short) <= max(longest, 0)
    assert short == text or (text.startswith(short[:1]) and "..." in short)


def test_warnings_are_plain() -> None:
    """External texts are escaped in them, and bounded."""
    report = Report()
    report.warn("meta.\x1b]0;title\x07 says " + "9" * 10_000)
    assert texts.is_plain(report.warnings[0])
    assert len(report.warnings[0]) <= 2_000


# -- prefixes of digests


A = "ab" * 32


@pytest.mark.parametrize(
    ("digests", "shown"),
    [
        ([A], [A]),
        ([A, "cd" * 32], ["ab" * 6, "cd" * 6]),
        ([A, A[:11] + "c" * 53], [A[:15], A[:11] + "cccc"]),
        (["c" * 64, "cd" * 32], ["c" * 12, "cd" * 6]),
    ],
)
def test_distinct_prefixes(digests: list[str], shown: list[str]) -> None:
    """Prefixes are in the order of the digests, and as long as needed to be distinct."""
    assert texts.distinct_prefixes(digests) == shown


# -- names that resemble an unknown one


@pytest.mark.parametrize(
    ("name", "names", "nearest"),
    [
        ("zlb", ["hdf5", "zlib", "zlib-ng", "zlib"], ["zlib", "zlib-ng"]),
        ("hdf", ["hdf5", "hdf4", "hdfeos", "hdf6"], ["hdf6", "hdf5", "hdf4"]),
        ("x" * 1_000, ["x" * 200], ["x" * 200]),
        ("HDF", ["hdf5", "HDF5", "zlib"], ["HDF5", "hdf5"]),
        ("zlib", ["openmpi"], []),
        ("zlib", [], []),
        ("v0.23", ["releases/v0.23", "releases/v0.22"], ["releases/v0.23"]),
        ("nope", ["developer-tools", "developer-tools-darwin", "node-js"], []),
        ("e4s", ["mesa", "less", "petsc"], []),
        ("e5s", ["e4s", "e4s-oneapi", "hep"], ["e4s"]),
        ("ml", ["html-tidy"], []),
        ("develop-2025-01-13", ["hep", "develop-2025-01-12"], ["develop-2025-01-12"]),
    ],
)
def test_nearest_names(name: str, names: list[str], nearest: list[str]) -> None:
    """At most three distinct names: similar ones, best first, then those that contain the name.

    Only the beginning of a long name counts.
    """
    assert texts.nearest_names(name, names) == nearest
    assert texts.nearest_names(name, names, most=1) == nearest[:1]


@pytest.mark.parametrize(
    ("name", "names", "hint"),
    [
        ("e5s", ["e4s", "hep"], "; nearest: e4s"),
        ("none", ["e4s", "hep"], "; there are: e4s, hep"),
        ("none", [*"abcdefg"], "; there are: a, b, c, d, e and 2 more"),
        ("none", [], ""),
    ],
)
def test_names_hint(name: str, names: list[str], hint: str) -> None:
    """Only names that resemble the name are called nearest."""
    assert texts.names_hint(name, names) == hint


@given(st.lists(st.integers(min_value=0, max_value=10**6), max_size=50))
def test_shares(counts: list[int]) -> None:
    """Each is within half a tenth of one per cent of its exact value; equal counts have one."""
    result = texts.shares(counts)
    assert [share == "0.0 %" for share in result] == [count == 0 for count in counts]
    assert len({*zip(counts, result, strict=True)}) == len({*counts})
    for share, count in zip(result, counts, strict=True):
        exact = 100 * count / (sum(counts) or 1)
        shown = float(share.removesuffix(" %").removeprefix("<"))
        assert abs(shown - exact) <= (0.1 if share in ("<0.1 %", "99.9 %") else 0.0501)
        assert (share == "100.0 %") == (0 < count == sum(counts))
