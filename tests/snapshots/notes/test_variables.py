"""The variables of templates: the document's names, and what else sentences and tables take."""

import pytest
from msgspec.structs import replace

from snapshots.models import RevisionInfo
from snapshots.notes.changelog import Only
from snapshots.notes.sentences import markdown
from snapshots.notes.templates import variables
from tests.snapshots.factories import a_revision, digest_of
from tests.snapshots.notes.stories import BASE, HEAD, told

LOG = told(BASE, HEAD)


@pytest.mark.parametrize(
    ("base", "head", "title"),
    [
        (a_revision("v1", 1), a_revision("v2", 1), "v1 → v2"),
        (
            a_revision("develop", 0),
            a_revision("develop", 7),
            "develop (2025-01-05) → develop (2025-01-12)",
        ),
        (
            a_revision("develop", 0, "a"),
            a_revision("develop", 0, "b"),
            f"develop ({digest_of('a')[:12]}) → develop ({digest_of('b')[:12]})",
        ),
    ],
)
def test_titles_tell_the_revisions_apart(
    base: RevisionInfo, head: RevisionInfo, title: str
) -> None:
    """By tag, else also by day, else by digest."""
    log = replace(LOG, base=base, head=head)
    assert markdown(variables(log)["title"]) == f"Spack build cache: {title}"


def test_titles_tell_the_scope() -> None:
    """In the words of its options."""
    only = Only(package="hdf5", stack="e4s", matching="hdf5+mpi")
    assert markdown(variables(replace(LOG, only=only))["title"]) == (
        "Spack build cache: v0.21.0 → v0.22.0, stack `e4s`, package `hdf5`, "
        "specs that match `hdf5+mpi`"
    )


def test_all_sections_are_there() -> None:
    """So that a template may name one that has nothing."""
    found = variables(told(BASE, BASE))
    assert set(found["packages"]) > {"added", "removed", "fewer_builds"}
    assert not any(found["packages"].values())
    assert found["stacks"] == {"added": [], "removed": []}
    assert (found["is_changed"], found["synthetic"]) == (False, False)
    assert variables(LOG)["is_changed"]


def test_causes_are_parted_into_known_and_unknown() -> None:
    """Groups of those that are known, and how many specs have another."""
    found = variables(LOG)
    num_shown = sum(map(len, found["largest_causes"]))
    assert (num_shown, found["smaller_causes"], found["num_unexplained"]) == (3, [], 1)
