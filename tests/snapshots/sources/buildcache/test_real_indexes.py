"""Real indexes say the same whatever version of the database they are written in."""

import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from snapshots.contents import Snapshot
from snapshots.models import Spec
from tests.snapshots.sources.buildcache.folders import put_indexes
from tests.snapshots.sources.buildcache.readings import snapshots

DATA = Path(os.environ.get("CACHELOG_TEST_DATA", "does-not-exist"))
PLACES = ("index/database-v8.json", "spack-queries/index.json", "spack-history/*/*/index.json")
INDEXES = sorted(str(file.relative_to(DATA)) for place in PLACES for file in DATA.glob(place))

pytestmark = pytest.mark.skipif(not INDEXES, reason="CACHELOG_TEST_DATA names no folder of data")


class Written(NamedTuple):
    """An index of version 8, the same of version 9, and the new hashes by the old ones."""

    old: Path
    new: Path
    hashes: Mapping[str, str]


@pytest.fixture(scope="module", params=INDEXES)
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Written:
    """Return a real index with what a Spack of specs of format 6 makes of it."""
    folder = tmp_path_factory.mktemp("index")
    old, new, hashes = DATA / request.param, folder / "new.json", folder / "hashes.json"
    subprocess.run([sys.executable, DATA / "rehash.py", old, new, hashes], check=True)
    return Written(old, new, json.loads(hashes.read_bytes()))


def all_specs(snapshot: Snapshot) -> dict[str, Spec]:
    """Return the specs of a snapshot and those outside the cache, by their hashes."""
    content = snapshot.content
    return {spec.hash: spec for spec in (*content.specs(), *content.outside.specs)}


def renamed(spec: Spec, hashes: Mapping[str, str]) -> Spec:
    """Return a spec with other hashes, its own and those of its dependencies."""
    edges = [replace(edge, hash=hashes[edge.hash]) for edge in spec.dependencies or ()]
    return replace(spec, hash=hashes[spec.hash], dependencies=tuple(sorted(edges)))


def provided(specs: Mapping[str, Spec]) -> dict[str, tuple[str, ...]]:
    """Return the virtual packages that each spec provides to others."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for spec in specs.values():
        for edge in spec.dependencies or ():
            found[edge.hash].update(edge.virtuals)
    return {digest: tuple(sorted(virtuals)) for digest, virtuals in found.items()}


def test_version_9_says_what_version_8_says(written: Written) -> None:
    """All facts of all specs are equal, but the hashes and what format 6 alone tells."""
    (old,), (new,) = snapshots(written.old, "develop"), snapshots(written.new, "develop")
    before, after = all_specs(old), all_specs(new)
    # Copies that differ in nothing but made-up hashes are one.
    assert set(after) == {written.hashes[digest] for digest in before}
    virtuals = provided(before)
    for digest, spec in before.items():
        expected = renamed(spec, written.hashes)
        if expected.hash != digest:
            expected = replace(expected, provided_virtuals=virtuals.get(digest, ()), spec_format=6)
        assert after[expected.hash] == expected
    told = [spec for spec in after.values() if spec.provided_virtuals is not None]
    assert told
    assert all(spec.spec_format == 6 for spec in told)


def test_both_versions_of_one_cache(written: Written, tmp_path: Path) -> None:
    """A cache with an index of each has the specs of both, each with all its facts."""
    put_indexes(tmp_path, {8: written.old.read_bytes(), 9: written.new.read_bytes()})
    (both,) = snapshots(tmp_path, "develop")
    expected: dict[str, Spec] = {}
    for file in (written.old, written.new):
        (alone,) = snapshots(file, "develop")
        expected |= all_specs(alone)
    assert all_specs(both) == expected
