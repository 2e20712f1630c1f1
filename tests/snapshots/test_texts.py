"""How numbers, days, digests, names and texts from outside are put into words."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots.errors import SourceError
from snapshots.sources.reports import Report
from snapshots.texts import (
    counted,
    day,
    distinct_prefixes,
    few,
    is_plain,
    nearest_hint,
    nearest_names,
    quoted,
    shares,
    short_pair,
    short_version,
    shortened,
    single_value,
    visible,
)
from tests.snapshots.factories import digest_of

MOMENT = datetime(2025, 1, 20, 23, 59, tzinfo=UTC)


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 specs"), (1, "1 spec"), (2, "2 specs"), (58_000, "58,000 specs")]
)
def test_numbers_with_their_noun(count: int, text: str) -> None:
    """One is singular; thousands are parted."""
    assert counted(count, "spec") == text


@pytest.mark.parametrize(
    ("num_names", "text"), [(0, ""), (2, "a, b"), (3, "a, b, c"), (1_004, "a, b, c and 1,001 more")]
)
def test_few_of_many_names(num_names: int, text: str) -> None:
    """The first are listed, the others counted."""
    assert few(["a", "b", "c", *"d" * num_names][:num_names], 3) == text


@pytest.mark.parametrize(
    ("fact", "text"), [(True, "yes"), (False, "no"), (1, "1"), (None, "None"), ("a", "a")]
)
def test_single_values(fact: object, text: str) -> None:
    """What is so or not is yes or no."""
    assert single_value(fact) == text


def test_days_and_pairs() -> None:
    """A day is its date alone, and a pair as much of two digests as people need."""
    digest = digest_of("a")
    assert day(MOMENT) == "2025-01-20"
    assert short_pair(digest, digest[::-1]) == f"{digest[:12]}..{digest[:-13:-1]}"


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
    """To as much as tells it from others; what is not a commit stands as it is."""
    assert short_version(whole) == short


# -- texts from outside in messages


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
def test_what_is_not_seen_is_written_out(text: str, shown: str) -> None:
    """The rest stays as it is."""
    assert visible(text) == shown


@given(st.text())
def test_visible_texts_are_plain(text: str) -> None:
    """Nothing that acts on a terminal is left, and it can be encoded."""
    assert is_plain(visible(text))
    visible(text).encode()


@given(st.text(min_size=1, max_size=300))
def test_quotes(text: str) -> None:
    """A quote is short and plain, however long and odd the text is."""
    assert is_plain(quoted(text))
    assert len(quoted(text)) <= 80 * 10 + 2


@given(st.text(max_size=50), st.integers(5, 60))
def test_shortened(text: str, longest: int) -> None:
    """A text that is too long keeps its beginning and its end."""
    short = shortened(text, longest)
    assert len(short) <= max(longest, 0)
    assert short == text or (text.startswith(short[:1]) and "..." in short)


def test_errors_and_warnings_are_plain() -> None:
    """What an input says does not reach the terminal as it is, be it in a place or in a reason."""
    error = SourceError("a\x1b[2J", "b\nforged: line", key="c\u202e" + "d" * 1_000)
    assert is_plain(str(error))
    assert len(str(error)) < 700
    report = Report()
    report.warn("meta.\x1b]0;title\x07 says " + "9" * 10_000)
    assert is_plain(report.warnings[0])
    assert len(report.warnings[0]) <= 2_000


# -- how much of digests people are shown


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
def test_several_that_begin_alike(digests: list[str], shown: list[str]) -> None:
    """They are shown in their order, and as far as it takes to tell one from another."""
    assert distinct_prefixes(digests) == shown


# -- the names that resemble one that nothing has


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


@given(st.lists(st.integers(min_value=0, max_value=10**6), max_size=50))
def test_shares_add_up(counts: list[int]) -> None:
    """To all of it, each no more than a tenth of one per cent from what it is."""
    found = shares(counts)
    assert [it == "0.0 %" for it in found] == [count == 0 for count in counts]
    tenths = [0 if it == "<0.1 %" else round(10 * float(it.removesuffix(" %"))) for it in found]
    assert sum(tenths) == (1_000 if any(counts) else 0)
    for tenth, count in zip(tenths, counts, strict=True):
        assert abs(tenth - 1_000 * count / (sum(counts) or 1)) <= 1


def test_shares_of_equal_parts() -> None:
    """The first get what is missing."""
    assert shares([1, 1, 1]) == ["33.4 %", "33.3 %", "33.3 %"]
    assert shares([99_999, 1]) == ["100.0 %", "<0.1 %"]
    assert shares([]) == []
