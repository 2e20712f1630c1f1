"""The order of versions, and sets of versions as ``@`` writes them."""

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots.errors import ConstraintSyntaxError
from snapshots.spack.versions import (
    parse_versions,
    remembered,
    version_key,
)

COMMIT = "0123456789abcdef0123456789abcdef01234567"
RELEASES = st.lists(st.integers(0, 12), min_size=1, max_size=4).map(
    lambda parts: ".".join(map(str, parts))
)
STAGES = st.sampled_from(["", "", "alpha", "beta2", "rc1", "-rc3", "a", ".p1"])
NAMED = st.sampled_from(["develop", "main", "master", "1.develop", "xsdk-0.2.0", "20240722.0"])
VERSIONS = st.one_of(st.builds(str.__add__, RELEASES, STAGES), NAMED)


@pytest.mark.parametrize(
    ("text", "version", "expected"),
    [
        ("1.2", "1.2", True),
        ("1.2", "1.2.0", True),
        ("1.2", "1.2.9.3", True),
        ("1.2", "1.2-custom", True),
        ("1.2", "1.2.1rc1", True),
        ("1.2", "1.20", False),
        ("1.2", "1.3", False),
        ("1.2", "1", False),
        ("1.2", "1.2rc1", False),  # older than 1.2, hence below the lower bound
        ("1.2", "1.3alpha1", True),  # no 1.2, but Spack takes all that is older than 1.3
        ("1.2", "1.3.0alpha1", False),  # 1.3 < 1.3.0: two versions in Spack's order
        ("1.2-0", "1.2.0", True),
        ("1.1.1w", "1.1.1w", True),
        ("1.1.1", "1.1.1w", True),
        ("1.1.1w", "1.1.1x", False),
        ("=1.2", "1.2", True),
        ("=1.2", "1.2.0", False),
        ("=1.2.3", "1.2-3", True),
        ("=1.2", "1.2rc1", False),
        ("=1.2rc1", "1.2rc1", True),
        ("1.2:", "1.2", True),
        ("1.2:", "99", True),
        ("1.2:", "develop", True),
        ("1.2:", "1.1.9", False),
        ("1.2.0:", "1.2.0rc3", False),
        ("1.2:", "1.2.0rc3", True),  # 1.2 < 1.2.0: two versions in Spack's order
        ("1.2.0alpha1:", "1.2.0", True),
        (":1.4", "1.4", True),
        (":1.4", "1.4.99", True),
        (":1.4", "0.1", True),
        (":1.4", "1.5", False),
        (":1.4", "develop", False),
        (":1.4", "1.4rc1", True),
        (":1.1", "1.2.0rc1", False),
        (":1.1", "1.2rc1", True),
        (":1.1", "1.2", False),
        (":1.2.0rc", "1.2.0rc", True),
        (":1.2.0rc", "1.2.0rc0", False),
        (":1.1.1w", "1.1.1wa", True),
        (":1.1.1w", "1.1.1x", False),
        (":1.1z", "1.1zA", False),
        ("1.3:1.2", "1.3", False),  # from 1.3 on, and before 1.3
        (":1.2", "1.2.0rc1", True),
        (":1.2.0rc3", "1.2.0rc3", True),
        (":1.2.0rc3", "1.2.0rc4", False),
        (":1.2.0rc3", "1.2.0", False),
        (":1.2.0rc3", "1.2.0.1", False),
        ("1.2:1.4", "1.2", True),
        ("1.2:1.4", "1.4.9", True),
        ("1.2:1.4", "1.3.5-7", True),
        ("1.2:1.4", "1.5", False),
        ("1.2:1.4", "1.1", False),
        ("1.2.7:1.4", "1.2.5", False),
        ("1.4.0:1.4", "1.4.2", True),
        ("1.4:1.4.0", "1.4.2", False),
        ("1.2,1.4:1.6", "1.2.3", True),
        ("1.2,1.4:1.6", "1.5", True),
        ("1.2,1.4:1.6", "1.3", False),
        ("=1.2,:1", "1.9", True),
        (":1 , 3:", "2.5", False),
        (":", "develop", True),
        (":", "0alpha1", True),
        ("develop", "develop", True),
        ("develop", "develop.1", True),
        ("develop", "main", False),
        ("develop", "1.2", False),
        ("main:", "develop", True),
        ("main:", "master", False),
        (":stable", "2025.1", True),
        (":stable", "nightly", False),
        (":nightly", "stable", True),
        ("nightly:", "trunk", True),
        ("1.2", "git.0123abc=1.2.3", True),
        ("=1.2.3", "git.0123abc=1.2.3", False),
        ("20240722", "20240722.0", True),
        ("git.main=1.14", "git.main=1.14", True),
        ("git.main=1.14", "git.dev=1.14", False),
        ("git.main=1.14", "git.main=1.15", False),
        ("git.main=1.14", "1.14", False),
        (f"{COMMIT}=1.14", f"git.{COMMIT}=1.14", True),
    ],
)
def test_includes(text: str, version: str, *, expected: bool) -> None:
    """A bound stands for what it is a prefix of, and all compare in Spack's version order."""
    assert parse_versions(text).includes(version) is expected


