"""Revisions, packages and specs: lists of them, all about one, and the specs of a lock file."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import groupby
from operator import and_, attrgetter
from typing import Any

import numpy as np

from server.terminal.catalogs import OpenedCatalog, open_side
from server.terminal.console import note
from server.terminal.documents import print_answer, side_name, spec_inputs
from server.terminal.printing import histories, text
from server.terminal.printing.comparisons import field_text, pair_text
from server.terminal.printing.text import TableColumn, labelled, number, table
from snapshots.arrays import Mask, Rows
from snapshots.catalog.publication import Publication
from snapshots.changes.lookup import Lookup, RequestedSpecs
from snapshots.changes.reasons import SpecChangeReason
from snapshots.changes.sides import Side
from snapshots.changes.stored_changes import NO_COUNTS
from snapshots.changes.vocabulary import cause_title
from snapshots.errors import CatalogError, IncompleteHistory, InvalidArgument, RevisionNotFound
from snapshots.frames.columns import rows_where
from snapshots.frames.frame import Frame
from snapshots.history import History, Neighbours, Pair
from snapshots.models import SHOWN_FACTS, Fact, RevisionInfo, SideInfo, Spec
from snapshots.refs import series as series_of
from snapshots.refs import title
from snapshots.sources.lock_files import LockFile
from snapshots.spack.names import ROOT_STACK, natural_key
from snapshots.texts import (
    counted,
    few,
    in_words,
    minute,
    nearest_hint,
    nearest_names,
    percent,
    proven,
    short_hash,
    shortened,
    single_value,
    size,
    versioned,
)
from snapshots.timelines.packages import PackageTimeline
from snapshots.timelines.spans import Span, last_span

_MAX_LISTED = 10
_MAX_DEPENDENTS = 20
_LONGEST_GROUP = 30
_FACETS = ("target", "platform", "operating_system", "compiler")


# -- lists


def revision_lines(revisions: Sequence[RevisionInfo], history: History) -> Iterator[str]:
    """Yield a table with one line per revision. Narrow terminals show fewer columns."""
    columns = [
        TableColumn("revision", 0, attrgetter("ref"), text.name),
        TableColumn("last seen", 7, lambda row: minute(history.confirmed_at(row))),
        number("packages", 5, attrgetter("num_packages")),
        number("specs", 3, attrgetter("num_specs")),
        number("stacks", 6, attrgetter("known_stacks")),
        TableColumn("source", 4, _source),
        TableColumn("hashes", 9, proof_text),
        TableColumn("read from", 8, attrgetter("source.location"), text.quiet),
    ]
    return table(revisions, columns)


def _source(revision: RevisionInfo) -> str:
    return f"{revision.source.kind}{' (synthetic)' if revision.source.synthetic else ''}"


def place_title(revision: SideInfo, stack: str | None) -> str:
    """Return the title of a revision, or of a stack in it."""
    return title(revision) if stack is None else f"the stack {stack} of {title(revision)}"


def contents_text(revision: RevisionInfo) -> str:
    """Return the size of a revision in words, such as '60 packages, 600 specs, 26 stacks'."""
    count = revision.known_stacks
    stacks = "stacks unknown" if count is None else counted(count, "stack")
    specs = counted(revision.num_specs, "spec")
    return f"{counted(revision.num_packages, 'package')}, {specs}, {stacks}"


def proof_text(revision: RevisionInfo) -> str:
    """Return how many hashes of a revision are proven, such as '221 proven, 2 spliced'."""
    unproven = [(counts.reason.value, counts.num_specs) for counts in revision.unproven or ()]
    return proven(revision.num_proven, unproven)


def publication_lines(publications: Sequence[Publication]) -> Iterator[str]:
    """Yield one line for each revision that an import published or found unchanged."""
    if not publications:
        yield "nothing new, nothing published"
    for publication in publications:
        revision, damaged = publication.revision, "its stored content was damaged, and is replaced"
        facts = contents_text(revision)
        if revision.num_proven is not None:
            facts += f"; hashes: {proof_text(revision)}"
        if publication.is_new:
            synthetic = " (synthetic)" if revision.source.synthetic else ""
            end = f"; {damaged}" if publication.is_repaired else ""
            yield f"{revision.ref}: published {facts}{synthetic}{end}"
        else:
            what = damaged if publication.is_repaired else "unchanged, nothing published"
            yield f"{revision.ref}: {what}: {facts}"


def _part_columns(kind: str) -> list[TableColumn]:
    """Return the columns of packages or stacks, of which each row is a dictionary."""
    return [
        TableColumn(kind, 0, lambda row: row["name"], text.name),
        *([TableColumn("newest", 1, lambda row: row["versions"][0])] if kind == "package" else ()),
        *([number("versions", 3, lambda row: len(row["versions"]))] if kind == "package" else ()),
        *([number("packages", 2, lambda row: row["packages"])] if kind == "stack" else ()),
        number("specs", 2, lambda row: row["specs"]),
        *([number("stacks", 4, lambda row: row["stacks"])] if kind == "package" else ()),
        number("size", 5, lambda row: size(row["size"])),
    ]


def package_lines(frame: Frame, stack: str | None, search: str | None) -> list[str]:
    """Return a table of the packages by name, only those of a stack or with a text in their name.

    It is empty if there are none. ``stacks`` does not count root.
    """
    mask = np.ones(len(frame), np.bool_) if stack is None else frame.in_stack(stack)
    rows: list[dict[str, Any]] = []
    for code in np.flatnonzero(frame.packages_having(mask)).tolist():
        name, own = frame.packages[code], frame.slice_of(code)
        if (search or "").lower() in name.lower():
            specs = own.start + rows_where(mask[own])
            stacks = [one for one, _ in frame.stacks.item_counts(specs)]
            row = {"name": name, "specs": len(specs), "size": frame.size.total(specs)}
            row["versions"] = frame.version.present(specs)[::-1]
            row["stacks"] = sum(one != ROOT_STACK for one in stacks) if stacks else None
            rows.append(row)
    return list(table(rows, _part_columns("package")))


def stack_lines(frame: Frame) -> list[str]:
    """Return a table of the stacks by name, including root; empty if the source lists none."""
    rows = []
    for name in frame.stacks.items:
        mask = frame.in_stack(name)
        row = {"name": name, "specs": int(mask.sum()), "size": frame.size.total(rows_where(mask))}
        rows.append(row | {"packages": int(frame.packages_having(mask).sum())})
    rows = [row for row in rows if row["specs"]]
    return list(table(rows, _part_columns("stack")))


def in_natural_order(frame: Frame, mask: Mask) -> list[int]:
    """Return the rows of a mask: packages in natural order, their specs in the frame's order."""
    keys, codes = list(map(natural_key, frame.packages)), frame.package.codes
    return sorted(np.flatnonzero(mask).tolist(), key=lambda row: keys[codes[row]])


