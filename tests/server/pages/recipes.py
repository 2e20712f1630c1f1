"""Commits of the recipes for generated catalogs, stored without a repository."""

from collections.abc import Sequence
from datetime import timedelta
from hashlib import sha1

from snapshots.catalog.catalog import Catalog
from snapshots.models import RevisionInfo
from snapshots.recipes.commits import SWEEPING, Commit, Recipes, RecipesOrigin, SpackChange

REPOSITORY = "https://github.com/spack/spack-packages"
SPACK = SpackChange("a" * 40, "b" * 40)
_OTHERS = tuple(f"other-{number}" for number in range(SWEEPING))


def import_recipes(
    catalog: Catalog,
    packages: Sequence[str],
    subject: str = "{}: fix an argument of the build that no later release needs (#{})",
    *,
    repository: str = REPOSITORY,
    spack: SpackChange = SPACK,
) -> None:
    """Store for each revision a commit of each package, a sweeping one, and one of Spack.

    Each revision is built from a further commit of all packages on its own branch, which the next
    revision reverts. ``subject`` has placeholders for a name and a number.
    """
    commits: list[Commit] = []
    recipes: dict[RevisionInfo, Recipes] = {}
    for series in catalog.history.series_names:
        tip = ""
        for revision in reversed(catalog.history.of_series(series)):
            line = [*((name, (name,)) for name in packages), ("all", (*packages, *_OTHERS))]
            for name, changed_packages in [*line, ("Spack", ()), ("branch", tuple(packages))]:
                number = len(commits) + 1
                oid = sha1(f"{number}".encode()).hexdigest()  # noqa: S324 - as git has them
                commit = Commit(
                    oid,
                    (tip,) if tip else (),
                    revision.taken_at - timedelta(days=1),
                    subject.format(name, number),
                    tuple(sorted(changed_packages)),
                    spack=spack if name == "Spack" else None,
                )
                commits.append(commit)
                tip = tip if name == "branch" else oid
            recipes[revision] = Recipes(repository, commits[-1].oid, RecipesOrigin.DATE)
    catalog.recipes.keep(recipes, {next(iter(recipes.values())).source: commits})
