"""The order of revisions, their series, and the resolution of refs."""

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from snapshots.errors import AmbiguousRef, RevisionNotFound
from snapshots.history import History
from snapshots.models import RevisionInfo
from tests.snapshots.factories import a_revision, digest_of

LINES = (
    a_revision("develop", 1, "a"),
    a_revision("develop", 2, "b"),
    a_revision("develop", 9, "a"),
    a_revision("develop-2025-01-05", 0, "c"),
    a_revision("develop-2025-01-12", 7, "d"),
    a_revision("v0.21.2", 6, "e"),
    a_revision("v0.22.0", 4, "f"),
    a_revision("v0.22.0", 5, "g"),
    a_revision("e4s-24.11", 3, "g"),
)
HISTORY = History(LINES)

MANY = st.lists(
    st.builds(
        a_revision,
        st.sampled_from(["develop", "develop-2025-01-05", "develop-2025-01-12", "v0.21", "v0.22"]),
        st.integers(0, 4),
        st.sampled_from("abc"),
        st.integers(0, 9),
    ),
    max_size=12,
    unique_by=lambda line: (line.tag, line.published_at),
)


@given(MANY)
def test_equal_successive_rows_are_one_revision(lines: list[RevisionInfo]) -> None:
    """Successive rows of a tag with one content are one revision, the first."""
    history = History(lines)
    for tag in history.tags:
        revisions = list(reversed(history.of_tag(tag)))
        assert all(older.digest != newer.digest for older, newer in pairwise(revisions))
        every = sorted(
            (line for line in lines if line.tag == tag),
            key=lambda line: (line.taken_at, line.published_at),
        )
        changes = every[:1] + [b for a, b in pairwise(every) if a.digest != b.digest]
        assert revisions == changes


SHARED_LINES = (
    a_revision("v0.9", 0, "z", published=0),
    a_revision("develop", 1, "a", published=3),
    a_revision("v1.0", 2, "a", published=2),
    a_revision("develop-2025-01-12", 7, "a", published=4),
    a_revision("develop", 8, "b", published=5),
)


@pytest.mark.parametrize(
    ("lines", "ref", "line"),
    [
        (LINES, "develop", 2),
        (LINES, "develop~1", 1),
        (LINES, "develop~2", 0),
        (LINES, "develop@2025-01-07", 1),
        (LINES, "develop@2025-01-13~1", 0),
        (LINES, "develop@2025-01-06T00:00:00Z", 0),
        (LINES, "develop-2025-01-12~1", 3),
        (LINES, "v0.22.0~2", 5),
        (LINES, digest_of("b")[:6], 1),
        (LINES, digest_of("b")[:20].upper(), 1),
        (LINES, digest_of("b") + "~1", 0),
        (LINES, digest_of("a"), 2),
        (SHARED_LINES, "vX.Y.Z", 2),
        (SHARED_LINES, "vX.Y.Z~1", 0),
        (SHARED_LINES, "vX.Y.Z@2025-01-06", 0),
        (SHARED_LINES, "vX.Y.Z@2 days ago", 0),
        (SHARED_LINES, "develop-DATE", 3),
        (SHARED_LINES, "develop-DATE@2025-02-01", 3),
        (SHARED_LINES, "develop@1 week ago", 1),
        (SHARED_LINES, "develop@1.day.ago", 1),
        (SHARED_LINES, "develop@0 days ago~1", 1),
        (SHARED_LINES, "v1.0", 2),
        (SHARED_LINES, "develop@2025-01-06", 1),
        (SHARED_LINES, "v1.0~1", 0),
        (SHARED_LINES, digest_of("a"), 3),
        (SHARED_LINES, digest_of("a")[:12] + "~0", 3),
    ],
)
def test_resolve(lines: Sequence[RevisionInfo], ref: str, line: int) -> None:
    """A ref with a tag names a revision of it; a digest alone, the newest one."""
    assert History(lines).resolve(ref) == lines[line]


def test_tags_take_precedence_over_digests() -> None:
    """The name of a tag takes precedence over a digest with the same prefix."""
    line = a_revision(digest_of("b")[:8], 1, "z")
    assert History([*LINES, line]).resolve(digest_of("b")[:8]) == line


@pytest.mark.parametrize(
    ("ref", "reason"),
    [
        ("develpo", "there is no tag develpo; nearest: develop"),
        ("v0.22", "there is no tag v0.22; nearest: v0.22.0"),
        ("zzz", "there is no tag zzz"),
        ("3", "there is no tag 3"),
        (
            "develop@2025-01-05",
            "the first of develop is of 2025-01-06; nearest: develop@2025-01-06",
        ),
        (
            "develop@2 years ago",
            "the first of develop is of 2025-01-06; nearest: develop@2025-01-06",
        ),
        ("develop-DAT", "there is no tag develop-DAT; nearest: develop-DATE"),
        ("develop~3", "only 2 revisions precede develop in its series; nearest: develop~2"),
        (
            "develop-2025-01-12~5",
            "only 1 revision precedes develop-2025-01-12 in its series; "
            "nearest: develop-2025-01-12~1",
        ),
        ("e4s-24.11~1", "e4s-24.11 is the first of its series; nearest: e4s-24.11"),
        (
            digest_of("b")[:4] + "00",
            f"no digest has this prefix; nearest: {digest_of('b')[:12]}",
        ),
    ],
)
def test_unknown_refs_name_the_nearest(ref: str, reason: str) -> None:
    """The error states the reason and the nearest refs, which exist."""
    with pytest.raises(RevisionNotFound) as caught:
        HISTORY.resolve(ref)
    assert str(caught.value).startswith(f"no revision '{ref}': {reason}")
    assert caught.value.ref == ref
    for nearest in caught.value.nearest:
        assert HISTORY.resolve(nearest)


