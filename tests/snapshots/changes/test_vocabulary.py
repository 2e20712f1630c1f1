"""Titles of causes, and phrases for counted reasons."""

import pytest

from snapshots.changes.causes import CauseName
from snapshots.changes.diff import SpecChangeKind
from snapshots.changes.documents import COMPILER_DEPENDENCIES, COMPILER_FACTS
from snapshots.changes.reasons import SpecChangeReason
from snapshots.changes.vocabulary import (
    cause_title,
    counted_reasons,
)
from snapshots.models import CauseKind

LONG = " ".join(f"variant{number:02}=yes" for number in range(20))


@pytest.mark.parametrize(
    ("kind", "before", "after", "title"),
    [
        (CauseKind.VERSION, "1.2", "1.3", "a 1.2 → 1.3"),
        (CauseKind.RECIPE, None, None, "recipe of a changed"),
        (CauseKind.VARIANTS, "+x", "~x", "a +x → ~x"),
        (CauseKind.VARIANTS, None, "+x", "a now +x"),
        (CauseKind.VARIANTS, "+x", None, "a no longer +x"),
        (CauseKind.VARIANTS, LONG, "x=" + 100 * "y", f"a {LONG[:55]} … → x={58 * 'y'} …"),
        (CauseKind.COMPILER, "gcc@1", "gcc@2", "compiler gcc@1 → gcc@2"),
        (CauseKind.COMPILER, None, "gcc@2", "compiler none → gcc@2"),
        (CauseKind.TARGET, "linux-a-b", "linux-a-c", "a linux-a-b → linux-a-c"),
        (CauseKind.DEPENDENCY_ADDED, None, "z", "a now depends on z"),
        (CauseKind.DEPENDENCY_REMOVED, "z", None, "a no longer depends on z"),
        (CauseKind.DEPENDENCY_ADDED, "z", "z", "a depends on z in another way"),
        (CauseKind.PROVIDER, "mpich", "openmpi", "a with openmpi in place of mpich"),
        (CauseKind.EXTERNAL, "12", None, "external a: 12 → ?"),
        (CauseKind.EXTERNAL, None, None, "a changed (outside the cache)"),
        (CauseKind.EXTERNAL, "/usr", "/opt", "external a: /usr → /opt"),
        (CauseKind.REPOSITORY, "builtin", "mine", "a comes from mine, before from builtin"),
        (CauseKind.FORMAT, "patches=a,b", "patches=b,a", "order of patches of a"),
        (CauseKind.FORMAT, 'x=["b"]', 'x="b"', 'a is written otherwise: x=["b"] → x="b"'),
        (CauseKind.UNKNOWN, None, None, "a changed for an unknown reason"),
    ],
)
def test_titles(kind: CauseKind, before: str | None, after: str | None, title: str) -> None:
    """Each kind has its own words; lists of variants are truncated to a line."""
    assert cause_title(CauseName(kind, "a", before, after)) == title


@pytest.mark.parametrize(
    ("before", "after", "title"),
    [
        ("5", "6", "Spack's format of specs 5 → 6"),
        (None, None, "another Spack hashed equal documents"),
        (COMPILER_FACTS, COMPILER_DEPENDENCIES, "compilers became dependencies"),
        (COMPILER_DEPENDENCIES, COMPILER_FACTS, "compilers are no longer dependencies"),
        (
            "target=skylake",
            "target=skylake features=abm",
            "target skylake is described otherwise (another archspec; features: abm)",
        ),
        (
            "without namespace",
            "with namespace",
            "specs are written otherwise: without namespace → with namespace",
        ),
    ],
)
def test_titles_of_formats(before: str | None, after: str | None, title: str) -> None:
    """What a writer does to all specs is said without a package."""
    assert cause_title(CauseName(CauseKind.FORMAT, None, before, after)) == title


def test_counted_reasons() -> None:
    """Only reasons of the kind of change are listed."""
    counts = {SpecChangeReason.FACTS: 2, SpecChangeReason.NEW_PACKAGE: 1}
    assert counted_reasons(SpecChangeKind.CHANGED, counts) == "2 with other facts"
    assert counted_reasons(SpecChangeKind.ADDED, counts) == "1 of a new package"