def spec_list_lines(specs: Iterable[Spec]) -> Iterator[str]:
    """Yield a line per spec: its short hash, and what not all listed specs of its package have.

    The variants that all of them have are in a line before them, with the name of the package. A
    namespace is stated where specs of several are otherwise alike.
    """
    for name, inside in groupby(specs, key=attrgetter("name")):
        of_package = [*inside]
        common: set[str] = set()
        if len(of_package) > 1:
            common = reduce(and_, ({*spec.variants} for spec in of_package))
        if common:
            yield f"{text.name(name)}: {' '.join(sorted(common))}"
        namespaces: defaultdict[str, set[str | None]] = defaultdict(set)
        for spec in of_package:
            namespaces[spec.short].add(spec.namespace)
        for spec in of_package:
            is_ambiguous = len(namespaces[spec.short]) > 1
            yield text.spec_line(spec, (is_ambiguous and spec.namespace) or "", common)


# -- everything about a revision, a package or a spec


def print_subject(opened: OpenedCatalog, words: Sequence[str]) -> None:
    """Print the subject that the words ``[REF] [PACKAGE|/HASH]`` name.

    A single word is a ref if such a revision exists; otherwise it is a package. Raises
    what ``History.resolve`` raises, and InvalidArgument, CatalogError or AmbiguousHash if there is
    no such subject.
    """
    if not words:
        _print_revision(opened, opened.revision(None))
        return
    *refs, subject = words
    revision = opened.history.resolve(refs[0]) if refs else None
    if subject.startswith("/"):
        _print_spec(opened, revision, subject)
    elif revision is not None:
        _print_package_in(opened, revision, subject)
    else:
        try:
            revision = opened.history.resolve(subject)
        except RevisionNotFound as error:
            if any(sign in subject for sign in "~@"):
                raise
            _print_newest_package(opened, subject, error)
        else:
            _print_revision(opened, revision)


