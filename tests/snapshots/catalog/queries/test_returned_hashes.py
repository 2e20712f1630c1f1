"""Hashes that were in an earlier revision: as few contents as possible are read."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from snapshots.catalog import history_queries as catalog_returned
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.history_queries import fill, missing_pairs
from snapshots.catalog.library import Library
from snapshots.changes.reasons import REASONS, SpecChangeReason
from snapshots.contents import Content
from snapshots.errors import CatalogError
from snapshots.models import RevisionInfo, Spec
from tests.expensive import examples
from tests.snapshots.catalog.expected_histories import TABLES, forget
from tests.snapshots.factories import a_snapshot, a_spec, day, hash_of
from tests.snapshots.templates import reopened


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    """Return a catalog that does not exist yet."""
    return Catalog(str(tmp_path / "catalog"))


def specs(labels: Iterable[str]) -> list[Spec]:
    """Return one spec per letter, each of a separate package."""
    return [a_spec(label, name=f"package-{label}") for label in labels]


def hashes(labels: Iterable[str]) -> frozenset[str]:
    """Return the hash of the spec of each letter."""
    return frozenset(map(hash_of, labels))


def publish(catalog: Catalog, states: Sequence[str], tag: str = "develop") -> list[RevisionInfo]:
    """Publish one state per day, with one spec per letter."""
    return [
        catalog.publish([a_snapshot(specs(state), tag, day(number))])[0].revision
        for number, state in enumerate(states)
    ]


def test_few_contents_are_read(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    """Newer contents first, each once, only hashes in the cache, until all are found."""
    publish(catalog, ["a", "b"])
    content = Content.of(specs("x"), outside=specs("y"))
    catalog.publish([replace(a_snapshot([], taken_at=day(2)), content=content)])
    for number, state in enumerate(["c", "d", "bc", "bcy"], 3):
        catalog.publish([a_snapshot(specs(state), "develop", day(number))])
    a, b, outside, c, base, head, later = catalog.history.of_series("develop")[::-1]
    older = forget_changes(catalog)
    read = mock.Mock(side_effect=older.hashes)
    monkeypatch.setattr(older, "hashes", read)
    library = Library(older)
    assert returned(library, base, head) == hashes("bc")
    assert read.mock_calls == [mock.call(revision.digest) for revision in (c, outside, b)]
    assert returned(library, base, later) == hashes("bc")
    assert read.mock_calls[3:] == [mock.call(a.digest)]


def paired(label: str, **facts: str) -> Spec:
    """Return a spec of one package, with a version for each letter."""
    return a_spec(label, version=f"1.{ord(label)}", **facts)


def forget_changes(catalog: Catalog) -> Catalog:
    """Convert the catalog to an older form, without the tables of the history."""
    forget(catalog, *TABLES)
    older = reopened(catalog)
    assert not older.changes.counts
    return older


def test_stored_changes_cover_the_entire_history(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No content is read, however long the series is."""
    monkeypatch.setattr(catalog_returned, "MAX_CONTENTS", 0)
    *_, base, head = publish(catalog, ["a", "b", "a", "b", "c", "abd"])
    library = Library(catalog)
    library.explain(base, head)
    monkeypatch.setattr(Catalog, "reader", None)
    assert returned(library, base, head) == hashes("ab")


