"""``cachelog demo``: a made-up history to try things on."""

from pathlib import Path

import click

from server.terminal.console import say
from server.terminal.parameters import catalog_option


@click.command("demo")
@click.option(
    "--revisions",
    type=int,
    default=8,
    show_default=True,
    metavar="N",
    help="How many revisions, each with its tag.",
)
@click.option(
    "--packages",
    type=int,
    default=300,
    show_default=True,
    metavar="N",
    help="About how many packages each has.",
)
@click.option(
    "--specs",
    type=int,
    default=6_000,
    show_default=True,
    metavar="N",
    help="About how many specs each has.",
)
@click.option(
    "--seed",
    type=int,
    default=0,
    show_default=True,
    metavar="N",
    help="The same seed makes the same history.",
)
@click.option(
    "--pages",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Write cache pages there, not into the catalog.",
)
@catalog_option
def demo_command(
    revisions: int, packages: int, specs: int, seed: int, *, pages: Path | None, catalog: str
) -> None:
    """Make up a history of a build cache.

    It is marked as synthetic wherever it is shown.
    """
    from snapshots import demo
    from snapshots.wording import counted

    history = demo.history(revisions=revisions, packages=packages, specs=specs, seed=seed)
    if pages is None:
        from server.terminal.printing.revisions import publication_lines
        from snapshots.catalog.catalog import Catalog

        for line in publication_lines(Catalog(catalog).publish(list(history))):
            say(line)
        return
    for snapshot in history:
        written = demo.write_pages(snapshot, pages)
        say(f"{snapshot.tag}: wrote {counted(written, 'page')} below {pages / snapshot.tag}")
