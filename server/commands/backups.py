"""``cachelog backup`` and ``restore``: a catalog is copied to another place, and back."""

from typing import TYPE_CHECKING

import click

from server.terminal.console import say, say_json
from server.terminal.parameters import catalog_option, json_option

if TYPE_CHECKING:
    from snapshots.catalog.keeping.copies import Copied

_PLACE = "a folder, or a URL of object storage"


@click.command("backup")
@click.argument(
    "target", metavar="TARGET", help=f"Where to: {_PLACE}; empty, or an earlier copy of it."
)
@json_option
@catalog_option
def backup_command(target: str, *, as_json: bool, catalog: str) -> None:
    """Copy the catalog, as it is now.

    To an earlier copy of it, that is what is new since. Imports and servers may run meanwhile.
    'cachelog verify --catalog TARGET' reads the copy whole.
    """
    from server.terminal.progress import progress
    from snapshots.catalog.keeping.copies import backup

    with progress() as bars:
        copied = backup(catalog, target, progress=bars)
    _tell(copied, target, as_json=as_json)


@click.command("restore")
@click.argument("copy", metavar="COPY", help=f"What 'cachelog backup' made: {_PLACE}.")
@json_option
@catalog_option
def restore_command(copy: str, *, as_json: bool, catalog: str) -> None:
    """Copy a backup to where no catalog is.

    That is the place that --catalog names. Who is interrupted runs the same again.
    """
    from server.terminal.progress import progress
    from snapshots.catalog.keeping.copies import restore

    with progress() as bars:
        copied = restore(copy, catalog, progress=bars)
    _tell(copied, catalog, as_json=as_json)


def _tell(copied: "Copied", place: str, *, as_json: bool) -> None:
    from server.terminal.printing.keeping import copied_facts, copied_lines

    if as_json:
        say_json(copied_facts(copied, place))
    else:
        for line in copied_lines(copied, place):
            say(line)