@pytest.mark.parametrize(
    ("text", "position", "reason"),
    [
        ("", 0, "unexpected end, a version is missing"),
        ("1.2,", 4, "unexpected end, a version is missing"),
        ("1.2,,3", 4, "unexpected ','"),
        ("=", 1, "unexpected end, a version is missing"),
        ("==1.2", 1, "unexpected '='"),
        ("1.2=3", 3, "unexpected '='"),
        ("1.2:=3", 4, "unexpected '='"),
        ("=1.2:1.4", 4, "'=' asks for one version, ':' for a range"),
        ("1:2:3", 3, "unexpected ':'"),
        ("1.2.", 3, "unexpected '.'"),
        ("1.2 1.3", 4, "unexpected '1'"),
        ("1.4:1.2", 0, "1.4:1.2 is an empty range"),
        ("1,3:1", 2, "3:1 is an empty range"),
        ("1.2:1.2rc1", 0, "1.2:1.2rc1 is an empty range"),
        ("_", 0, "'_' is not a version"),
        ("git.main", 0, "not supported: git versions that do not say which version"),
        ("1.2,git.v1.3=1.3", 4, "not supported: git versions in a list"),
        ("git.v1.3=1.3,1.2", 12, "unexpected ','"),
        ("1.2:git.v1", 4, "not supported: ranges of git versions"),
        (COMMIT, 0, "not supported: git versions that do not say which version"),
        ("1:" + "9" * 5000, 2, "a version has at most 255 characters"),
    ],
)
def test_refused(text: str, position: int, reason: str) -> None:
    """What is not a set of versions is refused, with the reason and the place."""
    with pytest.raises(ConstraintSyntaxError) as caught:
        parse_versions(text)
    assert caught.value.reason.startswith(reason)
    assert caught.value.position == position


@given(VERSIONS, VERSIONS)
def test_a_version_is_the_overlap_of_its_two_half_open_ranges(bound: str, version: str) -> None:
    """``@V`` is what both ``@V:`` and ``@:V`` have, and together they have all versions."""
    above = parse_versions(f"{bound}:").includes(version)
    below = parse_versions(f":{bound}").includes(version)
    assert above or below
    assert parse_versions(bound).includes(version) == (above and below)


@given(st.one_of(st.text(), st.text("0123456789.:,=abgit-_ ")))
def test_any_text_parses_or_is_refused(text: str) -> None:
    """No text ends in another error than ConstraintSyntaxError, with a place in the text."""
    error = refusal(text)
    if error is not None:
        assert 0 <= error.position <= len(text)


def refusal(text: str) -> ConstraintSyntaxError | None:
    """Return the error that the text is refused with, None where it is a set of versions."""
    try:
        parse_versions(text)
    except ConstraintSyntaxError as error:
        return error
    return None


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("3:", ":3.1", True),
        ("4:", ":3.1", False),
        ("3.1", "3.1.2", True),
        ("3.1", "3.2", False),
        (":", "=1", True),
        ("=1.2", "1.2", True),
        ("=1.2", "=1-2", True),
        ("=1.2", "=1.3", False),
        ("1,3", "2,3.1", True),
        ("1,3", "2,4", False),
        ("git.main=1.2", "1.2", True),
        ("git.main=1.2", "=1.2", False),
        ("git.main=1.2", "git.main=1.2", True),
        ("git.main=1.2", "git.other=1.2", False),
    ],
)
def test_what_two_sets_have_in_common(first: str, second: str, expected: bool) -> None:
    """Some version is in both, in either direction."""
    sets = parse_versions(first), parse_versions(second)
    assert sets[0].intersects(sets[1]) is sets[1].intersects(sets[0]) is expected


