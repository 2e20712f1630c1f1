"""``cachelog revisions``, ``tags``, ``packages`` and ``stacks``: what is published."""

from typing import TYPE_CHECKING

import click

from server.terminal.completion import complete_ref, complete_stack, complete_tag
from server.terminal.console import note, say, say_json, say_pages, width
from server.terminal.parameters import REF_FORMS, catalog_option, json_option

if TYPE_CHECKING:
    from snapshots.frames.frame import Frame
    from snapshots.models import RevisionInfo

_ref_argument = click.argument(
    "ref",
    metavar="[REF]",
    required=False,
    shell_complete=complete_ref,
    help=f"The revision: {REF_FORMS}. By default the newest of the catalog.",
)


@click.command("revisions")
@click.option(
    "--tag", metavar="TAG", shell_complete=complete_tag, help="Only the revisions of this tag."
)
@json_option
@catalog_option
def revisions_command(tag: str | None, *, as_json: bool, catalog: str) -> None:
    """List the published revisions, newest first."""
    from server.commands.names import require_tag
    from server.terminal.printing.revisions import listed_facts, revision_lines
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


@click.command("tags")
@json_option
@catalog_option
def tags_command(*, as_json: bool, catalog: str) -> None:
    """List the tags, and the newest revision of each."""
    from server.terminal.printing.listings import tag_facts, tag_lines
    from snapshots.catalog.catalog import Catalog

    history = Catalog(catalog).require_history()
    if as_json:
        say_json(tag_facts(history))
    else:
        say_pages(tag_lines(history, width()))


@click.command("packages")
@_ref_argument
@click.option(
    "--stack", metavar="NAME", shell_complete=complete_stack, help="Only what this stack has."
)
@click.option(
    "--search", metavar="TEXT", help="Only packages with this in their name, in any case."
)
@json_option
@catalog_option
def packages_command(
    ref: str | None, *, stack: str | None, search: str | None, as_json: bool, catalog: str
) -> None:
    """List the packages of a revision, by name.

    With --stack all numbers are those of the stack. That no package fits is a success too.
    """
    from server.commands.names import require_stack
    from server.terminal.printing.listings import listing_facts, package_lines, package_listing
    from snapshots.models import revision_facts
    from snapshots.wording import title

    revision, frame = _loaded(catalog, ref)
    if stack is not None:
        require_stack(stack, [frame])
    packages = package_listing(frame, stack, search)
    if as_json:
        asked = {"stack": stack, "search": search}
        say_json(
            {"revision": revision_facts(revision), **asked, "packages": listing_facts(packages)}
        )
    elif packages:
        say_pages(package_lines(packages, width()))
    else:
        note(f"No package of {title(revision)} fits.")


@click.command("stacks")
@_ref_argument
@json_option
@catalog_option
def stacks_command(ref: str | None, *, as_json: bool, catalog: str) -> None:
    """List the stacks of a revision, by name.

    root is the union of all others.
    """
    from server.terminal.printing.listings import stack_facts, stack_lines, stack_listing
    from snapshots.models import revision_facts
    from snapshots.wording import title

    revision, frame = _loaded(catalog, ref)
    stacks = stack_listing(frame)
    if as_json:
        say_json({"revision": revision_facts(revision), "stacks": stack_facts(revision, stacks)})
    elif stacks:
        say_pages(stack_lines(stacks, width()))
    else:
        note(f"The stacks of {title(revision)} are unknown: its source tells none.")


def _loaded(location: str, ref: str | None) -> "tuple[RevisionInfo, Frame]":
    """Return the revision that a ref names, and what it holds; raises as ``resolve`` does."""
    from snapshots.catalog.catalog import Catalog

    catalog = Catalog(location)
    history = catalog.require_history()
    revision = history.revisions[0] if ref is None else history.resolve(ref)
    return revision, catalog.load(revision.digest)
