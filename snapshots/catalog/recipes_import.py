"""Import of recipes: the commits of revisions in a repository, and the commits between them."""

from collections.abc import Sequence

import msgspec

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.recipes_tables import Source
from snapshots.models import RevisionInfo
from snapshots.recipes.commits import Recipes
from snapshots.recipes.repository import RecipesRepository, open_recipes
from snapshots.sources.settings import ReadSettings
from snapshots.texts import counted, short_digest


class ImportedRecipes(msgspec.Struct, frozen=True):
    """The result: the recipes of revisions, the number of commits that were read, and warnings."""

    recipes: dict[RevisionInfo, Recipes]
    num_commits: int
    warnings: tuple[str, ...] = ()


def import_recipes(
    catalog: Catalog,
    revisions: Sequence[RevisionInfo],
    location: str,
    *,
    settings: ReadSettings,
    commit: str | None = None,
    replace: bool = False,
) -> ImportedRecipes:
    """Find the recipes of revisions in the repository at a location, and store them.

    Revisions that already have recipes are skipped, except with ``replace``. ``commit`` is the
    commit of all revisions, as a hash or a ref; without it, refs and dates determine the commits.
    Raises SourceError and InvalidArgument for unreadable input before anything is stored, and
    CatalogError.
    """
    tables = catalog.recipes
    tables.refresh()
    missing = [revision for revision in revisions if replace or tables.of(revision) is None]
    if not missing:
        return ImportedRecipes({}, 0)
    warnings: list[str] = []
    with open_recipes(location, settings) as repository:
        found: dict[RevisionInfo, Recipes] = {}
        for revision in missing:
            recipes = repository.recipes_of(revision.tag, revision.taken_at, commit)
            if recipes is None:
                warnings.append(f"{revision.ref}: all commits of {repository.location} are newer")
            else:
                found[revision] = recipes
        if not found:
            return ImportedRecipes({}, 0, tuple(warnings))
        some = next(iter(found.values()))
        line, tips = _line_of(catalog, repository, some.source[0], warnings)
        source: Source = some.source[0], line
        found = {
            revision: msgspec.structs.replace(recipes, line=line)
            for revision, recipes in found.items()
        }
        new = {recipes.commit for recipes in found.values()}
        commits = repository.read(repository.unknown(tips, new, lambda: tables.graph(source)))
    tables.keep(found, {source: commits} if commits else {})
    return ImportedRecipes(found, len(commits), tuple(warnings))


def _line_of(
    catalog: Catalog, repository: RecipesRepository, name: str, warnings: list[str]
) -> tuple[int, set[str]]:
    """Return the number of a repository's history, and the commits of revisions in it.

    This is the newest history all of whose commits are in the repository, otherwise a new one, with
    a warning.
    """
    lines: dict[int, set[str]] = {}
    for recipes in catalog.recipes.all:
        if recipes.source[0] == name:
            lines.setdefault(recipes.line, set()).add(recipes.commit)
    lost: set[str] = set()
    for line in sorted(lines, reverse=True):
        if not (lost := lines[line] - repository.has(lines[line])):
            return line, lines[line]
    if lines:
        number = counted(len(lost), "commit")
        warnings.append(
            f"{repository.location} lacks {number} that revisions were made of, such as "
            f"{short_digest(min(lost))}: its history was rewritten, or it is a shallow clone; no "
            "commits are known between those revisions and the new ones"
        )
    return max(lines, default=-1) + 1, set()
