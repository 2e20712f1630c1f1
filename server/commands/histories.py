"""``cachelog log`` and ``history fill``: what became of a series, a package or a hash."""

from datetime import datetime

import click

from server.terminal.completion import complete_package_or_hash, complete_tag
from server.terminal.console import (
    note,
    progress,
    say_blocks,
    say_json,
    say_lines,
    say_pages,
    width,
)
from server.terminal.parameters import (
    HintingGroup,
    Time,
    catalog_option,
    jobs_option,
    json_option,
    series_option,
)

# -- log


@click.command("log")
@click.argument(
    "subject",
    metavar="[PACKAGE|/HASH]",
    required=False,
    shell_complete=complete_package_or_hash,
    help="A package, or the hash of a spec behind a slash, of which the first characters are "
    "enough. Without it the whole series is told of.",
)
@series_option(
    "The series of revisions: develop, vX.Y.Z ... By default that of the newest revision; of a "
    "hash all."
)
@click.option(
    "--tag", metavar="TAG", shell_complete=complete_tag, help="Only the revisions of this tag."
)
@click.option(
    "--since", metavar="TIME", type=Time(), help="Only revisions taken at this time or later."
)
@click.option(
    "-n", "--limit", metavar="N", type=click.IntRange(min=0), help="Only the N newest entries."
)
@click.option("--oneline", is_flag=True, help="One line an entry.")
@json_option
@catalog_option
def log_command(
    subject: str | None,
    *,
    series: str | None,
    tag: str | None,
    since: datetime | None,
    limit: int | None,
    oneline: bool,
    as_json: bool,
    catalog: str,
) -> None:
    """Print what changed revision by revision, newest first.

    Of a package or a hash only the revisions that touched it are told of. A spec that was there
    before, and came back, has returned; it is not new.
    """
    from server.terminal.catalogs import open_catalog, require_series, require_tag
    from server.terminal.printing.histories import Selection, log_of
    from snapshots import refs

    if subject is not None and not subject.strip("/ "):
        raise click.UsageError("Write a package, or /HASH with the first characters of a hash.")
    opened = open_catalog(catalog)
    if tag is not None:
        require_tag(tag, opened.history)
    if series is not None:
        require_series(series, opened.history)
    if tag is not None and series not in (None, refs.series(tag)):
        raise click.UsageError(f"The tag {tag} is not in the series {series}.")
    series = series or (refs.series(tag) if tag is not None else None)
    selection = Selection(tag=tag, since=since, limit=limit)
    log = log_of(opened, subject, series, selection)
    if as_json:
        say_json(log.document())
    elif oneline:
        say_pages(log.short_lines(width()))
    else:
        say_blocks(log.blocks(width()))


# -- history fill


@click.group("history", cls=HintingGroup)
def history_group() -> None:
    """Fill in what is missing of the past."""


@history_group.command("fill")
@series_option("Only this series: develop, vX.Y.Z ...")
@jobs_option("Compare in so many processes; each takes up to 500 MB for contents of 60,000 specs.")
@json_option
@catalog_option
def fill_command(
    *, series: str | None, jobs: int | None, cluster: str | None, as_json: bool, catalog: str
) -> None:
    """Compare the neighbours of which it is not known yet what changed.

    Imports keep that for what they publish. This is for a catalog that is older than that, and for
    what an import could not compare; and for feeds, where nothing is kept of what they tell of the
    newest revisions. Interrupted, it goes on where it was. Leaves with 1 where a pair could not be
    compared.
    """
    from server.terminal.catalogs import open_catalog, require_series
    from server.terminal.printing.maintenance import filled_facts, filled_lines
    from snapshots.catalog.filling import fill, missing_pairs, untold_pairs

    opened = open_catalog(catalog)
    if series is not None:
        require_series(series, opened.history)
    pairs = [
        *missing_pairs(opened.catalog, opened.history, series),
        *untold_pairs(opened.catalog, opened.history, series),
    ]
    with progress() as bars:
        filled = fill(
            opened.catalog,
            pairs,
            jobs=jobs,
            cluster=cluster or None,
            progress=lambda done, total: bars("comparing neighbours", done, total),
        )
    if as_json:
        say_json(filled_facts(filled))
    else:
        say_lines(filled_lines(filled))
    for reason in dict.fromkeys(filled.failures.values()):
        note(f"not compared: {reason}")
    if filled.failures:
        raise click.exceptions.Exit(1)
