"""Hashes that were in an earlier revision: as few contents as possible are searched."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots.catalog import past as catalog_returned
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.library import Library
from snapshots.catalog.past import fill, missing_pairs
from snapshots.changes.reasons import REASONS, SpecChangeReason
from snapshots.contents import Content, Snapshot
from snapshots.errors import CatalogError
from snapshots.models import RevisionInfo, Spec
from tests.expensive import examples
from tests.snapshots.catalog.pasts import TABLES, forget
from tests.snapshots.factories import SOURCE, a_snapshot, a_spec, day, digest_of, hash_of


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    """Return a catalog that does not exist yet."""
    return Catalog(str(tmp_path / "catalog"))


def specs(labels: Iterable[str]) -> list[Spec]:
    """Return a spec for each letter, each of a separate package."""
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


def test_hashes_are_found_in_any_of_the_contents(catalog: Catalog) -> None:
    """Those of other contents are not, and neither are specs outside the cache."""
    ab, cd, _ = publish(catalog, ["ab", "cd", "ef"])
    digests = [cd.digest, ab.digest]
    assert catalog.hashes_in(digests, hashes("adex")) == hashes("ad")
    assert catalog.hashes_in(digests, []) == frozenset()
    assert catalog.hashes_in([], hashes("a")) == frozenset()
    with pytest.raises(CatalogError, match="is missing"):
        catalog.hashes_in([digest_of("nope")], hashes("a"))
    content = Content.of(specs("x"), outside=specs("y"))
    snapshot = Snapshot(tag="develop", content=content, source=SOURCE, taken_at=day(9))
    catalog.publish([a_snapshot([], taken_at=day(8)), snapshot])
    newest = [it.digest for it in catalog.history.revisions[:2]]
    assert catalog.hashes_in(newest, hashes("xy")) == hashes("x")


def test_no_more_is_read_than_it_takes(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    """Newer contents first, the hashes alone, until all are found."""
    revisions = publish(catalog, ["ab", "bc", "cd", "ax"])
    digests = [revision.digest for revision in reversed(revisions)]
    read: list[tuple[str, Sequence[str]]] = []
    original = Catalog._read

    def recording(self: Catalog, digest: str, columns: Sequence[str]) -> pa.Table:
        read.append((digest, columns))
        return original(self, digest, columns)

    monkeypatch.setattr(Catalog, "_read", recording)
    assert catalog.hashes_in(digests, hashes("xd")) == hashes("xd")
    assert read == [(digest, ["hash", "in_cache"]) for digest in digests[:2]]


def paired(label: str, **facts: str) -> Spec:
    """Return a spec of one package, with a version for each letter."""
    return a_spec(label, version=f"1.{ord(label)}", **facts)


def test_a_base_of_another_series_or_behind_head(catalog: Catalog) -> None:
    """All that stood before head counts then, of head's series alone."""
    _, c, bd = publish(catalog, ["ab", "c", "bd"])
    (release,) = publish(catalog, ["e"], "v1.0")
    library = Library(catalog)
    assert returned(library, release, bd) == hashes("b")
    assert returned(library, bd, release) == returned(library, bd, c) == set()


def forget_changes(catalog: Catalog) -> Catalog:
    """Convert the catalog to an older form, without the tables of the history."""
    forget(catalog, *TABLES)
    older = Catalog(catalog.location)
    older.refresh()
    assert not older.counts
    return older


