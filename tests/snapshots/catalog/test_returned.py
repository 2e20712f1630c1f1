"""Hashes that were in an earlier revision: looked for in as few contents as need be."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import pyarrow as pa
import pytest

from snapshots.catalog.catalog import Catalog
from snapshots.contents import Content, Snapshot
from snapshots.errors import CatalogError
from snapshots.models import RevisionInfo, Spec
from tests.snapshots.factories import SOURCE, a_snapshot, a_spec, day, digest_of, hash_of


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    """Return a catalog that is not there yet."""
    return Catalog(str(tmp_path / "catalog"))


def specs(labels: Iterable[str]) -> list[Spec]:
    """Return a spec for each letter, each of a package of its own."""
    return [a_spec(label, name=f"package-{label}") for label in labels]


def hashes(labels: Iterable[str]) -> frozenset[str]:
    """Return the hash of the spec of each letter."""
    return frozenset(map(hash_of, labels))


def publish(catalog: Catalog, states: Sequence[str], tag: str = "develop") -> list[RevisionInfo]:
    """Publish states, of a spec a letter, a day apart."""
    return [
        catalog.publish([a_snapshot(specs(state), tag, day(number))])[0].revision
        for number, state in enumerate(states)
    ]


def test_hashes_are_found_in_any_of_the_contents(catalog: Catalog) -> None:
    """Those that none of them has are not, and neither are those of other contents."""
    ab, cd, _ = publish(catalog, ["ab", "cd", "ef"])
    digests = [cd.digest, ab.digest]
    assert catalog.hashes_in(digests, hashes("adex")) == hashes("ad")
    assert catalog.hashes_in(digests, []) == frozenset()
    assert catalog.hashes_in([], hashes("a")) == frozenset()
    with pytest.raises(CatalogError, match="is missing"):
        catalog.hashes_in([digest_of("nope")], hashes("a"))


def test_an_empty_content_has_none(catalog: Catalog) -> None:
    """A state without specs is passed over."""
    empty, some = publish(catalog, ["", "a"])
    assert catalog.hashes_in([empty.digest, some.digest], hashes("ab")) == hashes("a")


def test_specs_outside_the_cache_were_not_in_it(catalog: Catalog) -> None:
    """An external compiler is no spec of the revision, though the content tells of it."""
    content = Content.of(specs("a"), outside=specs("b"))
    snapshot = Snapshot(tag="develop", content=content, source=SOURCE, taken_at=day(1))
    (made,) = catalog.publish([snapshot])
    assert catalog.hashes_in([made.revision.digest], hashes("ab")) == hashes("a")


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
