"""``cachelog log``: what became of a series, a package or a hash, revision by revision."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import click

from server.terminal.completion import complete_package_or_hash, complete_tag
from server.terminal.console import say_blocks, say_json, width
from server.terminal.parameters import Time, catalog_option, json_option, series_option

if TYPE_CHECKING:
    from server.commands.past import Past
    from server.terminal.printing.logs import HashEvent
    from snapshots.models import RevisionInfo
    from snapshots.timelines.growth import GrowthPoint
    from snapshots.timelines.packages import PackageEntry

Entry = TypeVar("Entry", "GrowthPoint", "PackageEntry", "HashEvent")


class Shown(NamedTuple):
    """Which entries are asked for, and how: of a tag, from a moment on, so many, in one line."""

    series: str
    tag: str | None
    since: datetime | None
    limit: int | None
    is_short: bool
    as_json: bool

    def only(
        self, entries: Iterator[Entry], head: "Callable[[Entry], RevisionInfo]"
    ) -> Iterator[Entry]:
        """Yield the entries that are asked for; ``head`` tells the revision of one."""
        asked = (
            entry
            for entry in entries
            if self.tag in (None, head(entry).tag)
            and (self.since is None or head(entry).taken_at >= self.since)
        )
        return islice(asked, self.limit)


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
    from server.commands.names import require_series, require_tag
    from server.commands.past import default_series, open_past
    from snapshots import refs

    if subject is not None and not subject.strip("/ "):
        raise click.UsageError("Write a package, or /HASH with the first characters of a hash.")
    past = open_past(catalog)
    if tag is not None:
        require_tag(tag, past.history)
    if series is not None:
        require_series(series, past.history)
    if tag is not None and series not in (None, refs.series(tag)):
        raise click.UsageError(f"The tag {tag} is not in the series {series}.")
    chosen = series or (refs.series(tag) if tag is not None else None)
    shown = Shown(chosen or default_series(past.history), tag, since, limit, oneline, as_json)
    if subject is None:
        _log_series(past, shown)
    elif subject.startswith("/"):
        _log_hash(past, subject, chosen, shown)
    else:
        _log_package(past, subject, shown)


def _log_series(past: "Past", shown: Shown) -> None:
    from server.commands.series_entries import series_entries
    from server.terminal.printing import log_documents, logs

    past = past.complete(shown.series)
    points = past.library.growth(past.history, shown.series)
    chosen = shown.only(iter(points[::-1]), lambda point: point.revision)
    if shown.as_json:
        made = series_entries(past, shown.series, chosen)
        entries = list(map(log_documents.series_entry, made))
        say_json({"series": shown.series, "num_revisions": len(points), "entries": entries})
        return
    title = [logs.series_title(shown.series, len(points))]
    if shown.is_short:
        _say_lines(title, (logs.oneline(it.revision, logs.point_text(it)) for it in chosen))
    else:
        made = series_entries(past, shown.series, chosen)
        say_blocks(_after(title, (logs.series_entry(it, width()) for it in made)))


def _log_package(past: "Past", name: str, shown: Shown) -> None:
    from server.terminal.printing import log_documents, logs

    timeline = past.package_timeline(name, shown.series)
    chosen = shown.only(iter(timeline.entries), lambda entry: entry.head)
    if shown.as_json:
        say_json(log_documents.package_log(timeline, chosen))
        return
    title = logs.package_title(timeline, len(past.history.of_series(shown.series)), width())
    if shown.is_short:
        _say_lines(title, (logs.oneline(it.head, logs.package_line(it)) for it in chosen))
    else:
        say_blocks(_after(title, (logs.package_entry(it, width()) for it in chosen)))


def _log_hash(past: "Past", text: str, series: str | None, shown: Shown) -> None:
    from server.terminal.printing import log_documents, logs

    known = past.hash_history(text)
    spans = [span for span in known.spans if series in (None, span.series)]
    chosen = shown.only(iter(logs.events_of(spans)), lambda event: event.head)
    if shown.as_json:
        say_json(log_documents.hash_log(known, spans, chosen))
        return
    title = logs.hash_title(known, spans, width())
    if shown.is_short:
        _say_lines(title, (logs.oneline(it.head, logs.event_text(it)) for it in chosen))
    else:
        say_blocks(_after(title, (logs.hash_entry(it, width()) for it in chosen)))


def _after(title: Sequence[str], blocks: Iterator[list[str]]) -> Iterator[Sequence[str]]:
    yield title
    yield from blocks


def _say_lines(title: Sequence[str], lines: Iterator[str]) -> None:
    from server.terminal.console import say_pages

    say_pages([*title, *lines])
