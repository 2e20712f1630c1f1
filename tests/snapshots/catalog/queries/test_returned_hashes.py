"""Hashes that were in an earlier revision, by the stored history."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.history_queries import missing_pairs
from snapshots.catalog.library import Library
from snapshots.changes.reasons import REASONS, SpecChangeReason
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


def paired(label: str, **facts: str) -> Spec:
    """Return a spec of one package, with a version for each letter."""
    return a_spec(label, version=f"1.{ord(label)}", **facts)


def forget_changes(catalog: Catalog) -> Catalog:
    """Convert the catalog to an older form, without the tables of the history."""
    forget(catalog, *TABLES)
    older = reopened(catalog)
    assert not older.changes.counts
    return older


def test_incomplete_history(catalog: Catalog) -> None:
    """It is not known which hashes returned, until all changes are stored."""
    *_, base, head = publish(catalog, ["a", "b", "a", "b", "c", "abd"])
    older = forget_changes(catalog)
    library = Library(older)
    assert returned(library, base, head) == set()
    older.fill(missing_pairs(older, older.history))
    assert returned(library, base, head) == hashes("ab")


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
