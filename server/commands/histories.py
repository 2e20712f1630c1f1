"""``cachelog log``, ``causes``, ``recipes`` and ``blame``: history queries."""

import os
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import click

from server.terminal import console, parameters
from server.terminal.completion import complete_package, complete_ref
from server.terminal.parameters import Flag, Limit, Recipes, Series, Since, argument, option

if TYPE_CHECKING:
    from snapshots.catalog.catalog import Catalog
    from snapshots.catalog.recipes_import import ImportedRecipes
    from snapshots.models import RevisionInfo

# -- log


@parameters.catalog_command("log", has_document=True)
def log_command(
    subject: Annotated[str | None, argument("[PACKAGE|/HASH]", shell_complete=complete_package)],
    *,
    series: Series,
    tag: parameters.Tag,
    since: Since,
    limit: Limit,
    oneline: Flag,
    catalog: str,
) -> None:
    """Print what changed revision by revision, newest first.

    For a package or a hash, only the revisions that changed it are listed. A spec that was removed
    and added again is shown as returned, not as new.

    - subject: A package, or the hash of a spec after a slash; a prefix of the hash is enough. By
      default the entire series.
    - series: The series of revisions: develop, vX.Y.Z ... By default develop, else the series
      with the most revisions; for a hash, all series.
    - tag: List only the revisions of this tag.
    - limit: Print only the N newest entries.
    - oneline: One line per entry.
    """
    from server.terminal.catalogs import open_catalog
    from server.terminal.documents import print_answer
    from server.terminal.printing.histories import log_of
    from snapshots import refs

    if subject is not None:
        parameters.require_package_or_hash(subject)
    opened = open_catalog(catalog)
    opened.history.require_tag(tag)
    opened.history.require_series(series)
    if tag is not None and series not in (None, refs.series(tag)):
        raise click.UsageError(f"The tag {tag} is not in the series {series}.")
    series = series or (refs.series(tag) if tag is not None else None)
    if subject is not None and (tag or since) and console.prints_json():
        raise click.UsageError("--json of a package or hash has all entries: omit --tag, --since.")
    log = log_of(opened, subject, series, tag=tag, since=since, limit=limit)
    if oneline or console.prints_json() or console.prints_query():
        print_answer(opened, log.document, log.variables, log.short_lines())
    else:
        console.print_paged(log.lines())


# -- causes


@parameters.catalog_command("causes", has_document=True)
def causes_command(
    *,
    series: Series,
    since: Since,
    until: Annotated[datetime | None, option(metavar="TIME", type=parameters.TIME)],
    by: Annotated[
        tuple[str, ...],
        option(type=click.Choice(["package", "kind", "commit"]), multiple=True),
    ],
    limit: Limit,
    catalog: str,
) -> None:
    """Print what caused most replacements in a series over time.

    The causes of all its revisions are added up. Each spec that replaced another has one main
    cause, so the numbers add up.

    - series: The series: develop, vX.Y.Z ... By default develop, else the series with the most
      revisions.
    - until: Only revisions taken at this time or earlier.
    - by: Group causes by this (repeatable), by default by package. For a commit, only causes in
      packages whose recipes it changed count.
    - limit: Print only the first N. By default all are printed.
    """
    from server.terminal.catalogs import open_catalog
    from server.terminal.printing.histories import print_causes
    from snapshots.timelines.causes import SeriesCauseKey

    keys = list(map(SeriesCauseKey, dict.fromkeys(by or ["package"])))
    print_causes(open_catalog(catalog), series, keys, since, until, limit)


# -- recipes


def import_recipes(
    catalog: "Catalog",
    revisions: "Sequence[RevisionInfo]",
    location: str,
    commit: str | None = None,
) -> "ImportedRecipes":
    """Find the recipes of the revisions that have none, or set all to a commit."""
    from server.settings import settings_from
    from snapshots.catalog import recipes_import

    imported = recipes_import.import_recipes(
        catalog,
        revisions,
        location,
        settings=settings_from(os.environ).reading(),
        commit=commit,
        replace=commit is not None,
    )
    for warning in imported.warnings:
        console.note(f"warning: {warning}")
    return imported


@parameters.catalog_command("recipes", has_document=True)
def recipes_command(
    ref: Annotated[str, argument("REVISION", shell_complete=complete_ref)],
    *,
    recipes: Recipes,
    commit: Annotated[str | None, option(metavar="COMMIT-OR-REF")],
    catalog: str,
) -> None:
    """Print or set the recipe commit of a revision.

    Its specs were concretized with this commit of the recipe repository.

    With --commit, the stored commit of the revision is replaced. With --recipes alone, it is
    determined if none is stored.

    - ref: The revision: {REF}.
    - commit: The commit that its specs were concretized with. By default that of a ref with the
      name of the tag, or the last one before the time of the revision.
    """
    from server.terminal.catalogs import open_catalog
    from server.terminal.documents import print_answer
    from server.terminal.printing.comparisons import recipes_text
    from snapshots.refs import title

    opened = open_catalog(catalog)
    revision = opened.history.resolve(ref)
    known = opened.catalog.recipes.of(revision)
    location = recipes or (known.repository if known is not None else None)
    if commit is not None and location is None:
        raise click.UsageError("--commit names a commit of --recipes, which is missing.")
    if location is not None and (commit is not None or (recipes and known is None)):
        import_recipes(opened.catalog, [revision], location, commit)
        known = opened.catalog.recipes.of(revision)
    found = f"{recipes_text(known)} of {known.repository}" if known else "its recipes are unknown"
    print_answer(opened, "Recipes", {"ref": revision.ref}, [f"{title(revision)}: {found}"])


# -- blame


@parameters.catalog_command("blame", has_document=True)
def blame_command(
    package: Annotated[str, argument("PACKAGE", shell_complete=complete_package)],
    *,
    series: Series,
    limit: Annotated[int | None, parameters.limited(1)],
    catalog: str,
) -> None:
    """Print the commits that explain why a package was replaced.

    These are commits of the recipe repository, newest first.

    - package: The package. 'cachelog why BASE..HEAD /HASH' explains a single spec.
    - series: The series: develop, vX.Y.Z ... By default develop, else the series with the
      most revisions.
    - limit: Print only the N newest rebuilds. By default all are printed.
    """
    from server.terminal.catalogs import open_catalog
    from server.terminal.documents import print_answer
    from server.terminal.printing.histories import blame_lines

    parameters.require_package_or_hash(package)
    opened = open_catalog(catalog)
    series = opened.series_or_main(series)
    variables = {"series": series, "package": package, "first": limit}
    print_answer(opened, "Blame", variables, blame_lines(opened, package, series, limit))