def test_all_of_the_past_counts_where_its_changes_are_kept(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long the series is; no content of it is read."""
    monkeypatch.setattr(catalog_returned, "MAX_CONTENTS", 0)
    *_, base, head = publish(catalog, ["a", "b", "a", "b", "c", "abd"])
    library = Library(catalog)
    library.explain(base, head)
    monkeypatch.setattr(Catalog, "_read", None)
    assert returned(library, base, head) == hashes("ab")


def test_an_answer_of_the_newest_contents_goes_when_all_changes_are_kept(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is of less than is known by then, and the same library tells the whole."""
    monkeypatch.setattr(catalog_returned, "MAX_CONTENTS", 2)
    a, b, _, _, base, head = publish(catalog, ["a", "b", "a", "b", "c", "abd"])
    earlier = catalog_returned.earlier_contents(catalog, catalog.history, base, head)
    assert earlier.digests == (b.digest, a.digest)  # each once, and not that of base
    monkeypatch.setattr(catalog_returned, "MAX_CONTENTS", 1)
    older = forget_changes(catalog)
    library = Library(older)
    assert returned(library, base, head) == hashes("b")
    fill(older, missing_pairs(older, older.history))
    assert returned(library, base, head) == hashes("ab")


def test_contents_are_read_where_the_changes_are_damaged(catalog: Catalog) -> None:
    """What the tables of changes would say follows from the contents, too."""
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
def test_any_past_agrees_with_its_contents(states: list[str], data: st.DataObject) -> None:
    """Of any two states: those of head that base has not, and that stood before both."""
    with TemporaryDirectory() as folder:
        catalog = Catalog(folder)
        catalog.publish(
            a_snapshot(specs(sorted({*state})), "develop", day(number))
            for number, state in enumerate(states)
        )
        revisions = catalog.history.of_series("develop")[::-1]
        catalog.publish([a_snapshot(specs("abcde"), "v1.0", day(-1))])  # which is another series
        place = st.integers(0, len(revisions) - 1)
        base, head = data.draw(place), data.draw(place)
        held = [
            state for state, _ in groupby({*it} for it in states)
        ]  # the same twice is one revision
        before = set[str]().union(*held[: min(base, head)])
        actual = returned(Library(catalog), revisions[base], revisions[head])
        assert actual == hashes(before & held[head] - held[base])


def test_a_counterpart_comes_before_a_return(catalog: Catalog) -> None:
    """A spec that took another's place is REPLACES or REBUILT, wherever else it was before."""
    for number, spec in enumerate([paired("a"), paired("b"), paired("a")]):
        catalog.publish([a_snapshot([spec], "develop", day(number))])
    library, resolve = Library(catalog), catalog.history.resolve
    assert returned(library, resolve("develop~1"), resolve("develop")) == set()
    other = paired("b", target="zen4", stacks=("hep",))  # type: ignore[arg-type]
    catalog.publish([a_snapshot([other], "develop", day(4))])
    catalog.publish([a_snapshot([paired("a")], "develop", day(5))])
    assert returned(library, resolve("develop"), catalog.history.resolve("develop")) == set()


def test_answers_are_kept_until_the_past_changes(catalog: Catalog) -> None:
    """What comes later makes no difference; what is put in before head counts."""
    publish(catalog, ["a", "b", "cd"])
    library = Library(catalog)
    base, head = (catalog.history.resolve(ref) for ref in ("develop~1", "develop"))
    assert returned(library, base, head) == set()
    kept = library.returned.num_bytes
    assert kept > 0
    catalog.publish([a_snapshot(specs("xy"), "develop", day(7))])
    assert returned(library, base, head) == set()
    assert (library.returned.num_kept, library.returned.num_bytes) == (1, kept)
    early = catalog.publish([a_snapshot(specs("cz"), "develop", day(-1))])
    assert early[0].revision.taken_at < base.taken_at
    assert returned(library, base, head) == hashes("c")
    assert library.returned.num_kept == 2
    assert library.returned.num_bytes > 2 * kept


def test_a_damaged_content_of_the_past_is_named(catalog: Catalog, tmp_path: Path) -> None:
    """Nobody can tell what returned where a content that has to be read is damaged."""
    first, _, _ = publish(catalog, ["a", "b", "ac"])
    (file,) = (tmp_path / "catalog" / "specs").glob(f"digest={first.digest}/*.parquet")
    file.write_bytes(file.read_bytes()[::-1])
    library = Library(forget_changes(catalog))
    base, head = (catalog.history.resolve(ref) for ref in ("develop~1", "develop"))
    with pytest.raises(CatalogError, match=f"the content {first.digest[:12]} is damaged"):
        library.find_returned(base, head)
    assert library.returned.num_kept == 0
