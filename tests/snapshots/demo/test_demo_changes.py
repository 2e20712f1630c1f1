"""How the made-up history changes: from week to week as the real cache does."""

from collections import Counter
from collections.abc import Callable
from itertools import pairwise

import pytest

from snapshots.contents import PackageContent, Snapshot
from snapshots.models import Spec
from snapshots.spack.versions import VersionKey, version_key


def by_hash(snapshot: Snapshot) -> dict[str, Spec]:
    """Return the specs of a revision by their hashes."""
    return {spec.hash: spec for spec in snapshot.content.specs()}


def newest(package: PackageContent) -> VersionKey:
    """Return the order of a package's newest version."""
    return max(version_key(spec.version) for spec in package.specs)


def versions(package: PackageContent) -> set[str]:
    """Return the versions of a package."""
    return {spec.version for spec in package.specs}


def hashes(package: PackageContent) -> set[str]:
    """Return the hashes of a package."""
    return {spec.hash for spec in package.specs}


PackageTest = Callable[[PackageContent, PackageContent], bool]
PACKAGE_CHANGES: dict[str, PackageTest] = {
    "unchanged": lambda old, new: old is new,
    "upgraded": lambda old, new: newest(new) > newest(old),
    "downgraded": lambda old, new: newest(new) < newest(old),
    "oldest dropped": lambda old, new: bool(hashes(new)) and hashes(new) < hashes(old),
    "wholly rebuilt": lambda old, new: (
        versions(old) == versions(new) and not hashes(old) & hashes(new)
    ),
    "partly rebuilt": lambda old, new: (
        versions(old) == versions(new)
        and len(old.specs) == len(new.specs)
        and 0 < len(hashes(old) & hashes(new)) < len(old.specs)
    ),
    "only moved": lambda old, new: old is not new and hashes(old) == hashes(new),
}


@pytest.mark.parametrize("kind", PACKAGE_CHANGES)
def test_packages_change_in_every_way_in_every_week(revisions: list[Snapshot], kind: str) -> None:
    """Each kind of change befalls some package that two neighbouring revisions share."""
    for before, after in pairwise(revisions):
        old, new = before.content.packages, after.content.packages
        if kind == "oldest dropped" and before is revisions[0]:
            continue  # nothing has been upgraded yet
        assert any(PACKAGE_CHANGES[kind](old[name], new[name]) for name in old.keys() & new.keys())


def test_packages_come_and_go_in_every_week(revisions: list[Snapshot]) -> None:
    """At least one goes and one comes that was never there, as names are never used twice."""
    known = set(revisions[0].content.packages)
    for before, after in pairwise(revisions):
        old, new = before.content.packages.keys(), after.content.packages.keys()
        assert new - known
        assert old - new or new & (known - old)
        known |= new


def test_what_is_lost_in_an_outage_comes_back(revisions: list[Snapshot]) -> None:
    """Many packages are gone for one week; what nothing below changed has the same hashes then."""
    weeks = [snapshot.content.packages for snapshot in revisions]
    returned = {
        name: bool(hashes(before[name]) & hashes(after[name]))
        for before, between, after in zip(weeks, weeks[1:], weeks[2:], strict=False)
        for name in (before.keys() & after.keys()) - between.keys()
    }
    assert len(returned) > 300 // 15
    assert 5 < sum(returned.values()) < len(returned)
    seen: set[str] = set()
    back: set[str] = set()
    for before, after in pairwise(weeks):
        seen |= before.keys()
        back |= (seen & after.keys()) - before.keys()
    assert back == returned.keys()


def test_stacks_appear_and_disappear(revisions: list[Snapshot]) -> None:
    """Now and then a stack opens or closes, and the specs of a closed one stay in the cache."""
    changes = Counter[str]()
    for before, after in pairwise(revisions):
        opened = after.content.stacks - before.content.stacks
        closed = before.content.stacks - after.content.stacks
        changes.update(opened=len(opened), closed=len(closed))
        old, new = by_hash(before), by_hash(after)
        for stack in closed:
            assert any(stack in old[key].stacks for key in old.keys() & new.keys())
    assert changes["opened"] >= 2
    assert changes["closed"] >= 2