def _with_counts(counts: Sequence[tuple[str, int]]) -> str:
    """Return values with their numbers of specs, such as '1.14.6 (12), 1.14.5 (3)'."""
    return ", ".join(f"{value} ({count:,})" for value, count in counts)


def _facets(frame: Frame, rows: Rows | slice) -> list[tuple[str, str]]:
    """Return the values of each distinguishing fact with their counts, by labels."""
    return [
        (f"{in_words(name).capitalize()}s", _with_counts(frame.facet(name, rows)))
        for name in _FACETS
    ]


def _print_revision(opened: OpenedCatalog, revision: RevisionInfo) -> None:
    """Print a revision, its neighbours, its contents, and the revisions with the same contents."""
    history, frame = opened.history, opened.frame(revision)
    series = series_of(revision.tag)
    place, num_revisions = len(history.earlier(revision)) + 1, len(history.of_series(series))
    confirmed_at = history.confirmed_at(revision)
    before, after = history.previous(revision), history.next(revision)

    def lines() -> Iterator[str]:
        total = "" if revision.total_size is None else f", {size(revision.total_size)}"
        same = few(list(map(title, history.others_of(revision))), _MAX_LISTED)
        seen = "" if confirmed_at == revision.taken_at else minute(confirmed_at)
        source = f"{text.source_text(revision.source)}, read by {revision.source.importer}"
        yield text.digest(f"revision {revision.ref}")
        yield from labelled(
            [
                ("Series", f"{series}, revision {place:,} of {num_revisions:,}"),
                ("Content", revision.digest),
                ("Also published as", same),
                ("Taken at", minute(revision.taken_at)),
                ("Last seen", seen),
                ("Published at", minute(revision.published_at)),
                ("Source", source + (", synthetic" if revision.source.synthetic else "")),
                ("Holds", contents_text(revision) + total),
                ("Hashes", proof_text(revision)),
                ("Before", _neighbour(opened, before, revision, before)),
                ("After", _neighbour(opened, revision, after, after)),
                *_facets(frame, slice(None)),
            ]
        )
        if stacks := stack_lines(frame):
            yield from ("", *stacks)

    print_answer(opened, "Revision", {"ref": revision.ref}, lines())


def _neighbour(
    opened: OpenedCatalog,
    base: RevisionInfo | None,
    head: RevisionInfo | None,
    shown: RevisionInfo | None,
) -> str:
    """Return one of two neighbours, and the numbers of changes between them, if stored."""
    if base is None or head is None or shown is None:
        return "none"
    counts = opened.catalog.changes.counts.get(Neighbours(base, head).pair)
    if base.digest == head.digest:
        counts = NO_COUNTS
    return title(shown) + (f": {histories.counts_text(counts)}" if counts is not None else "")


def _print_package_in(opened: OpenedCatalog, revision: RevisionInfo, name: str) -> None:
    frame = opened.frame(revision)
    if frame.rows_of(name) is None:
        seen = _seen(opened, revision, name)
        end = f"; {seen}" if seen else nearest_hint(nearest_names(name, frame.packages))
        raise InvalidArgument("PACKAGE", f"{title(revision)} does not have {name!r}{end}")
    _print_package(opened, opened.package_timeline(name, series_of(revision.tag)), revision)


def _seen(opened: OpenedCatalog, revision: RevisionInfo, name: str) -> str | None:
    """Return when a package that a revision lacks was in its series; None if it never was."""
    try:
        timeline = opened.package_timeline(name, series_of(revision.tag))
    except InvalidArgument:
        return None
    until = {*opened.history.earlier(revision), *opened.history.seen(revision)}
    heads = [entry.head for entry in timeline.entries]  # newest first
    earlier = [head for head in heads if head in until]
    later = [head for head in heads if head not in until]
    seen = [f"it was removed in {title(earlier[0])}"] if earlier else []
    if later:
        seen.append(f"it {'is back' if earlier else 'was added'} in {title(later[-1])}")
    return ", ".join(seen)