@given(MANY, MANY)
def test_a_ref_always_means_its_revision(
    rows: list[RevisionInfo], later: list[RevisionInfo]
) -> None:
    """Later rows change no meaning, in any order of time.

    A ref leads to the revision with its tag and content that includes its time.
    """
    at_once = {(row.tag, row.taken_at): row for row in (*later, *rows)}
    before = History(row for row in at_once.values() if row in rows)
    history = History(at_once.values())
    for revision in before.revisions:
        resolved = history.resolve(revision.ref)
        assert resolved in history.revisions
        assert (resolved.tag, resolved.digest) == (revision.tag, revision.digest)
        assert resolved.taken_at <= revision.taken_at
        assert history.at(revision.tag, revision.taken_at) == resolved
    for revision in history.revisions:
        assert history.resolve(revision.ref) == revision


A_B_A = [
    a_revision("develop", 1, "a"),
    a_revision("develop", 8, "b"),
    a_revision("develop", 15, "a"),
]
"""A state that returns."""


def test_a_state_that_returns() -> None:
    """Each revision has a ref; the digest alone means the newest, and the others are listed."""
    history = History([*A_B_A, a_revision("develop-2025-01-08", 8, "a")])
    dated = history.of_tag("develop-2025-01-08")[0]
    for revision in (*A_B_A, dated):
        assert history.resolve(revision.ref) == revision
    assert history.resolve(f"{A_B_A[2].ref}~1") == A_B_A[1]
    digest = A_B_A[0].digest
    assert history.resolve(digest) == history.resolve(digest[:12]) == A_B_A[2]
    assert history.also_published_as(digest) == [dated, A_B_A[0]]
    assert not history.also_published_as("develop")
    assert not history.also_published_as(A_B_A[0].ref)
    assert history.others_of(dated) == [A_B_A[2], A_B_A[0]]


@pytest.mark.parametrize("kept", [[A_B_A[0]], [A_B_A[1]]])
def test_a_removed_revision_is_not_another_one(kept: list[RevisionInfo]) -> None:
    """Its ref leads to no other state of the tag, not even one with the same content.

    The error says that it was removed, and names what is there.
    """
    gone = A_B_A[2]
    with pytest.raises(RevisionNotFound, match="was removed or pruned") as caught:
        History(kept).resolve(gone.ref)
    assert caught.value.nearest == (kept[0].ref,)


def test_ambiguous_digest() -> None:
    """A prefix of several digests is refused, and they are listed."""
    digests = ["abcdef" + "0" * 58, "abcdef" + "1" * 58, "abcde0" + "1" * 58]
    lines = [
        replace(a_revision("develop", number), digest=digest)
        for number, digest in enumerate(digests)
    ]
    history = History(lines)
    with pytest.raises(AmbiguousRef) as caught:
        history.resolve("ABCDEF")
    assert caught.value.candidates == tuple(digests[:2])
    assert str(caught.value) == "'ABCDEF' begins 2 digests: abcdef000000, abcdef111111"
    assert history.resolve("abcdef0") == lines[0]
    assert history.resolve("abcde0") == lines[2]


@given(MANY, MANY)
def test_added_and_removed_rows(rows: list[RevisionInfo], others: list[RevisionInfo]) -> None:
    """The history after additions and removals is that of the remaining rows."""
    every = [*rows, *others]
    extended, keys = History(rows).with_rows(others), {row.ref for row in others}
    reduced = extended.without_rows(keys)
    remaining = [row for row in every if row.ref not in keys]
    for history, expected in [(extended, History(every)), (reduced, History(remaining))]:
        assert history.revisions == expected.revisions
        assert history.by_ref.keys() == expected.by_ref.keys()
        assert history.pairs == expected.pairs


def test_order_of_series() -> None:
    """develop, releases and dated snapshots newest first, then others; each has its revisions."""
    dated = ["develop-2025-01-12", "develop-2025-01-05"]
    assert HISTORY.tags == ["develop", "v0.22.0", "v0.21.2", *dated, "e4s-24.11"]
    assert HISTORY.series_names == ["develop", "vX.Y.Z", "develop-DATE", "e4s-24.11"]
    releases = [LINES[7], LINES[6], LINES[5]]
    assert list(HISTORY.of_series("vX.Y.Z")) == releases
    assert not HISTORY.of_series("v0.22.0")
    assert History().series_names == []


@pytest.mark.parametrize(
    ("tags", "main"),
    [
        (["e4s", "develop"], "develop"),
        (["v0.1", "v0.2", "e4s"], "vX.Y.Z"),
        (["develop-2025-01-05", "v0.1", "develop-2025-01-12"], "develop-DATE"),
        (["tools", "e4s"], "e4s"),
        ([], None),
    ],
)
def test_main_series(tags: list[str], main: str | None) -> None:
    """It is develop, or else the series with most revisions, whichever was published last."""
    history = History(a_revision(tag, number) for number, tag in enumerate(tags))
    assert history.main_series == main
    latest = history.latest
    assert latest is None if main is None else latest == history.of_series(main)[0]


@given(MANY)
def test_neighbours_agree_with_previous(lines: list[RevisionInfo]) -> None:
    """Each revision is in one series once, between those of ``previous`` and ``next``."""
    history = History(lines)
    every = [both for name in history.series_names for both in history.neighbours(name)]
    assert {both.head for both in every} == set(history.revisions)
    assert len(every) == len(history.revisions)
    assert all(both.base == history.previous(both.head) for both in every)
    assert all(history.next(both.base) == both.head for both in every if both.base is not None)
    pairs = {both.pair for both in every if both.pair.base != both.pair.head}
    assert set(history.pairs) == pairs
    assert len(history.pairs) == len(pairs)
