"""``cachelog show``: all there is to say of a revision, a package or a spec."""

from typing import TYPE_CHECKING

import click

from server.terminal.completion import complete_shown
from server.terminal.console import say_json, say_pages, width
from server.terminal.parameters import REF_FORMS, catalog_option, json_option

if TYPE_CHECKING:
    from server.commands.past import Past
    from server.terminal.printing.shown_specs import Counterpart
    from snapshots.errors import RevisionNotFound
    from snapshots.models import RevisionInfo
    from snapshots.timelines.spans import HashHistory

    Asked = tuple[RevisionInfo | None, str | None, RevisionNotFound | None]

_MOST_WORDS = 2


@click.command("show")
@click.argument(
    "words",
    metavar="[REF] [PACKAGE|/HASH]",
    nargs=-1,
    shell_complete=complete_shown,
    help=f"A revision: {REF_FORMS}; by default the newest of the catalog, or the newest that has "
    "the hash. Behind it, or alone, a package, or the hash of a spec behind a slash, of which the "
    "first characters are enough.",
)
@json_option
@catalog_option
def show_command(words: tuple[str, ...], *, as_json: bool, catalog: str) -> None:
    """Print everything about a revision, a package or a spec.

    Of a package that is what a revision has of it, and when it was first and last seen; of a spec
    each fact, what it depends on, and since when it is there or gone.
    """
    from server.commands.past import open_past

    if len(words) > _MOST_WORDS:
        raise click.UsageError(f"There is one word too many: {words[_MOST_WORDS]}")
    if any(not word.strip("/ ") for word in words):
        raise click.UsageError("Write a package, or /HASH with the first characters of a hash.")
    past = open_past(catalog)
    revision, subject, unresolved = _read(past, words)
    if subject is None:
        _show_revision(past, revision or past.history.revisions[0], as_json=as_json)
    elif subject.startswith("/"):
        _show_spec(past, revision, subject, as_json=as_json)
    else:
        _show_package(past, revision, subject, unresolved, as_json=as_json)


def _read(past: "Past", words: tuple[str, ...]) -> "Asked":
    """Return the revision that is named, and the package or hash; None for what is not.

    A word alone is a ref, if it can be one; else it is a package, and the last of the three tells
    why it is no ref. Raises as ``History.resolve`` does.
    """
    from snapshots.errors import RevisionNotFound

    if len(words) == _MOST_WORDS:
        return past.history.resolve(words[0]), words[1], None
    if not words or words[0].startswith("/"):
        return None, (words[0] if words else None), None
    try:
        return past.history.resolve(words[0]), None, None
    except RevisionNotFound as error:
        if any(sign in words[0] for sign in "~@"):
            raise
        return None, words[0], error


def _show_revision(past: "Past", revision: "RevisionInfo", *, as_json: bool) -> None:
    from server.terminal.printing.shown_revisions import (
        revision_document,
        revision_lines,
        shown_revision,
    )

    frame = past.library.frames.get(revision.digest)
    shown = shown_revision(revision, past.history, frame, past.catalog.counts)
    if as_json:
        say_json(revision_document(shown))
    else:
        say_pages(revision_lines(shown, width()))


def _show_package(
    past: "Past",
    revision: "RevisionInfo | None",
    name: str,
    unresolved: "RevisionNotFound | None",
    *,
    as_json: bool,
) -> None:
    from server.commands.past import default_series
    from server.terminal.printing.shown_packages import (
        package_document,
        package_lines,
        shown_package,
    )
    from snapshots.errors import InvalidArgument
    from snapshots.refs import series
    from snapshots.wording import nearest_names

    if revision is not None:
        _require_package(past, revision, name)
    family = default_series(past.history) if revision is None else series(revision.tag)
    try:
        timeline = past.package_timeline(name, family)
    except InvalidArgument as error:
        if unresolved is None:
            raise
        close = ", ".join(nearest_names(name, past.history.tags))
        reason = unresolved.reason + (f" (nearest: {close})" if close else "")
        reason += f", and {error.reason}"
        raise InvalidArgument("REF or PACKAGE", reason) from None
    revision = revision or timeline.last_seen
    shown = shown_package(revision, past.library.frames.get(revision.digest), timeline)
    if as_json:
        say_json(package_document(shown))
    else:
        say_pages(package_lines(shown, width()))