def _print_newest_package(opened: OpenedCatalog, name: str, no_ref: RevisionNotFound) -> None:
    """Print a package as it was last seen; ``no_ref`` is the error of its name as a ref."""
    try:
        timeline = opened.package_timeline(name, opened.series_or_main())
    except InvalidArgument as error:
        nearest = ", ".join(nearest_names(name, opened.history.tags))
        reason = no_ref.reason + (f" (nearest: {nearest})" if nearest else "")
        raise InvalidArgument("REF or PACKAGE", f"{reason}, and {error.reason}") from None
    _print_package(opened, timeline)


def _print_package(
    opened: OpenedCatalog, timeline: PackageTimeline, revision: RevisionInfo | None = None
) -> None:
    """Print a package in a revision, by default the last that has it, and its timeline."""
    revision = revision or timeline.last_seen
    frame = opened.frame(revision)
    rows = frame.rows_of(timeline.name) or slice(0, 0)
    gone_in, newest = opened.history.next(timeline.last_seen), timeline.entries[0]

    def lines() -> Iterator[str]:
        total = frame.size.total(rows)
        num_specs = counted(rows.stop - rows.start, "spec")
        yield text.name(f"{timeline.name} in {title(revision)}")
        yield from labelled(
            [
                ("Holds", f"{num_specs}{'' if total is None else f', {size(total)}'}"),
                ("Versions", _with_counts(frame.version.counts(rows)[::-1])),
                ("Stacks", _with_counts(frame.facet("stacks", rows))),
                *_facets(frame, rows),
                ("Series", timeline.series),
                ("First seen", title(timeline.first_seen)),
                ("Last seen", title(timeline.last_seen)),
                ("Removed in", title(gone_in) if gone_in else ""),
                ("Last change", f"{title(newest.head)}: {histories.package_line(newest)}"),
                ("Changes", f"{counted(len(timeline.entries), 'revision')} changed it"),
            ]
        )
        yield from ("", *spec_list_lines(map(frame.spec, range(rows.start, rows.stop))))

    variables = {"ref": revision.ref, "package": timeline.name, "series": timeline.series}
    print_answer(opened, "Package", variables, lines())


def _print_spec(opened: OpenedCatalog, revision: RevisionInfo | None, word: str) -> None:
    """Print the spec whose hash begins with a word, in a revision or the newest that has it.

    The specs that it replaced, and that replaced it, are those of the last time that it was added
    and removed.
    """
    past = opened.hash_history(word if revision is None else _hash_in(opened, revision, word))
    shown_in = revision or past.newest
    row, frame = opened.row_of(shown_in, past.hash), opened.frame(shown_in)
    spec = frame.spec(row)

    def lines() -> Iterator[str]:
        yield text.name(spec.short)
        facts = [
            (fact.label or in_words(fact.name).capitalize(), _fact_text(spec, shown_in, fact))
            for fact in SHOWN_FACTS.values()
        ]
        yield from labelled([*facts, ("As of", title(shown_in))])
        side = Side(frame, opened.library.dependencies.get(shown_in.digest))
        yield from ("", *_dependency_lines(side, row), "", *_dependent_lines(side, row))
        yield from ("", "Available in:", *histories.span_lines(past.spans, "  "))
        newest = max(past.spans, key=lambda span: span.last.taken_at)
        if newest.reason_came in (SpecChangeReason.REBUILT, SpecChangeReason.REPLACES):
            yield from _counterpart_lines(opened, past.hash, newest.first)
        if newest.gone_in is not None and newest.reason_gone is SpecChangeReason.REPLACED:
            yield from _counterpart_lines(opened, past.hash, newest.gone_in)

    variables = {"ref": revision and revision.ref, "hash": past.hash}
    print_answer(opened, "Spec", variables, lines())


def _hash_in(opened: OpenedCatalog, revision: RevisionInfo, word: str) -> str:
    """Return the hash in a revision that begins with a prefix, with or without its slash."""
    prefix = word.removeprefix("/").lower()
    frame = opened.frame(revision)
    row = frame.row_of_prefix(prefix)
    if row is None:
        reason = f"{title(revision)} has none that begins with {prefix!r}"
        raise InvalidArgument("HASH", f"{reason}; omit the revision to look in all")
    return frame.hashes.at(row)


