"""Pairs of small contents, and their release notes."""

from collections.abc import Iterable, Sequence
from functools import partial

from msgspec.structs import replace

from snapshots.changes.scope import ComparisonFilter, Scope, scope_of
from snapshots.contents import Content
from snapshots.models import RevisionInfo, Spec
from snapshots.notes.changelog import Changelog, changelog
from snapshots.notes.formats import NotesFormat
from snapshots.notes.templates import render
from snapshots.recipes.commits import Between, Links, Recipes, RecipesOrigin
from snapshots.recipes.effects import Attribution, RecipesChange
from snapshots.spack.names import ROOT_STACK
from tests.snapshots.changes.graphs import explained
from tests.snapshots.factories import a_revision, a_spec

OLD = ("old", "root")
BASE = [
    a_spec("1", name="abinit", version="9.10", stacks=OLD),
    a_spec("2", name="boost", version="1.85.0"),
    a_spec("3", name="boost", version="1.84.0"),
    a_spec("4", name="cmake", version="3.29.0"),
    a_spec("5", name="doxygen", version="1.10.0"),
    a_spec("6", name="doxygen", version="1.9.0"),
    a_spec("7", name="eigen", version="3.4.0"),
    a_spec("8", name="fftw", version="3.3.10"),
    a_spec("9", name="gdb", version="14.2"),
    a_spec("17", name="hdf5", version="1.14.5"),
    a_spec("18", name="hypre", version="2.32.0"),
    a_spec("19", name="hypre", version="2.32.0"),
    a_spec("20", name="hypre", version="2.32.0"),
]
HEAD = [
    a_spec("2", name="boost", version="1.85.0"),
    a_spec("10", name="boost", version="1.86.0"),
    a_spec("11", name="cmake", version="3.28.0"),
    a_spec("5", name="doxygen", version="1.10.0"),
    a_spec("12", name="doxygen", version="1.8.0"),
    a_spec("13", name="eigen", version="3.4.0"),
    a_spec("8", name="fftw", version="3.3.10", target="m1", stacks=("e4s", "hep", "root")),
    a_spec("9", name="gdb", version="14.2"),
    a_spec("17", name="hdf5", version="1.14.5"),
    a_spec("21", name="hdf5", version="1.14.5"),
    a_spec("18", name="hypre", version="2.32.0"),
    a_spec("14", name="lib10", version="2", stacks=("hep", "root")),
    a_spec("15", name="lib2", version="1.0", stacks=("hep", "root")),
    a_spec("16", name="lib2", version="develop", stacks=("hep", "root")),
]
"""Changes of every kind that notes report, from a source that does not list dependencies."""


def revision(
    tag: str, taken: int, specs: Sequence[Spec], *, synthetic: bool = False
) -> RevisionInfo:
    """Return the catalog's record of a content."""
    content = Content.of(specs)
    line = a_revision(tag, taken)
    return replace(
        line,
        digest=content.digest,
        num_packages=len(content.packages),
        num_specs=len(content),
        num_stacks=len(content.stacks - {ROOT_STACK}),
        total_size=content.total_size(),
        source=replace(line.source, synthetic=synthetic),
    )


def log_between(
    base: Sequence[Spec],
    head: Sequence[Spec],
    outside: Iterable[Spec] = (),
    *,
    only: ComparisonFilter | None = None,
    synthetic: bool = False,
    commits: Between | None = None,
    links: Links | None = None,
) -> Changelog:
    """Return the changelog from v0.21.0 to v0.22.0 with these contents and commits."""
    explanation = explained(base, head, outside)
    recipes = RecipesChange(
        base=Recipes("/packages", "a" * 40, RecipesOrigin.DATE),
        head=Recipes("/packages", "b" * 40, RecipesOrigin.DATE),
        attribution=None if commits is None else Attribution(explanation, commits),
        why_unknown="not available" if commits is None else None,
        links=links or Links(),
    )
    sides = explanation.base.frame, explanation.head.frame
    scope: Scope | None = None if only is None else scope_of(only, sides, None)
    return changelog(
        revision("v0.21.0", 0, base),
        revision("v0.22.0", 30, head, synthetic=synthetic),
        explanation,
        scope,
        recipes=recipes,
    )


as_markdown = partial(render, format_=NotesFormat.MARKDOWN)
as_html = partial(render, format_=NotesFormat.HTML)
