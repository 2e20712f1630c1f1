"""The order of versions, and sets of versions as written after ``@``."""

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots.errors import ConstraintSyntaxError
from snapshots.spack.versions import parse_versions, version_key

COMMIT = "0123456789abcdef0123456789abcdef01234567"
RELEASES = st.lists(st.integers(0, 12), min_size=1, max_size=4).map(
    lambda parts: ".".join(map(str, parts))
)
STAGES = st.sampled_from(["", "", "alpha", "beta2", "rc1", "-rc3", "a", ".p1"])
NAMED = st.sampled_from(["develop", "main", "master", "1.develop", "xsdk-0.2.0", "20240722.0"])
VERSIONS = st.one_of(st.builds(str.__add__, RELEASES, STAGES), NAMED)


# Spack sorts 1.2 < 1.2.0 as two versions, and a pre-release before its release: 1.2rc1 is below the
# lower bound 1.2, and 1.3alpha1 is before 1.3, the upper bound of 1.2.
INCLUDES = {
    "1.2": (
        "1.2 1.2.0 1.2.9.3 1.2-custom 1.2.1rc1 1.3alpha1 git.0123abc=1.2.3",
        "1.20 1.3 1 1.2rc1 1.3.0alpha1",
    ),
    "1.2-0": ("1.2.0", ""),
    "1.1.1w": ("1.1.1w", "1.1.1x"),
    "=1.2": ("1.2", "1.2.0 1.2rc1"),
    "=1.2rc1": ("1.2rc1", ""),
    "1.2:": ("1.2 99 develop 1.2.0rc3", "1.1.9"),
    "1.2.0:": ("", "1.2.0rc3"),
    ":1.4": ("1.4 1.4.99 0.1 1.4rc1", "1.5 develop"),
    ":1.1": ("1.2rc1", "1.2.0rc1 1.2"),
    ":1.1.1w": ("1.1.1wa", "1.1.1x"),
    ":1.1z": ("", "1.1zA"),
    ":1.2": ("1.2.0rc1", ""),
    ":1.2.0rc3": ("1.2.0rc3", "1.2.0rc4 1.2.0 1.2.0.1"),
    "1.2:1.4": ("1.2 1.4.9 1.3.5-7", "1.5 1.1"),
    "1.2.7:1.4": ("", "1.2.5"),
    "1.4:1.4.0": ("", "1.4.2"),
    "1.3:1.2": ("", "1.3"),  # from 1.3 on, and before 1.3
    "1.2,1.4:1.6": ("1.2.3 1.5", "1.3"),
    "=1.2,:1": ("1.9", ""),
    ":1 , 3:": ("", "2.5"),
    ":": ("develop 0alpha1", ""),
    "develop": ("develop develop.1", "main 1.2"),
    "main:": ("develop", "master"),
    ":stable": ("2025.1", "nightly"),
    ":nightly": ("stable", ""),
    "20240722": ("20240722.0", ""),
    "git.main=1.14": ("git.main=1.14", "git.dev=1.14 git.main=1.15 1.14"),
    f"{COMMIT}=1.14": (f"git.{COMMIT}=1.14", ""),
}
"""Constraints, each with versions that it includes and versions that it does not include."""


@pytest.mark.parametrize("text", INCLUDES)
def test_includes(text: str) -> None:
    """A bound stands for every version that it is a prefix of; versions compare as in Spack."""
    included, excluded = (versions.split() for versions in INCLUDES[text])
    versions = parse_versions(text)
    assert [version for version in (*included, *excluded) if versions.includes(version)] == included


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
    """An invalid set of versions is refused with the reason and the position."""
    with pytest.raises(ConstraintSyntaxError) as caught:
        parse_versions(text)
    assert caught.value.reason.startswith(reason)
    assert caught.value.position == position


@given(VERSIONS, VERSIONS)
def test_a_version_is_the_overlap_of_its_two_half_open_ranges(bound: str, version: str) -> None:
    """``@V`` is the intersection of ``@V:`` and ``@:V``, whose union has all versions."""
    above = parse_versions(f"{bound}:").includes(version)
    below = parse_versions(f":{bound}").includes(version)
    assert above or below
    assert parse_versions(bound).includes(version) == (above and below)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("3:", ":3.1", True),
        ("4:", ":3.1", False),
        (":", "=1", True),
        ("=1.2", "1.2", True),
        ("=1.2", "=1-2", True),
        ("1,3", "2,3.1", True),
        ("git.main=1.2", "1.2", True),
        ("git.main=1.2", "=1.2", False),
        ("git.main=1.2", "git.main=1.2", True),
        ("git.main=1.2", "git.other=1.2", False),
    ],
)
def test_intersects(first: str, second: str, expected: bool) -> None:
    """Two sets intersect if some version is in both, in either order."""
    sets = parse_versions(first), parse_versions(second)
    assert sets[0].intersects(sets[1]) is sets[1].intersects(sets[0]) is expected


@given(st.lists(VERSIONS, min_size=2, max_size=4), VERSIONS)
def test_sets_that_include_one_version_intersect(bounds: list[str], version: str) -> None:
    """Two sets intersect if both include a version, for any bounds."""
    low, *_, high = bounds
    sets = [parse_versions(text) for text in (f"{low}:", f":{high}", f"={version}")]
    for first in sets:
        for second in sets:
            if first.includes(version) and second.includes(version):
                assert first.intersects(second)


LADDER = (
    "alpine xsdk 0.9 1.1.1 1.1.1v 1.1.1w 1.1.2 1.2alpha 1.2alpha1 1.2beta 1.2rc1 1.2rc2 1.2rc10 1.2"
    " 1.2.a 1.2.0rc1 1.2.0 1.2.1 1.9 1.10 6.1.2 18.1.8 18.1.40 2025.1 20240722.0"
    f" {'9' * 5_000} 1{'0' * 5_000} stable trunk head master main develop develop.1"
)
"""Versions from the oldest to the newest, no two of them equal."""


SEGMENTS = st.one_of(
    st.integers(0, 12).map(str),
    st.sampled_from(["a", "w", "rc", "alpha", "beta", "stable", "main", "develop", "custom"]),
)


SEGMENTED = st.lists(st.tuples(st.sampled_from(["", ".", "-", "_"]), SEGMENTS), min_size=1).map(
    lambda parts: "".join(separator + segment for separator, segment in parts)
)


def test_version_order() -> None:
    """Numbers compare as numbers, pre-releases sort before releases, branches sort last."""
    keys = list(map(version_key, LADDER.split()))
    assert all(older < newer for older, newer in pairwise(keys))


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
    """Separators and leading zeros have no meaning; a git version equals its stated one."""
    assert version_key(one) == version_key(other)


@given(st.lists(SEGMENTED, max_size=6), st.randoms())
def test_versions_have_a_total_order(versions: list[str], random: Random) -> None:
    """Any versions can be compared, and sort equally from any order."""
    keys = sorted(map(version_key, versions))
    assert sorted(map(version_key, random.sample(versions, len(versions)))) == keys
    assert all(before <= after for before, after in pairwise(keys))