def _counterpart_lines(opened: OpenedCatalog, hash_: str, head: RevisionInfo) -> Iterator[str]:
    """Yield the counterpart of a hash in the revision that it was added or removed in."""
    if (base := opened.history.previous(head)) is None:
        return
    why = opened.library.explain(base, head)
    before, after, pairs = why.base.frame, why.head.frame, why.counterparts
    row, gone = after.hashes.find(hash_), before.hashes.find(hash_)
    if row is not None and (other := int(pairs.base_of[row])) >= 0:
        words, places = "Replaced", (other, row)
        shown = before.hashes.at(other)
    elif gone is not None and (other := int(pairs.head_of[gone])) >= 0:
        words, places = "Replaced by", (gone, other)
        shown = after.hashes.at(other)
    else:
        return
    differences = pair_text(before.spec(places[0]), after.spec(places[1]))
    yield f"{words} /{short_hash(shown)} in {title(head)}: {differences}"


def _fact_text(spec: Spec, revision: RevisionInfo, fact: Fact) -> str:
    value = getattr(spec, fact.name)
    if fact.name == "stacks" and revision.known_stacks is None:
        return "unknown"
    if fact.name == "dependencies" or (value is None and fact.is_exceptional):
        return ""
    if value is None:
        return "unknown" if fact.may_be_unknown else "none"
    if fact.is_bytes:
        return f"{size(value)} ({counted(value, 'byte')})"
    if isinstance(value, tuple):
        return " ".join(value) or "none"
    return single_value(value)


def _dependency_lines(side: Side, row: int) -> Iterator[str]:
    """Yield the direct dependencies of a row."""
    graph = side.graph
    if not graph.known[row]:
        yield "Its dependencies are unknown."
        return
    reached = graph.reached_from(row)
    if not len(reached.nodes):
        yield "It has no dependencies."
        return
    yield f"Depends on {counted(len(reached.nodes), 'spec')} directly:"
    for node, edge in zip(reached.nodes.tolist(), reached.edges.tolist(), strict=True):
        frame, place = side.at(node)
        facts = ", ".join(text.types_of(int(graph.types[edge])))
        if virtuals := graph.virtuals.at(edge):
            facts += f" as {', '.join(virtuals)}"
        if (path := frame.columns["external_path"].at(place)) is not None:
            facts += f", external at {path}"
        elif node >= graph.num_rows:
            facts += ", not in the revision"
        name = versioned(frame.package.at(place), frame.version.at(place))
        yield f"  {short_hash(frame.hashes.at(place))} {name} ({facts})"


def _dependent_lines(side: Side, row: int) -> Iterator[str]:
    """Yield the specs of the revision that directly depend on a row."""
    graph = side.graph
    nodes = graph.reached_from(row, upward=True).nodes.tolist() if graph.is_known else []
    specs = [side.frame.spec(node) for node in nodes if node < graph.num_rows]
    if not specs:
        yield "Nothing in the revision depends on it." if graph.is_known else "Dependents unknown."
        return
    yield f"{counted(len(specs), 'spec')} {'needs' if len(specs) == 1 else 'need'} it directly:"
    for spec in specs[:_MAX_DEPENDENTS]:
        yield f"  {short_hash(spec.hash)} {versioned(spec.name, spec.version)}"
    if (more := len(specs) - _MAX_DEPENDENTS) > 0:
        yield f"  and {more:,} more"


# -- the specs of a lock file


def print_check(location: str, locked: LockFile, ref: str | None) -> Lookup:
    """Look up the specs of a lock file in a side, and print which it has.

    By default, that is the newest revision of the main series.
    """
    requested = RequestedSpecs(locked.specs)
    opened, revision = open_side(location, ref)
    lookup = Lookup(requested, opened.frame(revision))

    def lines() -> Iterator[str]:
        writer = "" if locked.writer is None else f", for a lock file of {locked.writer}"
        yield f"Searched {title(revision)}{writer}"
        yield from _count_lines(locked, lookup)
        if locked.left_out:
            names = [f"{versioned(it.name, it.version)} ({it.why.value})" for it in locked.left_out]
            what = "Not looked up, because build caches do not contain them"
            yield f"{what}: {', '.join(names)}."
        yield from _missing_lines(opened, revision, lookup)

    variables = {"ref": side_name(revision), "specs": spec_inputs(locked.specs)}
    print_answer(opened, "Check", variables, lines())
    return lookup


