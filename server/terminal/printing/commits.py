"""The commits of the recipes that explain causes, as lines of text and as facts for JSON."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from server.terminal.catalogs import OpenedCatalog
from server.terminal.printing import styles
from server.terminal.printing.layout import wrapped
from snapshots.arrays import Rows
from snapshots.catalog.library import Library
from snapshots.changes.causes import CauseCount
from snapshots.changes.reasons import SpecChangeReason
from snapshots.changes.vocabulary import cause_title
from snapshots.frames.frame import Frame
from snapshots.models import RevisionInfo, SideInfo
from snapshots.notes.sections import CommitEntry
from snapshots.recipes.commits import Recipes, RecipesOrigin
from snapshots.recipes.effects import CauseCommit, CommitLevel, RecipesChange
from snapshots.refs import title
from snapshots.side_comparisons import SideComparison
from snapshots.texts import counted, short_digest, short_hash

if TYPE_CHECKING:
    from snapshots.catalog.recipes_import import ImportedRecipes  # its module reads repositories

PAIRED = {SpecChangeReason.REBUILT: "rebuilt", SpecChangeReason.REPLACES: "replaced"}
"""The reasons of added specs that have a counterpart, and the words for both."""

_NO_COMMIT = "no commit of the recipes explains it"
_MACHINE = "outside the cache: the machine changed"
_LEVELS = {
    CommitLevel.OWN_RECIPE: "",
    CommitLevel.DEPENDENT: "perhaps by a dependent: ",
    CommitLevel.STACK: "perhaps by a stack: ",
    CommitLevel.SPACK: "perhaps by another Spack: ",
}
_WAYS = {
    RecipesOrigin.GIVEN: "as specified",
    RecipesOrigin.REF: "by its ref",
    RecipesOrigin.DATE: "by date",
}


CatalogComparison = SideComparison[SideInfo, Library]
"""A comparison of sides that a command reads from a catalog."""


def recipes_line(comparison: CatalogComparison) -> str | None:
    """Return the commits of the recipes of the two sides; None if they are unknown."""
    if comparison.recipes.attribution is None:
        return None
    sides = comparison.recipes.base, comparison.recipes.head
    texts = [_recipes_text(recipes) for recipes in sides if recipes is not None]
    return f"recipes: {' -> '.join(texts)}"


def commit_lines(
    recipes: RecipesChange, number: int, indent: str, *, all_: bool = False
) -> Iterator[str]:
    """Yield the first commit that explains a cause, or all; or a remark that none does."""
    attribution = recipes.attribution
    if attribution is None:
        return
    commits = attribution.of_cause(number)
    is_external = attribution.is_external(number)
    if is_external:
        yield f"{indent}{styles.quiet(_MACHINE)}"
    if not commits and not is_external:
        yield f"{indent}{styles.quiet(_NO_COMMIT)}"
    for commit in commits if all_ else commits[:1]:
        more = "" if all_ or len(commits) == 1 else f" and {len(commits) - 1:,} more"
        text = f"{_commit_text(commit)}{more}"
        for line in wrapped(f"{indent}{text}", indent + "  "):
            yield styles.quiet(line)
        if all_:
            entry = CommitEntry.of(commit, recipes.links)
            urls = entry.pull_request_url or entry.url, entry.spack and entry.spack.url
            yield from (styles.quiet(f"{indent}  {url}") for url in urls if url)


def _commit_text(explaining: CauseCommit) -> str:
    commit = explaining.commit
    spack = commit.spack if explaining.level is CommitLevel.SPACK else None
    change = ""
    if spack is not None and spack.before and spack.after:
        change = f" (Spack {short_digest(spack.before)} -> {short_digest(spack.after)})"
    taken_back = "dropped: " if explaining.taken_back else ""
    sweeping = f" (touches {len(commit.packages):,} packages)" if commit.is_sweeping else ""
    return (
        f"{_LEVELS[explaining.level]}{taken_back}{short_digest(commit.oid)} {commit.subject}"
        f"{change}{sweeping}"
    )


def _recipes_text(recipes: Recipes) -> str:
    return f"{short_digest(recipes.commit)} ({_WAYS[recipes.found_by]})"


# -- what was rebuilt with a revision


def _rebuilds(comparison: CatalogComparison, rows: Rows | None) -> list[CauseCount]:
    """Return the main causes of the rebuilds of some rows of head, or of all; most first."""
    return [count for count in comparison.explanation.causes.counted(rows) if count.num_specs]


def rebuild_lines(comparison: CatalogComparison, rows: Rows | None) -> Iterator[str]:
    """Yield the causes of rebuilds, each with all commits that explain it."""
    rebuilds, recipes = _rebuilds(comparison, rows), comparison.recipes
    if not rebuilds:
        return
    if recipes.attribution is None:
        yield from wrapped(f"    no commits: {recipes.why_unknown}", " " * 6)
        return
    for rebuild in rebuilds:
        title = cause_title(comparison.explanation.causes.name_of(rebuild.number))
        text = f"    {counted(rebuild.num_specs, 'spec')}: {styles.name(title)}"
        yield from wrapped(text, " " * 6)
        yield from commit_lines(recipes, rebuild.number, " " * 6, all_=True)


# -- the recipes of revisions


def recipes_lines(revision: RevisionInfo, recipes: Recipes | None) -> list[str]:
    """Return the commit of the recipes that a revision was built from."""
    if recipes is None:
        return [f"{title(revision)}: its recipes are unknown"]
    return [f"{title(revision)}: {_recipes_text(recipes)} of {recipes.repository}"]


def imported_text(imported: "ImportedRecipes") -> str:
    """Return the number of revisions whose recipes were found, in words."""
    revisions = counted(len(imported.recipes), "revision")
    by_date = sum(recipes.found_by is RecipesOrigin.DATE for recipes in imported.recipes.values())
    dated = f", {by_date:,} of them by date" if by_date else ""
    commits = counted(imported.num_commits, "commit")
    return f"recipes of {revisions} found{dated}; {commits} read"


# -- the commits of a spec or a package, through time


class BlameEntry(msgspec.Struct, frozen=True):
    """A revision in which a package, or the spec of a hash, was rebuilt."""

    revision: RevisionInfo
    hash: str | None
    comparison: CatalogComparison
    rebuild: CauseCount


def blamed(
    opened: OpenedCatalog, subject: str, series: str, limit: int | None
) -> Iterator[BlameEntry]:
    """Yield the rebuilds of a package, or of a spec and its predecessors, newest first.

    Raises what ``OpenedCatalog.hash_history`` and ``package_timeline`` raise.
    """
    is_hash = subject.startswith("/")
    rebuilds = _of_hash if is_hash else _of_package
    return islice(rebuilds(opened, subject, series), limit)


def _of_package(opened: OpenedCatalog, name: str, series: str) -> Iterator[BlameEntry]:
    for entry in opened.package_timeline(name, series).entries:
        if entry.base is None or not any(reason in entry.reasons for reason in PAIRED):
            continue
        comparison = SideComparison(entry.base, entry.head, opened.library)
        rows = package_rows(comparison.whole.head, name)
        for rebuild in _rebuilds(comparison, rows):
            yield BlameEntry(entry.head, None, comparison, rebuild)


def package_rows(frame: Frame, name: str) -> Rows:
    """Return the rows of a package; an empty array if the frame lacks it."""
    own = frame.rows_of(name) or slice(0, 0)
    return np.arange(own.start, own.stop, dtype=np.int32)


def _of_hash(opened: OpenedCatalog, text: str, series: str) -> Iterator[BlameEntry]:
    history = opened.complete().history
    subject: str | None = opened.hash_history(text).hash
    seen: set[str] = set()
    while subject is not None and subject not in seen:
        seen.add(subject)
        of_hash, subject = opened.hash_history(subject), None
        spans = [span for span in of_hash.spans if span.series == series]
        for span in reversed(spans):
            base = history.previous(span.first)
            if base is None:
                continue
            comparison = SideComparison(base, span.first, opened.library)
            why = comparison.explanation
            row = why.head.frame.hashes.find(of_hash.hash)
            if row is None or (before := int(why.counterparts.base_of[row])) < 0:
                continue
            (rebuild,) = _rebuilds(comparison, np.array([row], np.int32))
            yield BlameEntry(span.first, of_hash.hash, comparison, rebuild)
            subject = why.base.frame.hashes.at(before)


def blame_lines(entries: Iterable[BlameEntry], series: str) -> Iterator[str]:
    """Yield the rebuilds with their commits, or a remark that there are none in the series."""
    is_empty = True
    for entry in entries:
        is_empty = False
        subject = "" if entry.hash is None else f" {styles.digest(short_hash(entry.hash))}"
        number, recipes = entry.rebuild.number, entry.comparison.recipes
        cause = cause_title(entry.comparison.explanation.causes.name_of(number))
        yield f"{styles.name(title(entry.revision))}{subject}: {cause}"
        if recipes.why_unknown is not None:
            yield f"  {styles.quiet(recipes.why_unknown)}"
        yield from commit_lines(recipes, number, "  ", all_=True)
    if is_empty:
        yield f"no spec of it replaced another in {series}"
