"""All details of a revision, a package or a spec, printed as lines of text or as JSON."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from server.terminal.catalogs import OpenedCatalog
from server.terminal.documents import Question, print_answer
from server.terminal.printing import histories, listings, styles
from server.terminal.printing.comparisons import pair_text
from server.terminal.printing.layout import labelled, table, wrapped
from snapshots import texts
from snapshots.arrays import Rows
from snapshots.changes.reasons import SpecChangeReason
from snapshots.changes.sides import Side
from snapshots.changes.stored_changes import NO_COUNTS, PairCounts
from snapshots.errors import InvalidArgument, RevisionNotFound
from snapshots.frames.dependencies import DependencyGraph
from snapshots.frames.frame import Frame
from snapshots.history import Neighbours
from snapshots.models import SHOWN_FACTS, Fact, RevisionInfo, Spec
from snapshots.refs import series as series_of
from snapshots.refs import title
from snapshots.timelines.packages import PackageTimeline

Counts = Sequence[tuple[str, int]]
"""Values, each with its number of specs."""

_FACETS = ("target", "platform", "operating_system", "compiler")
_MAX_SAME = 5
_MAX_DEPENDENTS = 20
_REF_AND_SUBJECT = 2


def print_subject(opened: OpenedCatalog, words: Sequence[str], series: str | None = None) -> None:
    """Print the subject that the words ``[REF] [PACKAGE|/HASH]`` name.

    A single word is a ref if such a revision exists; otherwise, or with a series, it is a package.
    Raises what ``History.resolve`` raises, and InvalidArgument, CatalogError or AmbiguousHash if
    there is no such subject.
    """
    if len(words) == _REF_AND_SUBJECT:
        revision = opened.history.resolve(words[0])
        if words[1].startswith("/"):
            _print_spec(opened, revision, words[1])
        else:
            _print_package_in(opened, revision, words[1])
    elif series is not None and words:
        timeline = opened.package_timeline(words[0], series)
        _print_package(opened, timeline.last_seen, timeline)
    elif series is not None:
        _print_revision(opened, opened.history.of_series(series)[0])
    elif not words:
        _print_revision(opened, opened.revision(None))
    elif words[0].startswith("/"):
        _print_spec(opened, None, words[0])
    else:
        try:
            revision = opened.history.resolve(words[0])
        except RevisionNotFound as error:
            if any(sign in words[0] for sign in "~@"):
                raise
            _print_newest_package(opened, words[0], error)
        else:
            _print_revision(opened, revision)


# -- values that specs have


def _facets(frame: Frame, rows: Rows | slice) -> dict[str, Counts]:
    """Return the counts of each distinguishing fact, for some rows of a frame."""
    return {name: frame.facet(name, rows) for name in _FACETS}


def _with_counts(counts: Counts) -> str:
    """Return values with their numbers of specs, such as '1.14.6 (12), 1.14.5 (3)'."""
    return ", ".join(f"{value} ({count:,})" for value, count in counts)


def _facet_labels(facets: Mapping[str, Counts]) -> Iterator[tuple[str, str]]:
    for name, counts in facets.items():
        yield f"{texts.in_words(name).capitalize()}s", _with_counts(counts)


# -- a revision


class Neighbour(msgspec.Struct, frozen=True):
    """A neighbour of a revision, and the counts of the changes between the two if available."""

    revision: RevisionInfo
    counts: PairCounts | None

    def text(self, how: str) -> str:
        """Return the neighbour, and the changes in the direction that ``how`` describes."""
        counts = self.counts
        if counts is None:
            return title(self.revision)
        return f"{title(self.revision)}, {how}: {histories.counts_text(counts)}"


def _print_revision(opened: OpenedCatalog, revision: RevisionInfo) -> None:
    """Print a revision, its neighbours, its contents, and the revisions with the same contents."""
    history, frame = opened.history, opened.frame(revision)
    series = series_of(revision.tag)
    place, num_revisions = len(history.earlier(revision)) + 1, len(history.of_series(series))
    confirmed_at = history.confirmed_at(revision)
    before = _neighbour(opened, revision, history.previous(revision), is_before=True)
    after = _neighbour(opened, revision, history.next(revision), is_before=False)
    same = history.others_of(revision)
    stacks, facets = listings.stack_listing(frame), _facets(frame, slice(None))

    def lines() -> Iterator[str]:
        source = revision.source
        source_text = listings.source_text(source)
        version = f", version {source.version}" if source.version else ""
        synthetic = ", synthetic" if source.synthetic else ""
        size_text = "" if revision.total_size is None else f", {texts.size(revision.total_size)}"
        yield styles.digest(f"revision {revision.ref}")
        yield from labelled(
            [
                ("Series", f"{series}, revision {place:,} of {num_revisions:,}"),
                ("Content", revision.digest),
                ("Also published as", texts.few(list(map(title, same)), _MAX_SAME)),
                ("Taken at", texts.minute(revision.taken_at)),
                (
                    "Last seen",
                    "" if confirmed_at == revision.taken_at else texts.minute(confirmed_at),
                ),
                ("Published at", texts.minute(revision.published_at)),
                ("Source", f"{source_text}{version}{synthetic}, read by {source.importer}"),
                ("Holds", listings.contents_text(revision) + size_text),
                ("Hashes", listings.proof_text(revision)),
                ("Before", before.text("from it to this") if before else "none"),
                ("After", after.text("from this to it") if after else "none"),
                *_facet_labels(facets),
            ]
        )
        if stacks:
            yield ""
            yield from table(stacks, listings.STACK_COLUMNS)

    question = Question("Revision", {"ref": revision.ref})
    print_answer(opened, question, lines())


def _neighbour(
    opened: OpenedCatalog, revision: RevisionInfo, other: RevisionInfo | None, *, is_before: bool
) -> Neighbour | None:
    if other is None:
        return None
    pair = Neighbours(other, revision) if is_before else Neighbours(revision, other)
    is_equal = other.digest == revision.digest
    return Neighbour(other, NO_COUNTS if is_equal else opened.catalog.changes.counts.get(pair.pair))


# -- a package


def _print_package_in(opened: OpenedCatalog, revision: RevisionInfo, name: str) -> None:
    frame = opened.frame(revision)
    if frame.rows_of(name) is None:
        seen = _seen(opened, revision, name)
        end = f"; {seen}" if seen else texts.nearest_hint(texts.nearest_names(name, frame.packages))
        raise InvalidArgument("PACKAGE", f"{title(revision)} does not have {name!r}{end}")
    _print_package(opened, revision, opened.package_timeline(name, series_of(revision.tag)))


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
        nearest = ", ".join(texts.nearest_names(name, opened.history.tags))
        reason = no_ref.reason + (f" (nearest: {nearest})" if nearest else "")
        raise InvalidArgument("REF or PACKAGE", f"{reason}, and {error.reason}") from None
    _print_package(opened, timeline.last_seen, timeline)


def _print_package(
    opened: OpenedCatalog, revision: RevisionInfo, timeline: PackageTimeline
) -> None:
    """Print a package in a revision, and its timeline in the revision's series."""
    frame = opened.frame(revision)
    rows = frame.rows_of(timeline.name) or slice(0, 0)
    num_specs, total_size = rows.stop - rows.start, frame.size.total(rows)
    # Versions are in descending order, the others by their number of specs.
    versions = frame.version.counts(rows)[::-1]
    stacks, facets = frame.facet("stacks", rows), _facets(frame, rows)
    gone_in, newest = opened.history.next(timeline.last_seen), timeline.entries[0]

    def lines() -> Iterator[str]:
        size_text = "" if total_size is None else f", {texts.size(total_size)}"
        yield styles.name(f"{timeline.name} in {title(revision)}")
        yield from labelled(
            [
                ("Holds", texts.counted(num_specs, "spec") + size_text),
                ("Versions", _with_counts(versions)),
                ("Stacks", _with_counts(stacks)),
                *_facet_labels(facets),
                ("Series", timeline.series),
                ("First seen", title(timeline.first_seen)),
                ("Last seen", title(timeline.last_seen)),
                *([("Removed in", title(gone_in))] if gone_in else []),
                ("Last change", f"{title(newest.head)}: {histories.package_line(newest)}"),
                ("Changes", f"{texts.counted(len(timeline.entries), 'revision')} changed it"),
            ]
        )

    question = Question(
        "Package", {"ref": revision.ref, "package": timeline.name, "series": timeline.series}
    )
    print_answer(opened, question, lines())


