"""``cachelog verify``: whether the catalog is sound."""

import click

from server.terminal.console import say, say_json
from server.terminal.parameters import catalog_option, jobs_option, json_option


@click.command("verify")
@click.option("--deep", is_flag=True, help="Compare all neighbours anew, too.")
@click.option(
    "--repair",
    is_flag=True,
    help="First drop the last commit or checkpoint of a table's log where it is unreadable, as a "
    "power cut can leave it.",
)
@jobs_option("Read in so many processes; each takes up to 400 MB for contents of 60,000 specs.")
@json_option
@catalog_option
def verify_command(
    *, deep: bool, repair: bool, jobs: int | None, cluster: str | None, as_json: bool, catalog: str
) -> None:
    """Read all of the catalog, and tell what is damaged.

    Each finding comes with what to do about it. Leaves with 1 where anything is damaged. Nothing
    is changed without --repair; imports and servers may run meanwhile.
    """
    from server.terminal.printing.verifying import verified_facts, verified_lines
    from server.terminal.progress import progress
    from snapshots.catalog.verifying.verify import verify

    with progress() as bars:
        verified = verify(
            catalog,
            deep=deep,
            repair=repair,
            jobs=jobs,
            cluster=cluster or None,
            progress=bars,
        )
    if as_json:
        say_json(verified_facts(verified))
    else:
        for line in verified_lines(verified):
            say(line)
    if not verified.is_sound:
        raise click.exceptions.Exit(1)
