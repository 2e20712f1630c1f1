"""Coverage of a lock file by a side, printed as lines of text or as JSON."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from server.terminal.catalogs import OpenedCatalog, open_sides
from server.terminal.console import note
from server.terminal.documents import Question, print_answer, side_name, spec_inputs
from server.terminal.parameters import open_catalog
from server.terminal.printing import styles
from server.terminal.printing.comparisons import field_text
from server.terminal.printing.layout import REVISION, number, table, wrapped
from snapshots.catalog.library import RevisionCoverage, best_covering, candidates
from snapshots.changes.lookup import Lookup, RequestedSpecs
from snapshots.changes.pairings import FieldChange
from snapshots.errors import CatalogError, IncompleteHistory
from snapshots.models import ConcreteSpec, SideInfo, Spec
from snapshots.refs import title
from snapshots.sources.lock_files import LockFile
from snapshots.texts import counted, in_words, percent, short_hash, shortened, versioned
from snapshots.timelines.spans import Span, last_span

_MAX_LISTED = 10
_LONGEST_GROUP = 30


class UnmetSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A missing spec: where it was last, if anywhere, and the nearest spec that is present."""

    spec: ConcreteSpec
    seen: Span | None
    nearest: Spec | None
    differences: Sequence[FieldChange]


def print_check(
    location: str, locked: LockFile, text: str | None, *, best: bool, series: str | None
) -> Lookup:
    """Look up the specs of a lock file in the side that a text names, and print which it has.

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
        opened.history.require_series(series)
        if best:
            covered = best_covering(opened.library, candidates(opened.history, series), requested)
        revision = covered[0].revision if covered else opened.revision(None)
    lookup = Lookup(requested, opened.frame(revision))
    unmet = [requested.specs[place] for place in lookup.missing.tolist()]
    seen = find_last_seen(opened, {spec.hash: spec.name for spec in unmet}, revision)
    missing = [
        UnmetSpec(
            spec=spec,
            seen=(seen or {}).get(spec.hash),
            nearest=None if row < 0 else lookup.frame.spec(row),
            differences=lookup.differences(nth),
        )
        for nth, (spec, row) in enumerate(zip(unmet, lookup.nearest.tolist(), strict=True))
    ]
    groups = _groups(locked, lookup)

    def lines() -> Iterator[str]:
        if covered:
            yield from _best_lines(covered, requested)
            yield ""
        writer = "" if locked.writer is None else f", for a lock file of {locked.writer}"
        yield from wrapped(f"Searched {title(revision)}{writer}")
        yield from _count_lines(lookup, groups)
        if left_out := locked.left_out:
            names = (
                f"{versioned(spec.name, spec.version)} ({spec.why.value})" for spec in left_out
            )
            yield from wrapped(
                f"Not looked up, because build caches do not contain them: {', '.join(names)}."
            )
        if missing:
            yield ""
        for spec in missing:
            yield from _missing_lines(spec, is_seen_known=seen is not None)

    variables = {"ref": side_name(revision), "specs": spec_inputs(locked.specs)}
    print_answer(opened, Question("Check", variables, (revision,)), lines())
    return lookup


def _groups(locked: LockFile, lookup: Lookup) -> list[tuple[str, int, int]]:
    """Return the groups of roots, each with the number of roots found and of all that count."""
    specs, rows = lookup.requested.specs, lookup.rows.tolist()
    is_there = {spec.hash: row >= 0 for spec, row in zip(specs, rows, strict=True)}
    groups = []
    for group in locked.groups:
        roots = [is_there[root] for root in group.roots if root in is_there]
        groups.append((group.name, sum(roots), len(roots)))
    return groups


def find_last_seen(
    opened: OpenedCatalog, names: Mapping[str, str], revision: SideInfo
) -> dict[str, Span] | None:
    """Return where hashes, each with the name of its package, were last before a revision.

    The series of the revision takes precedence. Returns None if that is unknown: if the side is a
    file, or, with a note, if the history cannot be read.
    """
    if not names:
        return {}
    if revision.tag is None:
        return None
    try:
        opened = opened.complete()
        histories = opened.library.history_queries.hash_histories(opened.history, names.items())
    except (CatalogError, IncompleteHistory) as error:
        note(f"It is unknown when they were last there: {error}")
        return None
    history = opened.history
    return {text: last_span(of_hash, revision, history) for text, of_hash in histories.items()}


def _best_lines(covered: Sequence[RevisionCoverage], requested: RequestedSpecs) -> Iterator[str]:
    columns = [
        REVISION,
        number("specs", 0, lambda holder: f"{holder.num_found:,} of {len(requested):,}"),
        number("roots", 1, lambda holder: f"{holder.num_roots_found:,} of {requested.num_roots:,}"),
    ]
    yield from table(covered[:_MAX_LISTED], columns)
    if (further := len(covered) - _MAX_LISTED) > 0:
        yield styles.quiet(f"and {counted(further, 'revision')} more")


def _count_lines(lookup: Lookup, groups: Sequence[tuple[str, int, int]]) -> Iterator[str]:
    """Yield the numbers of specs present, of all and of their parts."""
    num_found, num_specs = lookup.num_found, len(lookup.requested)
    found_roots, num_roots = lookup.num_roots_found, lookup.requested.num_roots
    rows = [
        ("roots", found_roots, num_roots),
        *((f"  {shortened(name, _LONGEST_GROUP)}", found, roots) for name, found, roots in groups),
        ("dependencies", num_found - found_roots, num_specs - num_roots),
        ("all", num_found, num_specs),
    ]
    digits = len(f"{num_specs:,}")
    widest = max(len(name) for name, *_ in rows)
    for name, present, wanted in rows:
        numbers = f"{present:>{digits},} of {wanted:>{digits},}"
        yield f"  {name:<{widest}}  {numbers}  {percent(present, wanted):>7}"


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


def _last_seen_text(seen: Span | None) -> str:
    """Return where a hash was last, and why it was removed."""
    if seen is None:
        return "never seen in this catalog"
    text = f"last in {title(seen.last)}"
    if seen.gone_in is None or seen.reason_gone is None:
        return f"{text}, the newest of its series"
    return f"{text}, removed in {title(seen.gone_in)}: {in_words(seen.reason_gone.value)}"