# -- a spec


class DirectDependency(msgspec.Struct, frozen=True, kw_only=True):
    """A direct dependency; ``version`` is None if it is unknown.

    ``external_path`` is the path where it is installed outside Spack, if it is external.
    """

    name: str
    version: str | None
    hash: str
    types: Sequence[str]
    virtuals: Sequence[str]
    is_in_revision: bool
    external_path: str | None


class Counterpart(msgspec.Struct, frozen=True):
    """The spec that another one replaced in a revision, or was replaced by, and the differences."""

    revision: RevisionInfo
    spec: Spec
    text: str

    def lines(self, words: str) -> Iterator[str]:
        """Yield a heading with the counterpart, and the differences."""
        yield from wrapped(f"{words} /{self.spec.hash} in {title(self.revision)}:")
        yield from wrapped(f"  {self.text}")


def _print_spec(opened: OpenedCatalog, revision: RevisionInfo | None, text: str) -> None:
    """Print the spec whose hash begins with a text, in a revision or the newest that has it.

    The specs that it replaced, and that replaced it, are those of the last time that it was added
    and removed.
    """
    past = opened.hash_history(text if revision is None else _hash_in(opened, revision, text))
    shown_in = revision or past.newest
    row, frame = opened.row_of(shown_in, past.hash), opened.frame(shown_in)
    graph = opened.library.dependencies.get(shown_in.digest)
    spec = frame.spec(row)
    dependencies = _dependencies_of(Side(frame, graph), row)
    dependents = _dependents_of(frame, graph, row)
    newest = max(past.spans, key=lambda span: span.last.taken_at)
    took_place_of = replaced_by = None
    if newest.reason_came in (SpecChangeReason.REBUILT, SpecChangeReason.REPLACES):
        took_place_of = _counterpart(opened, past.hash, newest.first)
    if newest.gone_in is not None and newest.reason_gone is SpecChangeReason.REPLACED:
        replaced_by = _counterpart(opened, past.hash, newest.gone_in)

    def lines() -> Iterator[str]:
        yield from map(styles.name, wrapped(spec.short))
        facts = [
            (fact.label or texts.in_words(fact.name).capitalize(), _fact_text(spec, shown_in, fact))
            for fact in SHOWN_FACTS.values()
        ]
        yield from labelled([*facts, ("As of", title(shown_in))])
        yield from _dependency_lines(dependencies)
        yield from _dependent_lines(dependents)
        yield ""
        yield "Available in:"
        yield from histories.span_lines(past.spans, "  ")
        if took_place_of is not None:
            yield from took_place_of.lines("Replaced")
        if replaced_by is not None:
            yield from replaced_by.lines("Replaced by")

    question = Question("Spec", {"ref": revision and revision.ref, "hash": past.hash})
    print_answer(opened, question, lines())


