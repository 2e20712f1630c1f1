"""``cachelog revisions``: what is published."""

import click

from server.completion import complete_tag
from server.console import note, say, say_json, width
from server.parameters import catalog_option, json_option


@click.command("revisions")
@click.option(
    "--tag", metavar="TAG", shell_complete=complete_tag, help="Only the revisions of this tag."
)
@json_option
@catalog_option
def revisions_command(tag: str | None, *, as_json: bool, catalog: str) -> None:
    """List the published revisions, newest first."""
    from server.commands.names import require_tag
    from server.printing.revisions import listed_facts, revision_lines
    from snapshots.catalog.catalog import Catalog

    opened = Catalog(catalog)
    opened.refresh()
    history = opened.history
    if tag is not None and history.revisions:
        require_tag(tag, history)
    revisions = history.revisions if tag is None else history.of_tag(tag)
    if as_json:
        say_json([listed_facts(revision, history) for revision in revisions])
    elif not revisions:
        note(
            f"The catalog at {catalog} is empty. Fill it with 'cachelog import PATH', "
            "or with made-up data by 'cachelog demo'."
        )
    else:
        for line in revision_lines(revisions, history, width()):
            say(line)
