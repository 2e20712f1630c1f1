"""``cachelog check``: which concrete specs of a lock file a revision holds."""

import sys
from typing import TYPE_CHECKING

import click

from server.terminal.completion import complete_ref
from server.terminal.console import note, say_json, say_pages, width
from server.terminal.parameters import (
    REF_FORMS,
    Percent,
    catalog_option,
    json_option,
    series_option,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from server.commands.past import Past
    from snapshots.catalog.asking.covering import Covered
    from snapshots.catalog.asking.library import Library
    from snapshots.changes.lookup import Lookup, Wanted
    from snapshots.history import History
    from snapshots.models import RevisionInfo
    from snapshots.sources.lockfiles import LockFile
    from snapshots.timelines.spans import LastSeen

UNDER = 1
"""The exit code where less is there than was asked for."""

_STDIN = "-"
_USUAL_TAG = "develop"


@click.command("check")
@click.argument(
    "file",
    metavar="FILE",
    type=click.Path(allow_dash=True),
    help="A spack.lock, the folder of an environment, or what 'spack spec --json' prints; - reads "
    "standard input.",
)
@click.option(
    "--in",
    "ref",
    metavar="REF",
    shell_complete=complete_ref,
    help=f"The revision to look in: {REF_FORMS}. By default the newest of develop; where there is "
    "no develop, of the catalog.",
)
@click.option(
    "--best",
    is_flag=True,
    help="Look in the newest revision of each tag, and list those that hold most.",
)
@series_option("With --best: look in all revisions of this series instead: develop, vX.Y.Z ...")
@click.option(
    "--fail-under",
    type=Percent(),
    metavar="PERCENT",
    help="Leave with 1 if less of all specs is there, else with 0.",
)
@json_option
@catalog_option
def check_command(
    file: str,
    *,
    ref: str | None,
    best: bool,
    series: str | None,
    fail_under: "Fraction | None",
    as_json: bool,
    catalog: str,
) -> None:
    """Print what of a lock file is in a build cache.

    For each that is missing: when it was last there, why it went, and what is nearest to it.
    External and development specs are in no build cache, and left out.
    """
    from server.commands.names import require_series
    from server.commands.past import open_past
    from server.terminal.printing.checks import Checked, check_document, check_lines
    from snapshots.changes.lookup import Lookup, Wanted

    if series is not None and not best:
        raise click.UsageError("--series says where --best looks; add --best.")
    if ref is not None and best:
        raise click.UsageError("--in names one revision, --best looks in many; leave one out.")
    locked = _read(file)
    past, wanted = open_past(catalog), Wanted(locked.specs)
    if series is not None:
        require_series(series, past.history)
    covered = _best(past.library, past.history, wanted, series) if best else ()
    revision = covered[0].revision if covered else _revision(past.history, ref)
    lookup = Lookup(wanted, past.library.frames.get(revision.digest))
    seen = _last_seen(past, lookup, revision) if len(lookup.missing) else {}
    checked = Checked(revision, lookup, locked, seen, covered)
    if as_json:
        say_json(check_document(checked))
    else:
        say_pages(check_lines(checked, width()))
    if fail_under is not None and checked.is_under(fail_under):
        note(f"That is less than {float(fail_under):g} %.")
        raise SystemExit(UNDER)


def _read(file: str) -> "LockFile":
    from snapshots.sources import lockfiles

    if file != _STDIN:
        return lockfiles.read(file)
    data = sys.stdin.buffer.read(lockfiles.MAX_BYTES + 1)
    return lockfiles.parse(data, "standard input")


def _revision(history: "History", ref: str | None) -> "RevisionInfo":
    """Return the revision that is named, or else the newest of develop, or of all."""
    if ref is not None:
        return history.resolve(ref)
    return (history.of_tag(_USUAL_TAG) or history.revisions)[0]


def _last_seen(
    past: "Past", lookup: "Lookup", revision: "RevisionInfo"
) -> "Mapping[str, LastSeen] | None":
    """Return where each hash that is missing was last; None where that cannot be told, with why.

    A spec that the catalog never saw is not there.
    """
    from snapshots.errors import CatalogError, IncompleteHistory
    from snapshots.refs import series
    from snapshots.timelines.spans import last_seen

    specs = [lookup.wanted.specs[place] for place in lookup.missing.tolist()]
    try:
        past = past.complete()
        known = past.library.hash_histories(past.history, {it.hash: it.name for it in specs})
    except (CatalogError, IncompleteHistory) as error:
        note(f"When they were last there cannot be told: {error}")
        return None
    own = series(revision.tag)
    return {text: last_seen(found, own) for text, found in known.items()}


def _best(
    library: "Library", history: "History", wanted: "Wanted", series: str | None
) -> "list[Covered]":
    """Return what holds most, of the newest of each tag or of all of a series, best first."""
    from snapshots.catalog.asking.covering import best_covering, candidates

    return best_covering(library, candidates(history, series), wanted)
