"""The order of revisions, their series, and the finding of one by a ref."""

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from snapshots.errors import AmbiguousRef, RevisionNotFound
from snapshots.history import History, Neighbours, Pair
from snapshots.models import NOTHING, RevisionInfo
from tests.snapshots.factories import a_revision, day, digest_of

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


def test_revisions_are_newest_first() -> None:
    """Revisions are listed by the time they were taken, over all tags or of one."""
    days = [(line.taken_at - day(0)).days for line in HISTORY.revisions]
    assert days == [9, 7, 6, 5, 4, 3, 2, 1, 0]
    assert [line.digest for line in HISTORY.of_tag("develop")] == list(map(digest_of, "aba"))
    assert not HISTORY.of_tag("main")


def test_tags_are_in_natural_order() -> None:
    """develop, releases newest first, dated snapshots newest first, then the others."""
    assert HISTORY.tags == [
        "develop",
        "v0.22.0",
        "v0.21.2",
        "develop-2025-01-12",
        "develop-2025-01-05",
        "e4s-24.11",
    ]


def test_keys_find_their_revisions() -> None:
    """Every revision has a key of its own, also where a content comes back under one digest."""
    assert HISTORY.digests == sorted(map(digest_of, "abcdefg"))
    assert len(HISTORY.by_key) == len(LINES)
    assert all(HISTORY.by_key[line.key] is line for line in LINES)
    assert all(len(key) == 18 and int(key, 16) >= 0 for key in HISTORY.by_key)


@given(MANY, st.randoms())
def test_order_of_lines_does_not_matter(lines: list[RevisionInfo], random: Random) -> None:
    """The store may return its rows in any order: the history is the same."""
    shuffled = sorted(lines, key=lambda _: random.random())
    one, other = History(lines), History(shuffled)
    assert [line.key for line in one.revisions] == [line.key for line in other.revisions]
    assert one.tags == other.tags


@given(MANY)
def test_only_changes_count(lines: list[RevisionInfo]) -> None:
    """Lines of a tag with the same content one after the other are one revision, the first."""
    history = History(lines)
    for tag in history.tags:
        kept = list(reversed(history.of_tag(tag)))
        assert all(older.digest != newer.digest for older, newer in pairwise(kept))
        every = sorted(
            (line for line in lines if line.tag == tag),
            key=lambda line: (line.taken_at, line.published_at),
        )
        changes = every[:1] + [b for a, b in pairwise(every) if a.digest != b.digest]
        assert kept == changes


@given(MANY)
def test_what_stood_earlier_in_a_series(lines: list[RevisionInfo]) -> None:
    """All that ``previous`` leads to, the nearest first, also from a line that only confirms."""
    history = History(lines)
    for line in lines:
        earlier = []
        before = history.previous(line)
        while before is not None:
            earlier.append(before)
            before = history.previous(before)
        assert list(history.earlier(line)) == earlier
    assert History().earlier(lines[0] if lines else LINES[0]) == []


def test_series_goes_by_tag_then_by_time() -> None:
    """A release made later stands after its predecessor, however late that one was imported."""
    old, first, second = LINES[5:8]
    assert HISTORY.previous(first) == old
    assert HISTORY.next(first) == second
    assert HISTORY.next(second) is None
    assert HISTORY.previous(LINES[4]) == LINES[3]
    assert HISTORY.previous(LINES[8]) is None
    unknown = a_revision("develop", 3, "z")
    assert (HISTORY.previous(unknown), HISTORY.next(unknown)) == (None, None)


def test_at_a_moment() -> None:
    """The newest revision at or before a moment counts, and none does before the first."""
    assert HISTORY.at("develop", day(1)) == LINES[0]
    assert HISTORY.at("develop", day(8)) == LINES[1]
    assert HISTORY.at("develop", day(0)) is None
    assert HISTORY.at("main", day(8)) is None


