"""``cachelog demo``: a made-up history to try things on."""

from pathlib import Path

import click

from server.terminal.console import say
from server.terminal.parameters import catalog_option


@click.command("demo")
@click.option(
    "--revisions",
    type=int,
    default=30,
    show_default=True,
    metavar="N",
    help="How many revisions of develop, a week apart.",
)
@click.option(
    "--packages",
    type=int,
    default=100,
    show_default=True,
    metavar="N",
    help="How many packages the first has.",
)
@click.option(
    "--specs",
    type=int,
    default=1_500,
    show_default=True,
    metavar="N",
    help="How many specs the first has.",
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

    Each revision has a second tag, by its date or that of a release. Of pages, a tag has one state:
    there, only the last revision is develop. All is marked as synthetic wherever it is shown.
    """
    from snapshots import demo
    from snapshots.wording import counted

    numbers = {"revisions": revisions, "packages": packages, "specs": specs, "seed": seed}
    if pages is None:
        from server.terminal.printing.revisions import publication_lines
        from snapshots.catalog.catalog import Catalog

        made_up = demo.develop_history(**numbers)
        for line in publication_lines(Catalog(catalog).publish(made_up)):
            say(line)
        return
    for snapshot in demo.history(**numbers):
        written = demo.write_pages(snapshot, pages)
        say(f"{snapshot.tag}: wrote {counted(written, 'page')} below {pages / snapshot.tag}")
