"""``cachelog history fill``: makes what is missing of the history."""

import click

from server.terminal.console import note, say, say_json
from server.terminal.groups import HintingGroup
from server.terminal.parameters import catalog_option, jobs_option, json_option, series_option


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
    newest revisions. Interrupted, it goes on where it was. Leaves with 1 where a
    pair could not be compared.
    """
    from server.commands.names import require_series
    from server.terminal.printing.filling import filled_facts, filled_lines
    from server.terminal.progress import progress
    from snapshots.catalog.catalog import Catalog
    from snapshots.catalog.filling import fill, missing_pairs, untold_pairs

    opened = Catalog(catalog)
    history = opened.require_history()
    if series is not None:
        require_series(series, history)
    pairs = [*missing_pairs(opened, history, series), *untold_pairs(opened, history, series)]
    with progress() as bars:
        filled = fill(
            opened,
            pairs,
            jobs=jobs,
            cluster=cluster or None,
            progress=lambda done, total: bars("comparing neighbours", done, total),
        )
    if as_json:
        say_json(filled_facts(filled))
    else:
        for line in filled_lines(filled):
            say(line)
    for reason in dict.fromkeys(filled.failures.values()):
        note(f"not compared: {reason}")
    if filled.failures:
        raise click.exceptions.Exit(1)