@pytest.mark.parametrize(
    ("ref", "line"),
    [
        ("develop", 2),
        ("develop~0", 2),
        ("develop~1", 1),
        ("develop~2", 0),
        ("develop@2025-01-07", 1),
        ("develop@2025-01-13~1", 0),
        ("develop@2025-01-06", 0),
        ("develop@2025-01-06T00:00:00Z", 0),
        ("develop-2025-01-12~1", 3),
        ("v0.22.0~2", 5),
        (digest_of("b"), 1),
        (digest_of("b")[:6], 1),
        (digest_of("b")[:20].upper(), 1),
        (digest_of("b") + "~1", 0),
        (digest_of("a"), 0),
        (digest_of("g"), 8),
    ],
)
def test_resolve(ref: str, line: int) -> None:
    """A ref names one revision; a content that several have, the one published first."""
    assert HISTORY.resolve(ref) == LINES[line]


def test_a_tag_that_looks_like_a_digest_is_a_tag() -> None:
    """A tag's name counts before a digest that begins so."""
    line = a_revision(digest_of("b")[:8], 1, "z")
    assert History([*LINES, line]).resolve(digest_of("b")[:8]) == line


@pytest.mark.parametrize(
    ("ref", "message"),
    [
        ("develpo", "no revision 'develpo': there is no tag develpo; nearest: develop"),
        ("v0.22", "no revision 'v0.22': there is no tag v0.22; nearest: v0.22.0"),
        ("zzz", "no revision 'zzz': there is no tag zzz; nearest: develop, v0.22.0, v0.21.2"),
        ("3", "no revision '3': there is no tag 3; nearest: develop, v0.22.0, v0.21.2"),
        (
            "develop@2025-01-05",
            "no revision 'develop@2025-01-05': the first of develop is of 2025-01-06; "
            "nearest: develop@2025-01-06",
        ),
        (
            "develop~3",
            "no revision 'develop~3': only 2 revisions stand before develop in its series; "
            "nearest: develop~2",
        ),
        (
            "develop-2025-01-12~5",
            "no revision 'develop-2025-01-12~5': only 1 revision stands before "
            "develop-2025-01-12 in its series; nearest: develop-2025-01-12~1",
        ),
        (
            "e4s-24.11~1",
            "no revision 'e4s-24.11~1': e4s-24.11 is the first of its series; nearest: e4s-24.11",
        ),
        (
            digest_of("b")[:4] + "00",
            f"no revision '{digest_of('b')[:4]}00': no digest has this prefix; "
            f"nearest: {digest_of('b')[:12]}",
        ),
    ],
)
def test_unknown_refs_name_the_nearest(ref: str, message: str) -> None:
    """A ref that names nothing is answered with the reason and with refs that do."""
    with pytest.raises(RevisionNotFound) as caught:
        HISTORY.resolve(ref)
    assert str(caught.value).startswith(message)
    assert caught.value.ref == ref
    for known in caught.value.nearest:
        assert HISTORY.resolve(known)


def test_ambiguous_digest() -> None:
    """A prefix of several digests names none of them, and they are listed."""
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
def test_rows_that_come_and_go(rows: list[RevisionInfo], others: list[RevisionInfo]) -> None:
    """A history with more rows, or fewer, is that which is made of what is there then."""
    every = [*rows, *others]
    came, gone = History(rows).with_rows(others), {row.key for row in others}
    left = came.without_rows(gone)
    for found, expected in [(came, every), (left, [it for it in every if it.key not in gone])]:
        made = History(expected)
        assert found.revisions == made.revisions
        assert found.by_key.keys() == made.by_key.keys()
        assert found.pairs == made.pairs


def test_empty_history() -> None:
    """A catalog without revisions has no tags, and every ref is unknown in it."""
    history = History()
    assert (history.revisions, history.tags, history.digests) == ([], [], [])
    with pytest.raises(RevisionNotFound, match=r"there is no tag develop$"):
        history.resolve("develop")


def test_lines_that_no_longer_count_stay_reachable() -> None:
    """A state found to be older than was known hides a line, but not its key and its digest."""
    known, older = a_revision("develop", 5, "a"), a_revision("develop", 3, "a")
    older = replace(older, published_at=day(9))
    first = a_revision("develop", 1, "b")
    history = History([first, known, older])
    assert history.revisions == [older, first]
    assert history.by_key[known.key] == known
    assert history.resolve(known.digest) == known
    assert history.previous(known) == first
    assert history.resolve(f"{known.digest}~1") == first