def _count_lines(locked: LockFile, lookup: Lookup) -> Iterator[str]:
    """Yield the numbers of specs present: of the roots, of each group of them, and of all."""
    specs, rows = lookup.requested.specs, lookup.rows.tolist()
    is_there = {spec.hash: row >= 0 for spec, row in zip(specs, rows, strict=True)}
    num_roots, found_roots = lookup.requested.num_roots, lookup.num_roots_found
    counts = [("roots", found_roots, num_roots)]
    for group in locked.groups:
        roots = [is_there[root] for root in group.roots if root in is_there]
        counts.append((f"  {shortened(group.name, _LONGEST_GROUP)}", sum(roots), len(roots)))
    others = lookup.num_found - found_roots, len(specs) - num_roots
    counts += [("dependencies", *others), ("all", lookup.num_found, len(specs))]
    digits, widest = len(f"{len(specs):,}"), max(len(name) for name, *_ in counts)
    for name, present, wanted in counts:
        numbers = f"{present:>{digits},} of {wanted:>{digits},}"
        yield f"  {name:<{widest}}  {numbers}  {percent(present, wanted):>7}"


def _missing_lines(opened: OpenedCatalog, revision: SideInfo, lookup: Lookup) -> Iterator[str]:
    """Yield the missing specs, a line each, by what became of them."""
    specs = [lookup.requested.specs[place] for place in lookup.missing.tolist()]
    fates = what_became(opened, {spec.hash: spec.name for spec in specs}, revision)
    by_fate: defaultdict[str, list[str]] = defaultdict(list)
    for nth, (spec, row) in enumerate(zip(specs, lookup.nearest.tolist(), strict=True)):
        nearest = "no other spec of the package is available"
        if row >= 0:
            other = lookup.frame.spec(row)
            # The hash of a recipe means nothing to a reader.
            what = [
                "another recipe" if change.path == "package_hash" else field_text(change)
                for change in lookup.differences(nth)
            ]
            named = f"{short_hash(other.hash)} {versioned(other.name, other.version)}"
            nearest = f"nearest {named}: {'; '.join(what) or 'only its dependencies differ'}"
        name = text.name(versioned(spec.name, spec.version))
        root = ", a root" if spec.is_root else ""
        line = f"  {text.removed('-')} {short_hash(spec.hash)} {name}{root}; {nearest}"
        by_fate[fates.get(spec.hash, "never seen in this catalog")].append(line)
    for fate, group in sorted(by_fate.items(), key=lambda item: -len(item[1])):
        yield from ("", f"{counted(len(group), 'spec')}: {fate}")
        for line in group:
            yield line


def what_became(
    opened: OpenedCatalog, names: Mapping[str, str], revision: SideInfo
) -> dict[str, str]:
    """Return what became of hashes, each with the name of its package, before a revision.

    A hash that no revision ever had is not in the result. The series of the revision takes
    precedence. With a note, everything is unknown if the history cannot be read; the same for a
    file.
    """
    unknown = dict.fromkeys(names, "it is not known whether they ever were in this catalog")
    if revision.tag is None or not names:
        return unknown
    try:
        opened = opened.complete(causes=True)
        past = opened.library.history_queries
        histories = past.hash_histories(opened.history, names.items())
        spans = {it: last_span(of, revision, opened.history) for it, of in histories.items()}
        pairs = {
            it: (names[it], Pair(span.last.digest, span.gone_in.digest))
            for it, span in spans.items()
            if span.gone_in is not None
        }
        causes = past.package_causes(opened.history, None, frozenset(pairs.values()))
    except (CatalogError, IncompleteHistory) as error:
        note(f"It is unknown when they were last there: {error}")
        return unknown
    first = {it: causes[pair][0][0] for it, pair in pairs.items() if causes.get(pair)}
    return {
        it: _fate_text(span, cause_title(first[it].name) if it in first else "")
        for it, span in spans.items()
    }


def _fate_text(span: Span, cause: str) -> str:
    """Return when a hash was removed, why, and what caused it."""
    if span.gone_in is None or span.reason_gone is None:
        return f"in {title(span.last)}, the newest of its series"
    what = f"removed in {title(span.gone_in)}: {in_words(span.reason_gone.value)}"
    is_replaced = span.reason_gone is SpecChangeReason.REPLACED
    return f"{what} because of {cause}" if cause and is_replaced else what
