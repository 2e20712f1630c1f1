"""Coverage of a lock file by a revision, as lines of text and as plain values."""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import msgspec

from server.terminal.catalogs import OpenedCatalog, open_sides
from server.terminal.console import attributes_of, note
from server.terminal.parameters import open_catalog, require_series
from server.terminal.printing import styles
from server.terminal.printing.comparisons import field_text
from server.terminal.printing.layout import TAG, digest, number, table, taken_at, wrapped
from snapshots.catalog.library import RevisionCoverage, best_covering, candidates
from snapshots.changes.lookup import Lookup, RequestedSpecs
from snapshots.changes.pairings import FieldChange
from snapshots.errors import CatalogError, IncompleteHistory
from snapshots.models import ConcreteSpec, SideInfo, Spec
from snapshots.refs import series as series_of
from snapshots.refs import title
from snapshots.sources.lock_files import LockFile
from snapshots.texts import counted, in_words, percent, short_hash, shortened, versioned
from snapshots.timelines.spans import LastSeen, last_seen

FORMAT = 1
"""The version of the document that ``check --json`` prints."""

_MAX_LISTED = 10
_LONGEST_GROUP = 30


class UnmetSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A missing spec: where it was last, if anywhere, and the nearest spec that is present."""

    spec: ConcreteSpec
    seen: LastSeen | None
    nearest: Spec | None
    differences: Sequence[FieldChange]


class GroupCounts(msgspec.Struct, frozen=True):
    """A group of roots: the number of roots that count, and how many of them are present."""

    name: str
    num_roots: int
    num_roots_found: int


class CheckedSide(msgspec.Struct, frozen=True):
    """A side, and the coverage of a lock file by it, ``locked``.

    ``seen`` maps missing hashes to where they were last; None if that is unknown. It omits hashes
    that the catalog never had. ``covered`` are the revisions that were searched, best first; empty
    if one was named.
    """

    revision: SideInfo
    lookup: Lookup
    locked: LockFile
    seen: Mapping[str, LastSeen] | None
    covered: Sequence[RevisionCoverage] = ()

    def is_under(self, percent: Fraction) -> bool:
        """Return whether fewer than a percentage of the requested specs are present."""
        return 100 * self.lookup.num_found < percent * len(self.lookup.requested)

    def groups(self) -> Iterator[GroupCounts]:
        """Yield the counts of each group of roots."""
        specs, rows = self.lookup.requested.specs, self.lookup.rows.tolist()
        is_there = {spec.hash: row >= 0 for spec, row in zip(specs, rows, strict=True)}
        for group in self.locked.groups:
            roots = [is_there[root] for root in group.roots if root in is_there]
            yield GroupCounts(group.name, len(roots), sum(roots))

    def missing(self) -> Iterator[UnmetSpec]:
        """Yield the missing specs, roots first."""
        lookup = self.lookup
        for nth, place in enumerate(lookup.missing.tolist()):
            row = int(lookup.nearest[nth])
            spec = lookup.requested.specs[place]
            yield UnmetSpec(
                spec=spec,
                seen=(self.seen or {}).get(spec.hash),
                nearest=None if row < 0 else lookup.frame.spec(row),
                differences=lookup.differences(nth),
            )


def check(
    location: str, locked: LockFile, text: str | None, *, best: bool, series: str | None
) -> CheckedSide:
    """Look up the specs of a lock file in the side that a text names.

    By default, that is the newest revision of the main series. With ``best``, it is the revision
    with the most specs, among the newest of each tag, or among all of a ``series``.
    """
    revision: SideInfo
    requested = RequestedSpecs(locked.specs)
    covered: Sequence[RevisionCoverage] = ()
    if text is not None:
        opened, [revision] = open_sides(location, [text])
    else:
        opened = open_catalog(location)
        require_series(series, opened.history)
        if best:
            covered = best_covering(opened.library, candidates(opened.history, series), requested)
        revision = covered[0].revision if covered else opened.revision(None)
    lookup = Lookup(requested, opened.frame(revision))
    missing = [requested.specs[place] for place in lookup.missing.tolist()]
    seen = find_last_seen(opened, {spec.hash: spec.name for spec in missing}, revision)
    return CheckedSide(revision, lookup, locked, seen, covered)


def find_last_seen(
    opened: OpenedCatalog, names: Mapping[str, str], revision: SideInfo
) -> dict[str, LastSeen] | None:
    """Return where hashes, each with the name of its package, were last, if anywhere.

    The series of the revision takes precedence. Returns None if that is unknown: if the side is a
    file, or, with a note, if the history cannot be read.
    """
    if not names:
        return {}
    if revision.tag is None:
        return None
    try:
        opened = opened.complete()
        histories = opened.library.history_queries.hash_histories(opened.history, names)
    except (CatalogError, IncompleteHistory) as error:
        note(f"It is unknown when they were last there: {error}")
        return None
    own = series_of(revision.tag)
    return {text: last_seen(history, own) for text, history in histories.items()}


def check_lines(checked: CheckedSide) -> Iterator[str]:
    """Yield the numbers of specs present, the missing specs, and the specs left out."""
    if checked.covered:
        yield from _best_lines(checked)
        yield ""
    yield from _summary(checked)
    if left_out := checked.locked.left_out:
        names = (f"{versioned(spec.name, spec.version)} ({spec.why.value})" for spec in left_out)
        yield from wrapped(
            f"Not looked up, because build caches do not contain them: {', '.join(names)}."
        )
    for place, missing in enumerate(checked.missing()):
        if place == 0:
            yield ""
        yield from _missing_lines(missing, is_seen_known=checked.seen is not None)


def _best_lines(checked: CheckedSide) -> Iterator[str]:
    covered = checked.covered[:_MAX_LISTED]
    requested = checked.lookup.requested
    columns = [
        TAG,
        taken_at(2),
        digest(3),
        number("specs", 0, lambda holder: f"{holder.num_found:,} of {len(requested):,}"),
        number("roots", 1, lambda holder: f"{holder.num_roots_found:,} of {requested.num_roots:,}"),
    ]
    yield from table(covered, columns)
    if further := len(checked.covered) - len(covered):
        yield styles.quiet(f"and {counted(further, 'revision')} more")


def _summary(checked: CheckedSide) -> Iterator[str]:
    lookup, writer = checked.lookup, checked.locked.writer
    num_roots, found_roots = lookup.requested.num_roots, lookup.num_roots_found
    looked = f"Searched {title(checked.revision)}"
    if writer is not None:
        looked += f", for a lock file of {writer}"
    yield from wrapped(looked)
    of_groups = [
        (f"  {shortened(group.name, _LONGEST_GROUP)}", group.num_roots_found, group.num_roots)
        for group in checked.groups()
    ]
    rows = [
        ("roots", found_roots, num_roots),
        *of_groups,
        ("dependencies", lookup.num_found - found_roots, len(lookup.requested) - num_roots),
        ("all", lookup.num_found, len(lookup.requested)),
    ]
    digits = len(f"{len(lookup.requested):,}")
    widest = max(len(name) for name, *_ in rows)
    for name, num_found, num_wanted in rows:
        numbers = f"{num_found:>{digits},} of {num_wanted:>{digits},}"
        yield f"  {name:<{widest}}  {numbers}  {percent(num_found, num_wanted):>7}"


def _missing_lines(missing: UnmetSpec, *, is_seen_known: bool) -> Iterator[str]:
    spec, nearest = missing.spec, missing.nearest
    root = ", a root" if spec.is_root else ""
    name = styles.name(versioned(spec.name, spec.version))
    texts = [_last_seen_text(missing.seen)] if is_seen_known else []
    if nearest is None:
        texts.append("no other spec of the package is available")
    else:
        # The hash of a recipe means nothing to a reader.
        what = "; ".join(
            "another recipe" if change.path == "package_hash" else field_text(change)
            for change in missing.differences
        )
        what = what or "only its dependencies differ"
        other = f"{versioned(nearest.name, nearest.version)} {short_hash(nearest.hash)}"
        texts.append(f"nearest: {other}: {what}")
    yield f"{styles.removed('-')} {name} {short_hash(spec.hash)}{root}"
    for text in texts:
        yield from wrapped(f"    {text}", " " * 8)


def _last_seen_text(seen: LastSeen | None) -> str:
    """Return where a hash was last, and why it was removed."""
    if seen is None:
        return "never seen in this catalog"
    text = f"last in {title(seen.revision)}"
    if seen.gone_in is None or seen.reason is None:
        return f"{text}, the newest of its series"
    return f"{text}, removed in {title(seen.gone_in)}: {in_words(seen.reason.value)}"


def check_document(checked: CheckedSide) -> dict[str, Any]:
    """Return the result in its JSON form, which docs/lock-files.md describes."""
    lookup = checked.lookup
    document: dict[str, Any] = {
        "format": FORMAT,
        "revision": checked.revision,
        "num_wanted": len(lookup.requested),
        "num_found": lookup.num_found,
        "num_roots_wanted": lookup.requested.num_roots,
        "num_roots_found": lookup.num_roots_found,
        "is_history_known": checked.seen is not None,
        "spack": checked.locked.writer,
        "groups": list(checked.groups()),
        "left_out": checked.locked.left_out,
        "found": [lookup.frame.hashes.at(row) for row in lookup.found.tolist()],
        "missing": list(map(_missing_facts, checked.missing())),
    }
    if checked.covered:
        document["best"] = checked.covered
    return document


def _missing_facts(missing: UnmetSpec) -> dict[str, Any]:
    spec, seen, nearest = missing.spec, missing.seen, missing.nearest
    return {
        **attributes_of(spec, "hash", "name", "version", "is_root"),
        "last_seen": seen and seen.revision,
        **attributes_of(seen, "reason", "gone_in"),
        "nearest": nearest and attributes_of(nearest, "hash", "short"),
        "differences": missing.differences,
    }