SHARED = History(
    [
        a_revision("v0.9", 0, "z", published=0),
        a_revision("develop", 1, "a", published=3),
        a_revision("v1.0", 2, "a", published=2),
        a_revision("develop-2025-01-12", 7, "a", published=4),
        a_revision("develop", 8, "b", published=5),
    ]
)


@pytest.mark.parametrize(
    ("ref", "tag", "taken"),
    [
        ("v1.0", "v1.0", 2),
        ("develop~1", "develop", 1),
        ("develop@2025-01-06", "develop", 1),
        ("develop-2025-01-12", "develop-2025-01-12", 7),
        ("v1.0~1", "v0.9", 0),
        (digest_of("a"), "v1.0", 2),
        (digest_of("a")[:12] + "~1", "v0.9", 0),
    ],
)
def test_a_content_that_tags_share(ref: str, tag: str, taken: int) -> None:
    """A ref with a tag names that tag; a digest alone means the tag that had it published first.

    So the answer to a digest stays the same, however many tags share the content later.
    """
    found = SHARED.resolve(ref)
    assert (found.tag, found.taken_at) == (tag, day(taken))


def test_when_a_revision_was_last_confirmed() -> None:
    """A revision has been seen until its last row before another state."""
    rows = [a_revision("develop", *it) for it in ((1, "a"), (3, "a"), (4, "b"), (6, "a"))]
    history = History(rows)
    confirmed = {it.taken_at: history.confirmed_at(it) for it in history.revisions}
    assert confirmed == {day(1): day(3), day(4): day(4), day(6): day(6)}
    assert history.confirmed_at(rows[1]) == day(3)
    assert list(history.rows_of("develop")) == rows
    assert not history.rows_of("main")


def test_series_are_in_the_order_of_the_catalog() -> None:
    """develop, releases, dated snapshots, then the others; each lists its revisions."""
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
def test_the_series_that_is_meant_where_none_is_named(tags: list[str], main: str | None) -> None:
    """It is develop, else the one with most revisions, whatever was published last."""
    history = History(a_revision(tag, number) for number, tag in enumerate(tags))
    assert history.main_series == main
    latest = history.latest
    assert latest is None if main is None else latest == history.of_series(main)[0]


def test_neighbours_of_a_series() -> None:
    """The first of a series is a change from nothing, each other one from that before it."""
    first, second, third = LINES[:3]
    neighbours = HISTORY.neighbours("develop")
    assert neighbours == [
        Neighbours(None, first),
        Neighbours(first, second),
        Neighbours(second, third),
    ]
    a, b = first.digest, second.digest
    expected = [Pair(NOTHING, a), Pair(a, b), Pair(b, a)]
    assert [it.pair for it in neighbours] == expected
    assert HISTORY.neighbours("main") == []
    assert HISTORY.pairs_of("develop") == expected
    assert HISTORY.pairs_of("main") == []


def test_pairs_are_listed_once_and_newest_first() -> None:
    """Pairs that two series share are one; neighbours with one content are not pair."""
    lines = [
        a_revision("develop", 1, "a"),
        a_revision("develop", 2, "b"),
        a_revision("v0.1", 3, "a"),
        a_revision("v0.2", 4, "a"),
        a_revision("v0.3", 5, "b"),
        a_revision("main", 0, "c"),
        replace(a_revision("other", 6), digest=NOTHING),
    ]
    a, b, c = map(digest_of, "abc")
    assert History(lines).pairs == [Pair(a, b), Pair(NOTHING, a), Pair(NOTHING, c)]


@given(MANY)
def test_neighbours_agree_with_previous(lines: list[RevisionInfo]) -> None:
    """Each revision is in one series once, beside those of ``previous`` and ``next``."""
    history = History(lines)
    every = [both for name in history.series_names for both in history.neighbours(name)]
    assert {both.head for both in every} == set(history.revisions)
    assert len(every) == len(history.revisions)
    assert all(both.base == history.previous(both.head) for both in every)
    assert all(history.next(both.base) == both.head for both in every if both.base is not None)
    pairs = {both.pair for both in every if both.pair.base != both.pair.head}
    assert set(history.pairs) == pairs
    assert len(history.pairs) == len(pairs)