def _hash_in(opened: OpenedCatalog, revision: RevisionInfo, text: str) -> str:
    """Return the hash in a revision that begins with a prefix, with or without its slash."""
    prefix = text.removeprefix("/").lower()
    frame = opened.frame(revision)
    row = frame.row_of_prefix(prefix)
    if row is None:
        reason = f"{title(revision)} has none that begins with {prefix!r}"
        raise InvalidArgument("HASH", f"{reason}; omit the revision to look in all")
    return frame.hashes.at(row)


def _counterpart(opened: OpenedCatalog, text: str, head: RevisionInfo) -> Counterpart | None:
    """Return the counterpart of a hash in the revision that it was added or removed in."""
    base = opened.history.previous(head)
    if base is None:
        return None
    why = opened.library.explain(base, head)
    before, after, pairs = why.base.frame, why.head.frame, why.counterparts
    row, gone = after.hashes.find(text), before.hashes.find(text)
    if row is not None and (other := int(pairs.base_of[row])) >= 0:
        spec = before.spec(other)
        return Counterpart(head, spec, pair_text(spec, after.spec(row)))
    if gone is not None and (other := int(pairs.head_of[gone])) >= 0:
        spec = after.spec(other)
        return Counterpart(head, spec, pair_text(before.spec(gone), spec))
    return None