@given(st.lists(VERSIONS, min_size=2, max_size=4), VERSIONS)
def test_a_version_in_two_sets_is_in_common(bounds: list[str], version: str) -> None:
    """What is in both is something in common, whatever their bounds are."""
    low, *_, high = bounds
    sets = [parse_versions(it) for it in (f"{low}:", f":{high}", f"={version}")]
    for first in sets:
        for second in sets:
            if first.includes(version) and second.includes(version):
                assert first.intersects(second)


# -- what functions of texts remember


def test_usual_texts_are_remembered_and_few_long_ones() -> None:
    """Each is worked out once, as long as there are no more than there is room for."""
    asked: list[str] = []

    @remembered(1_000, longest=3)
    def reversed_text(text: str) -> str:
        """Return a text from its end."""
        asked.append(text)
        return text[::-1]

    usual = [f"{number:03}" for number in range(1_000)]
    long = [f"{number:04}" for number in range(1_000)]
    for text in (*usual, *usual, *long, *long, long[-1]):
        assert reversed_text(text) == text[::-1]
    assert asked == [*usual, *long, *long]
    assert reversed_text.__doc__ == "Return a text from its end."


LADDER = (
    "alpine",
    "xsdk",
    "0.9",
    "1.1.1",
    "1.1.1v",
    "1.1.1w",
    "1.1.2",
    "1.2alpha",
    "1.2alpha1",
    "1.2beta",
    "1.2rc1",
    "1.2rc2",
    "1.2rc10",
    "1.2",
    "1.2.a",
    "1.2.0rc1",
    "1.2.0",
    "1.2.1",
    "1.9",
    "1.10",
    "6.1.2",
    "18.1.8",
    "18.1.40",
    "2025.1",
    "20240722.0",
    "9" * 5_000,
    "1" + "0" * 5_000,
    "stable",
    "trunk",
    "head",
    "master",
    "main",
    "develop",
    "develop.1",
)
"""Versions from the oldest to the newest, no two of them equal."""


SEGMENTS = st.one_of(
    st.integers(0, 12).map(str),
    st.sampled_from(["a", "w", "rc", "alpha", "beta", "stable", "main", "develop", "custom"]),
)


SEGMENTED = st.lists(st.tuples(st.sampled_from(["", ".", "-", "_"]), SEGMENTS), min_size=1).map(
    lambda parts: "".join(separator + segment for separator, segment in parts)
)


@pytest.mark.parametrize("place", range(len(LADDER) - 1))
def test_each_step_of_the_ladder_rises(place: int) -> None:
    """Numbers compare as numbers, pre-releases and letters come before, branches above."""
    assert version_key(LADDER[place]) < version_key(LADDER[place + 1])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1.2.3", "1.2-3"),
        ("1.2.3", "1_2_3"),
        ("1.2rc1", "1.2-rc.1"),
        ("1.02", "1.2"),
        ("1.1.1w", "1.1.1-w"),
        ("git.0123abc=1.2", "1.2"),
        ("git.feature/x=develop", "develop"),
    ],
)
def test_equal_versions(one: str, other: str) -> None:
    """Separators and leading zeros say nothing; a git version is as old as what it stands for."""
    assert version_key(one) == version_key(other)


@given(st.lists(SEGMENTED, max_size=6), st.randoms())
def test_versions_have_a_total_order(versions: list[str], random: Random) -> None:
    """Any versions can be compared, and sort alike whatever their order was."""
    shuffled = sorted(versions, key=lambda _: random.random())
    keys = sorted(map(version_key, versions))
    assert sorted(map(version_key, shuffled)) == keys
    assert all(before <= after for before, after in pairwise(keys))