def test_newest_contents_are_read_without_stored_changes(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer is computed again once all changes are stored."""
    monkeypatch.setattr(catalog_returned, "MAX_CONTENTS", 2)
    a, b, _, _, base, head = publish(catalog, ["a", "b", "a", "b", "c", "abd"])
    earlier = Library(catalog).history_queries.earlier_contents(catalog.history, base, head)
    assert earlier.digests == (b.digest, a.digest)  # each once, and not that of base
    monkeypatch.setattr(catalog_returned, "MAX_CONTENTS", 1)
    older = forget_changes(catalog)
    library = Library(older)
    assert returned(library, base, head) == hashes("b")
    fill(older, missing_pairs(older, older.history))
    assert returned(library, base, head) == hashes("ab")


def test_contents_are_read_if_changes_are_damaged(catalog: Catalog) -> None:
    """The answer is the same."""
    *_, base, head = publish(catalog, ["a", "b", "ac"])
    for file in (Path(catalog.location) / "comparisons").glob("*.parquet"):
        file.write_bytes(file.read_bytes()[::-1])
    assert returned(Library(catalog), base, head) == hashes("a")


def returned(library: Library, base: RevisionInfo, head: RevisionInfo) -> set[str]:
    """Return the hashes whose reason is RETURNED."""
    mask = library.find_returned(base, head)
    frame = library.frames.get(head.digest)
    assert mask.shape == (len(frame),)
    explanation = library.explain(base, head)
    changes = explanation.comparison.specs
    codes = explanation.reasons(changes, mask).tolist()
    hashes_returned = {
        change.hash
        for change, code in zip(changes, codes, strict=True)
        if REASONS[code] is SpecChangeReason.RETURNED
    }
    assert hashes_returned == {frame.hashes.at(row) for row in mask.nonzero()[0].tolist()}
    return hashes_returned


@given(states=st.lists(st.text("abcde", max_size=3), min_size=3, max_size=7), data=st.data())
@examples(15, in_suite=4)
def test_returned_hashes_agree_with_the_contents(states: list[str], data: st.DataObject) -> None:
    """They are those of head that base lacks and an earlier revision has."""
    with TemporaryDirectory() as folder:
        catalog = Catalog(folder)
        catalog.publish(
            a_snapshot(specs(sorted({*state})), "develop", day(number))
            for number, state in enumerate(states)
        )
        revisions = catalog.history.of_series("develop")[::-1]
        catalog.publish([a_snapshot(specs("abcde"), "v1.0", day(-1))])  # which is another series
        numbers = st.integers(0, len(revisions) - 1)
        base, head = data.draw(numbers), data.draw(numbers)
        # Equal successive states are one revision.
        contents = [labels for labels, _ in groupby(map(set[str], states))]
        before = set[str]().union(*contents[: min(base, head)])
        actual = returned(Library(catalog), revisions[base], revisions[head])
        assert actual == hashes(before & contents[head] - contents[base])


def test_counterparts_take_precedence(catalog: Catalog) -> None:
    """The reason of a spec that replaced another is REPLACES or REBUILT."""
    for number, spec in enumerate([paired("a"), paired("b"), paired("a")]):
        catalog.publish([a_snapshot([spec], "develop", day(number))])
    library, resolve = Library(catalog), catalog.history.resolve
    assert returned(library, resolve("develop~1"), resolve("develop")) == set()
    other = paired("b", target="zen4", stacks=("hep",))  # type: ignore[arg-type]
    catalog.publish([a_snapshot([other], "develop", day(4))])
    catalog.publish([a_snapshot([paired("a")], "develop", day(5))])
    assert returned(library, resolve("develop"), catalog.history.resolve("develop")) == set()


def test_answers_are_cached(catalog: Catalog) -> None:
    """Later revisions do not affect them; a revision that is added before head does."""
    publish(catalog, ["a", "b", "cd"])
    library = Library(catalog)
    base, head = (catalog.history.resolve(ref) for ref in ("develop~1", "develop"))
    assert returned(library, base, head) == set()
    num_bytes = library.returned.num_bytes
    assert num_bytes > 0
    catalog.publish([a_snapshot(specs("xy"), "develop", day(7))])
    assert returned(library, base, head) == set()
    assert (library.returned.num_cached, library.returned.num_bytes) == (1, num_bytes)
    early = catalog.publish([a_snapshot(specs("cz"), "develop", day(-1))])
    assert early[0].revision.taken_at < base.taken_at
    assert returned(library, base, head) == hashes("c")
    assert library.returned.num_cached == 2
    assert library.returned.num_bytes > 2 * num_bytes


def test_damaged_earlier_content(catalog: Catalog, tmp_path: Path) -> None:
    """It is an error if it has to be read."""
    first, _, _ = publish(catalog, ["a", "b", "ac"])
    (file,) = (tmp_path / "catalog" / "specs").glob(f"digest={first.digest}/*.parquet")
    file.write_bytes(file.read_bytes()[::-1])
    library = Library(forget_changes(catalog))
    base, head = (catalog.history.resolve(ref) for ref in ("develop~1", "develop"))
    with pytest.raises(CatalogError, match=f"the content {first.digest[:12]} is damaged"):
        library.find_returned(base, head)
    assert library.returned.num_cached == 0