def _dependencies_of(side: Side, row: int) -> list[DirectDependency] | None:
    """Return the direct dependencies of a row; None if they are unknown."""
    graph = side.graph
    if not graph.known[row]:
        return None
    reached = graph.reached_from(row)
    dependencies = []
    for node, edge in zip(reached.nodes.tolist(), reached.edges.tolist(), strict=True):
        frame, place = side.at(node)
        dependencies.append(
            DirectDependency(
                name=frame.package.at(place),
                version=frame.version.at(place),
                hash=frame.hashes.at(place),
                types=listings.types_of(int(graph.types[edge])),
                virtuals=graph.virtuals.at(edge),
                is_in_revision=node < graph.num_rows,
                external_path=frame.columns["external_path"].at(place),
            )
        )
    return dependencies


def _dependents_of(frame: Frame, graph: DependencyGraph, row: int) -> list[Spec] | None:
    """Return the specs that directly depend on a row; None if no dependencies are known."""
    if not graph.is_known:
        return None
    nodes = graph.reached_from(row, upward=True).nodes.tolist()
    return [frame.spec(node) for node in nodes if node < graph.num_rows]


def _fact_text(spec: Spec, revision: RevisionInfo, fact: Fact) -> str:
    value = getattr(spec, fact.name)
    if fact.name == "stacks" and revision.known_stacks is None:
        return "unknown"
    if fact.name == "dependencies" or (value is None and fact.is_exceptional):
        return ""
    if value is None:
        return "unknown" if fact.may_be_unknown else "none"
    if fact.is_bytes:
        return f"{texts.size(value)} ({texts.counted(value, 'byte')})"
    if isinstance(value, tuple):
        return " ".join(value) or "none"
    return texts.single_value(value)


def _dependency_lines(dependencies: Sequence[DirectDependency] | None) -> Iterator[str]:
    yield ""
    if dependencies is None:
        yield "Its dependencies are unknown."
        return
    if not dependencies:
        yield "It has no dependencies."
        return
    yield f"Depends on {texts.counted(len(dependencies), 'spec')} directly:"
    for needed in dependencies:
        virtuals = f" as {', '.join(needed.virtuals)}" if needed.virtuals else ""
        outside = "" if needed.is_in_revision else ", not in the revision"
        if needed.external_path is not None:
            outside = f", external at {needed.external_path}"
        facts = f"({', '.join(needed.types)}{virtuals}{outside})"
        yield from wrapped(
            f"  /{needed.hash} {texts.versioned(needed.name, needed.version)} {facts}"
        )


def _dependent_lines(dependents: Sequence[Spec] | None) -> Iterator[str]:
    if dependents is None:
        return
    yield ""
    if not dependents:
        yield "Nothing in the revision depends on it."
        return
    needs = "needs" if len(dependents) == 1 else "need"
    yield f"{texts.counted(len(dependents), 'spec')} {needs} it directly:"
    for spec in dependents[:_MAX_DEPENDENTS]:
        yield from wrapped(f"  /{spec.hash} {texts.versioned(spec.name, spec.version)}")
    if len(dependents) > _MAX_DEPENDENTS:
        yield f"  and {len(dependents) - _MAX_DEPENDENTS:,} more"