def _require_package(past: "Past", revision: "RevisionInfo", name: str) -> None:
    """Raise InvalidArgument, with the nearest names, where a revision has no such package."""
    from server.commands.names import unknown_package

    frame = past.library.frames.get(revision.digest)
    if frame.rows_of(name) is None:
        raise unknown_package(name, revision, frame)


def _show_spec(past: "Past", revision: "RevisionInfo | None", text: str, *, as_json: bool) -> None:
    from server.terminal.printing.shown_specs import (
        ShownSpec,
        dependents_of,
        needed_by,
        shown_spec_lines,
        spec_document,
    )
    from snapshots.errors import CatalogError
    from snapshots.refs import title

    known = past.hash_history(text if revision is None else _hash_in(past, revision, text))
    revision = revision or known.newest
    frame = past.library.frames.get(revision.digest)
    graph = past.library.dependencies.get(revision.digest)
    row = frame.hashes.find(known.hash)
    if row is None:
        reason = (
            f"{title(revision)} lacks {known.hash}, which it has by what is kept of the history"
        )
        raise CatalogError(past.catalog.location, f"{reason}; see 'cachelog verify'")
    took_place_of, replaced_by = _counterparts(past, known)
    shown = ShownSpec(
        spec=frame.spec(row),
        revision=revision,
        known=known,
        dependencies=needed_by(frame, graph, row),
        dependents=dependents_of(frame, graph, row),
        took_place_of=took_place_of,
        replaced_by=replaced_by,
    )
    if as_json:
        say_json(spec_document(shown))
    else:
        say_pages(shown_spec_lines(shown, width()))


def _hash_in(past: "Past", revision: "RevisionInfo", text: str) -> str:
    """Return the hash in a revision that begins with a text behind its slash.

    Raises InvalidArgument where none does, and AmbiguousHash.
    """
    from snapshots.errors import AmbiguousHash, InvalidArgument
    from snapshots.refs import title
    from snapshots.wording import versioned

    prefix = text.removeprefix("/").lower()
    frame = past.library.frames.get(revision.digest)
    rows = frame.hashes.with_prefix(prefix).tolist()
    if not rows:
        reason = f"{title(revision)} has none that begins with {prefix!r}"
        raise InvalidArgument("HASH", f"{reason}; leave the revision out to look in all")
    if len(rows) > 1:
        some = [frame.spec(row) for row in rows[:5]]
        named = {spec.hash: versioned(spec.name, spec.version) for spec in some}
        raise AmbiguousHash(prefix, named, len(rows))
    return frame.hashes.at(rows[0])


def _counterparts(
    past: "Past", known: "HashHistory"
) -> "tuple[Counterpart | None, Counterpart | None]":
    """Return whose place a spec took when it came last, and who took its own when it went last."""
    from snapshots.changes.reasons import SpecChangeReason

    newest = max(known.spans, key=lambda span: span.last.taken_at)
    took_place_of = replaced_by = None
    if newest.reason_came in (SpecChangeReason.REBUILT, SpecChangeReason.REPLACES):
        took_place_of = _counterpart(past, known.hash, newest.first)
    if newest.gone_in is not None and newest.reason_gone is SpecChangeReason.REPLACED:
        replaced_by = _counterpart(past, known.hash, newest.gone_in)
    return took_place_of, replaced_by


def _counterpart(past: "Past", text: str, head: "RevisionInfo") -> "Counterpart | None":
    """Return the pair that a hash is one of, where it came to a revision or was gone in it."""
    from server.terminal.printing.shown_specs import Counterpart

    base = past.history.previous(head)
    if base is None:
        return None
    why = past.library.explain(base.digest, head.digest)
    before, after = why.base.frame, why.head.frame
    row, gone = after.hashes.find(text), before.hashes.find(text)
    if row is not None and (other := int(why.counterparts.base_of[row])) >= 0:
        return Counterpart(head, before.spec(other), after.spec(row))
    if gone is not None and (other := int(why.counterparts.head_of[gone])) >= 0:
        return Counterpart(head, before.spec(gone), after.spec(other))
    return None
