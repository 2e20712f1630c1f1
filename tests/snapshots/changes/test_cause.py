"""Causes are called so that people know at once what changed, and programs for ever."""

import pytest

from snapshots.changes.cause_names import CauseKind, CauseName

LONG = " ".join(f"variant{number:02}=yes" for number in range(20))


@pytest.mark.parametrize(
    ("kind", "before", "after", "title"),
    [
        (CauseKind.VERSION, "1.2", "1.3", "a 1.2 → 1.3"),
        (CauseKind.RECIPE, None, None, "recipe of a changed"),
        (CauseKind.VARIANTS, "+x", "~x", "a +x → ~x"),
        (CauseKind.VARIANTS, None, "+x", "a now +x"),
        (CauseKind.VARIANTS, "+x", None, "a no longer +x"),
        (
            CauseKind.VARIANTS,
            LONG,
            "x=" + 100 * "y",
            f"a {LONG[:55]} … → x={58 * 'y'} …",
        ),
        (CauseKind.COMPILER, "gcc@1", "gcc@2", "compiler of a gcc@1 → gcc@2"),
        (CauseKind.COMPILER, None, "gcc@2", "compiler of a none → gcc@2"),
        (
            CauseKind.TARGET,
            "linux-rhel8-zen2",
            "linux-rhel8-zen4",
            "a linux-rhel8-zen2 → linux-rhel8-zen4",
        ),
        (CauseKind.DEPENDENCY_ADDED, None, "z", "a now depends on z"),
        (CauseKind.DEPENDENCY_REMOVED, "z", None, "a no longer depends on z"),
        (CauseKind.DEPENDENCY_ADDED, "z", "z", "a depends on z in another way"),
        (CauseKind.PROVIDER, "mpich", "openmpi", "a with openmpi in place of mpich"),
        (CauseKind.EXTERNAL, "12", None, "a 12 → ? (outside the cache)"),
        (CauseKind.EXTERNAL, None, None, "a changed (outside the cache)"),
        (CauseKind.FORMAT, "5", "6", "Spack's format of specs 5 → 6"),
        (CauseKind.UNKNOWN, None, None, "a changed, it is not known why"),
    ],
)
def test_titles(kind: CauseKind, before: str | None, after: str | None, title: str) -> None:
    """Each kind has words of its own; lists of variants are cut where a line ends."""
    assert CauseName(kind, "a", before, after).title == title


def test_keys() -> None:
    """No two names have the same key."""
    texts = (None, "1", "1|2", "1%7C2", "2")
    names = [
        CauseName(kind, package, before, after)
        for kind in CauseKind
        for package in ("a", "b")
        for before in texts
        for after in texts
    ]
    assert len({name.key for name in names}) == len(names)
    assert names[0].key == "version|a||"
