"""The variables of templates: the document's names, and what else sentences and tables take."""

from typing import Any

import pytest
from msgspec.structs import replace

from snapshots.notes import templates
from snapshots.notes.changelog import Only
from snapshots.notes.sentences import markdown
from snapshots.notes.templates import variables
from tests.snapshots.factories import a_revision, digest_of
from tests.snapshots.notes.stories import BASE, HEAD, told

LOG = told(BASE, HEAD)


@pytest.mark.parametrize(
    ("base", "head", "title"),
    [
        (("v1", 1), ("v2", 1), "v1 → v2"),
        (("develop", 0), ("develop", 7), "develop (2025-01-05) → develop (2025-01-12)"),
        (
            ("develop", 0, "a"),
            ("develop", 0, "b"),
            f"develop ({digest_of('a')[:12]}) → develop ({digest_of('b')[:12]})",
        ),
    ],
)
def test_titles_tell_the_revisions_apart(base: Any, head: Any, title: str) -> None:
    """By tag, else also by day, else by digest."""
    log = replace(LOG, base=a_revision(*base), head=a_revision(*head))
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


@pytest.mark.parametrize(
    ("name", "is_html"),
    [("a.html", True), ("A.HTM.jinja", True), ("a.xml.j2", True), ("a.md", False), ("html", False)],
)
def test_the_markup_of_a_template(name: str, *, is_html: bool) -> None:
    """It follows from the name without the endings of templates."""
    assert templates.is_html(name) is is_html
