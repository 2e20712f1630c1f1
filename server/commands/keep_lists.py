"""``cachelog keep-list``: the hashes that a build cache has to keep."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from server.output_files import write
from server.terminal import parameters
from server.terminal.console import note, say, say_json, say_lines, width

if TYPE_CHECKING:
    from snapshots.catalog.retention import RetentionRule

_LOCK_FILE = click.Path(path_type=str)


@parameters.catalog_command("keep-list")
@parameters.keep_option
@parameters.whole_tags_option
@click.option("--lock", "locks", multiple=True, type=_LOCK_FILE, metavar="FILE")
@click.option("--whole", is_flag=True)
@click.option("--impact", is_flag=True)
@click.option("--check", "checked", multiple=True, type=_LOCK_FILE, metavar="FILE")
@parameters.output_option()
def keep_list_command(
    *,
    keep: "tuple[RetentionRule, ...]",
    whole_tags: bool,
    locks: tuple[str, ...],
    whole: bool,
    impact: bool,
    checked: tuple[str, ...],
    output: Path | None,
    as_json: bool,
    catalog: str,
) -> None:
    """Write the hashes that a build cache has to keep.

    They are those of the revisions that a policy keeps, for Spack's buildcache prune --keeplist.
    Nothing is removed, neither from the catalog nor from the build cache.

    - locks: Keep all concrete specs of this lock file, too: a spack.lock, the folder of an
      environment, or what 'spack spec --json' prints. Write it once for each.
    - whole: Keep all that the specs reach, whatever revision has it.
    - impact: Instead of the list print what the rest is: specs of revisions that do not stay.
    - checked: With --impact: say how many specs of this lock file are not kept. Write it once for
      each.
    - output: Write the list to this file, whole or not at all, instead of the terminal.
    """
    from server.terminal.printing.keep_lists import (
        impact_lines,
        keep_list_document,
        list_kept,
        summary_line,
        unknown_line,
    )

    if checked and not impact:
        raise click.UsageError("--check is part of what the rest is; add --impact.")
    kept = list_kept(
        parameters.open_catalog(catalog),
        keep,
        locks,
        whole_tags=whole_tags,
        whole=whole,
        checked=checked if impact else None,
    )
    if remark := unknown_line(kept):
        note(remark)
    lines = [f"{text}\n" for text in kept.hashes]
    if output is not None:
        write(output, "".join(lines).encode())
    if as_json:
        say_json(keep_list_document(kept))
    elif impact:
        say_lines(impact_lines(kept, width()))
    elif output is not None:
        say(summary_line(kept))
    else:
        click.echo("".join(lines), nl=False)
