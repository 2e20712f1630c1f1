"""Changes between two revisions and their causes, as lines of text and as JSON documents.

docs/notes.md describes the documents. Their names are those of the API, in snake case.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import groupby, pairwise
from operator import attrgetter
from typing import Any

import msgspec
import numpy as np
import orjson

from server.terminal.catalogs import open_sides
from server.terminal.printing import styles
from server.terminal.printing.commits import PAIRED, commit_lines, recipes_line
from server.terminal.printing.layout import Style, TableColumn, number, table, wrapped
from snapshots.catalog.library import Library
from snapshots.changes.causes import Causes, CauseStep
from snapshots.changes.costs import NO_COST, costs_by_number
from snapshots.changes.coverage import (
    CoverageChange,
    CoverageChangeKind,
    CoverageChanges,
)
from snapshots.changes.diff import SpecChange, SpecChangeKind
from snapshots.changes.explanation import Explanation
from snapshots.changes.package_changes import PackageChange, PackageChangeKind
from snapshots.changes.pairings import FieldChange, RowPairs, field_changes
from snapshots.changes.reasons import REASONS, SpecChangeReason
from snapshots.changes.sides import Side, frame_row
from snapshots.changes.vocabulary import PACKAGE_KINDS, cause_title
from snapshots.errors import InvalidArgument, UnknownPackage
from snapshots.frames.suggestions import require_names
from snapshots.models import CauseKind, SideInfo, Spec
from snapshots.notes import changelog
from snapshots.notes.changelog import Only
from snapshots.notes.sections import Section
from snapshots.notes.side_comparisons import SideComparison
from snapshots.refs import title
from snapshots.spack.names import ROOT_STACK, natural_key
from snapshots.texts import counted, distinct_prefixes, in_words, short_hash, single_value

# -- changes with their reasons


_MAX_MATCHES = 3
"""Maximum number of hashes that the error for an ambiguous prefix lists."""


class ReportedChange(msgspec.Struct, frozen=True):
    """A changed hash with its reason, counterpart and main cause.

    ``counterpart`` is the row, in the other revision, of the spec that it replaced or that replaced
    it. ``head_row`` is the row in head of whichever of the two is in head, and ``cause`` the number
    of the main cause. All three are None if there is no counterpart. ``why_ambiguous`` states what
    is unknown if only the hashes decided between several counterparts.
    """

    change: SpecChange
    reason: SpecChangeReason
    counterpart: int | None
    head_row: int | None
    cause: int | None
    why_ambiguous: str | None

    @property
    def rows(self) -> tuple[int | None, int | None]:
        """The rows in base and head, of the hash itself or else of its counterpart."""
        before, after = self.change.before, self.change.after
        other = self.counterpart
        return other if before is None else before, other if after is None else after


class ReportedComparison(SideComparison[SideInfo, Library], frozen=True, dict=True):
    """A comparison whose changed hashes are reported one by one."""

    @cached_property
    def reported(self) -> tuple[ReportedChange, ...]:
        """The changed hashes in scope, each with its reason."""
        specs, why = self.changes.specs, self.explanation
        reasons = why.reasons(specs, self.returned).tolist()
        of_specs = (why.counterpart_rows, why.head_rows, why.main_causes)
        numbers = (
            (None if value < 0 else value for value in column(specs).tolist())
            for column in of_specs
        )
        columns = (*numbers, why.why_ambiguous(specs))
        return tuple(
            ReportedChange(change, REASONS[reason], counterpart, head_row, cause, why_ambiguous)
            for change, reason, counterpart, head_row, cause, why_ambiguous in zip(
                specs, reasons, *columns, strict=True
            )
        )

    def change_of(self, text: str) -> ReportedChange:
        """Return the change of the hash that begins with a prefix, with or without its slash.

        Raises InvalidArgument if no changed hash begins with it, or several do.
        """
        prefix = text.removeprefix("/").lower()
        matches = [match for match in self.reported if match.change.hash.startswith(prefix)]
        if not matches:
            reason = f"no changed spec has a hash that begins with {prefix!r}"
            raise InvalidArgument("HASH", reason)
        if len(matches) > 1:
            hashes = distinct_prefixes([match.change.hash for match in matches[:_MAX_MATCHES]])
            more = ", ..." if len(matches) > _MAX_MATCHES else ""
            named = ", ".join(f"/{text}" for text in hashes) + more
            reason = f"{prefix!r} begins {len(matches):,} changed specs: {named}"
            raise InvalidArgument("HASH", reason)
        return matches[0]

    def own(self, reported: ReportedChange) -> Spec:
        """Return the spec of the hash itself, with its facts in head if head has it."""
        change = reported.change
        if change.after is not None:
            return self.whole.head.spec(change.after)
        return self.whole.base.spec(change.before or 0)

    def pair(self, reported: ReportedChange) -> tuple[Spec, Spec]:
        """Return the specs before and after a change.

        Raises ValueError if the spec has no counterpart and is only on one side.
        """
        before, after = reported.rows
        if before is None or after is None:
            raise ValueError(f"{reported.change.hash} has no counterpart")
        return self.whole.base.spec(before), self.whole.head.spec(after)


def compare(
    location: str, texts: tuple[str, str] | None, **scope: str | None
) -> ReportedComparison:
    """Return the comparison of the two sides that texts name, as ``open_sides`` reads them.

    ``scope`` are the fields of ``Only``. Raises what ``open_sides`` raises, InvalidArgument for
    names that neither side has, and UnknownPackage for an unknown name in a query.
    """
    opened, (base, head) = open_sides(location, texts)
    only, library = Only(**scope), opened.library
    require_names((opened.frame(base), opened.frame(head)), only.stack, only.package, sign="--")
    compared = ReportedComparison(base, head, library, only)
    if only.matching is not None and not any(mask.any() for mask in compared.matching or ()):
        # Otherwise, a misspelled name would read as "nothing changed".
        for unknown in library.unknown_names(head, only.matching):
            raise UnknownPackage(unknown.name, unknown.nearest)
    return compared


def without_replaced(changes: Sequence[ReportedChange]) -> list[ReportedChange]:
    """Return the changes without replaced specs whose counterpart is among them."""
    paired = {reported.head_row for reported in changes if reported.reason in PAIRED}
    return [
        reported
        for reported in changes
        if reported.reason is not SpecChangeReason.REPLACED or reported.head_row not in paired
    ]


# -- changes of specs, as lines


SIGNS: dict[SpecChangeKind, tuple[str, Style]] = {
    SpecChangeKind.ADDED: ("+", styles.added),
    SpecChangeKind.REMOVED: ("-", styles.removed),
    SpecChangeKind.CHANGED: ("=", styles.changed),
}
"""The sign and the style of each kind of change."""

_SHOWN_BY_FACTS = {CauseKind.VERSION, CauseKind.VARIANTS, CauseKind.COMPILER, CauseKind.TARGET}
_PAIR_SIGN = "~"
_INDENT = " " * 8


def title_lines(comparison: ReportedComparison) -> list[str]:
    """Return the titles of the two sides."""
    return wrapped(f"{title(comparison.base)} -> {title(comparison.head)}")


def difference_lines(comparison: ReportedComparison, *, stat: bool) -> Iterator[str]:
    """Yield the changes by package, or with ``stat`` one line per package; and totals."""
    yield from title_lines(comparison)
    packages = {change.name: change for change in comparison.changes.packages}
    in_order = sorted(
        comparison.reported,
        key=lambda reported: (natural_key(reported.change.name), reported.change.hash),
    )
    for name, inside in groupby(in_order, key=lambda reported: reported.change.name):
        shown = without_replaced([*inside])
        headline = f"{styles.name(name)}: {package_headline(packages[name])}"
        yield f"{headline} ({_counted(shown)})"
        if not stat:
            for reported in shown:
                lines = _pair_lines if reported.reason in PAIRED else _spec_lines
                yield from lines(comparison, reported)
    yield _totals(comparison.reported)


def _totals(changes: Sequence[ReportedChange]) -> str:
    """Return the numbers of hashes added, removed and changed, and of those with a counterpart."""
    kinds = Counter(reported.change.kind for reported in changes)
    hashes = ", ".join(f"{kinds[kind]:,} {kind.value}" for kind in SpecChangeKind)
    reasons = Counter(reported.reason for reported in changes)
    paired = [f"{reasons[reason]:,} {text}" for reason, text in PAIRED.items() if reasons[reason]]
    return f"{hashes} ({', '.join(paired)})" if paired else hashes


def _counted(changes: Iterable[ReportedChange]) -> str:
    """Return the numbers of rebuilt, replaced, added, removed and changed specs of a package."""
    counts = Counter(
        PAIRED.get(reported.reason, reported.change.kind.value) for reported in changes
    )
    order = (*PAIRED.values(), *(kind.value for kind in SpecChangeKind))
    return ", ".join(f"{counts[text]:,} {text}" for text in order if counts[text])


def package_headline(change: PackageChange) -> str:
    """Return the change of a package in words, such as 'upgraded 1.2 -> 1.3'."""
    kind = PACKAGE_KINDS[change.kind]
    if change.kind is PackageChangeKind.REBUILT:
        kind = in_words(Section.of(change).value)
    if change.kind in (PackageChangeKind.UPGRADED, PackageChangeKind.DOWNGRADED):
        kind += f" {change.newest_before} -> {change.newest_after}"
    return kind


def _pair_lines(comparison: ReportedComparison, reported: ReportedChange) -> Iterator[str]:
    before, after = comparison.pair(reported)
    hashes = f"{short_hash(before.hash)} → {short_hash(after.hash)}"
    text = f"  {_PAIR_SIGN} {hashes} {pair_text(before, after)}{_cause_text(comparison, reported)}"
    yield from map(styles.changed, wrapped(text, _INDENT))
    yield from map(styles.quiet, _ambiguity_lines(reported, "      "))


def _cause_text(comparison: ReportedComparison, reported: ReportedChange) -> str:
    """Return the main cause of a spec in parentheses; nothing if its own facts show the cause."""
    if reported.cause is None:
        return ""
    cause = comparison.explanation.causes.name_of(reported.cause)
    is_shown = cause.package == reported.change.name and cause.kind in _SHOWN_BY_FACTS
    return "" if is_shown else f" ({cause_title(cause)})"


def _spec_lines(comparison: ReportedComparison, reported: ReportedChange) -> Iterator[str]:
    change = reported.change
    spec = comparison.own(reported)
    sign, style = SIGNS[change.kind]
    for line in wrapped(f"  {sign} {change.hash} {spec.short}", _INDENT):
        yield style(line)
    if change.kind is SpecChangeKind.CHANGED:
        for field in comparison.changes.field_changes(change):
            yield from wrapped(f"      {field_text(field)}", _INDENT)
        return
    text = in_words(reported.reason.value)
    if reported.reason is SpecChangeReason.REPLACED:
        text += f" by {short_hash(comparison.pair(reported)[1].hash)}"
    yield styles.quiet(f"      {text}")
    yield from map(styles.quiet, _ambiguity_lines(reported, "      "))


def pair_text(before: Spec, after: Spec) -> str:
    """Return the differences of a spec from the one it replaced: version and other facts."""
    parts = [f"{after.name}@{_arrow(before.version, after.version)}"]
    off, on = _only_in(before.variants, after.variants), _only_in(after.variants, before.variants)
    if off or on:
        parts.append(_arrow(" ".join(off) or "nothing", " ".join(on) or "nothing"))
    if before.compiler != after.compiler:
        parts.append(f"%{_arrow(before.compiler or 'none', after.compiler or 'none')}")
    old, new = ((spec.platform, spec.operating_system, spec.target) for spec in (before, after))
    if old != new:
        parts.append(f"arch={_arrow('-'.join(old), '-'.join(new))}")
    if before.namespace != after.namespace and before.namespace and after.namespace:
        parts.append(f"namespace={_arrow(before.namespace, after.namespace)}")
    return " ".join(parts)


def _arrow(before: str, after: str) -> str:
    return after if before == after else f"{before} → {after}"


def field_text(change: FieldChange) -> str:
    """Return a changed fact; of a list, the items added and removed."""
    before, after = change.before, change.after
    if not isinstance(before, (list, tuple)):
        return f"{change.path}: {single_value(before)} -> {single_value(after)}"
    items = [f"+{_quoted(item)}" for item in _only_in(after, before)]
    items += [f"-{_quoted(item)}" for item in _only_in(before, after)]
    return f"{change.path}: {' '.join(items)}"


def _only_in(items: Sequence[str], others: Sequence[str]) -> list[str]:
    return sorted({*items} - {*others}, key=natural_key)


def _quoted(item: str) -> str:
    """Quote an item that has spaces or begins with a sign, as variants do."""
    return f"'{item}'" if item.startswith(("+", "-", "~")) or " " in item else item


# -- coverage, as lines


_CELL_SIGNS: dict[CoverageChangeKind, tuple[str, Style]] = {
    CoverageChangeKind.LOST: ("-", styles.removed),
    CoverageChangeKind.GAINED: ("+", styles.added),
}


def coverage_lines(comparison: ReportedComparison, cells: CoverageChanges) -> Iterator[str]:
    """Yield the lost and gained cells by package, and totals."""
    yield from title_lines(comparison)
    yield from coverage_cell_lines(cells)
    counts = ", ".join(f"{cells.count(kind):,} {kind.value}" for kind in CoverageChangeKind)
    dimensions = ", ".join(
        ["package", *(in_words(dimension.value) for dimension in cells.dimensions)]
    )
    yield f"{counts} ({dimensions})"


def coverage_cell_lines(cells: CoverageChanges) -> Iterator[str]:
    """Yield the cells by package, and below a lost one the nearest remaining spec."""
    for package, inside in groupby(cells, key=attrgetter("package")):
        yield styles.name(package)
        for cell in inside:
            sign, style = _CELL_SIGNS[cell.kind]
            text = f"  {sign} {' '.join(cell.values) or package}"
            yield from map(style, wrapped(text, _INDENT))
            if cell.kind is CoverageChangeKind.LOST:
                yield from map(styles.quiet, wrapped(_nearest(cells, cell), _INDENT))


def _nearest(cells: CoverageChanges, cell: CoverageChange) -> str:
    if not cell.nearest:
        return "      nothing of it is left"
    spec = cells.head.spec(cell.nearest[0])
    stacks = [stack for stack in spec.stacks if stack != ROOT_STACK]
    where = f" (stacks: {' '.join(stacks)})" if stacks else ""
    return f"      nearest: {spec.hash} {spec.short}{where}"


# -- causes, as lines


_BELOW_CAUSE = " " * 6
_MAX_TOGETHER = 5
"""Maximum number of causes listed that occur together with another."""


def rebuilds_lines(comparison: ReportedComparison, *, all_commits: bool = False) -> Iterator[str]:
    """Yield the number of specs that were rebuilt or replaced, and a table of the causes.

    For each cause, the table shows of how many specs it is the main cause and how many it reached.
    If the commits are known, it also shows the first one that explains the cause, or all of them
    with ``all_commits``.
    """
    if line := recipes_line(comparison):
        yield from wrapped(line)
    elif all_commits:
        yield from wrapped(f"no commits: {comparison.recipes.why_unknown}")
    reasons = Counter(reported.reason for reported in comparison.reported)
    rebuilt, replaced = (reasons[reason] for reason in PAIRED)
    yield from wrapped(
        f"{counted(rebuilt + replaced, 'spec')} replaced another: "
        f"{rebuilt:,} rebuilt unchanged, {replaced:,} whose own facts differ"
    )
    causes = comparison.explanation.causes
    head_rows = [reported.head_row for reported in comparison.reported if reported.reason in PAIRED]
    paired = np.array(head_rows, np.int32)
    rows = list(causes.counted(paired))
    if not rows:
        return
    columns = [
        number("rebuilt", 0, attrgetter("num_specs")),
        number("reached", 1, attrgetter("num_involved")),
        TableColumn("cause", 0, lambda row: _cause_and_others(causes, row.number), styles.name),
    ]
    if comparison.costs is not None:
        costs = costs_by_number(comparison.costs, paired, causes.main_of(paired))
        columns.insert(2, number("build time", 2, lambda row: str(costs.get(row.number, NO_COST))))
    head, *lines = table(rows, columns)
    yield head
    for row, line in zip(rows, lines, strict=True):
        yield line
        yield from commit_lines(comparison.recipes, row.number, _BELOW_CAUSE, all_=all_commits)


def _cause_and_others(causes: Causes, number: int) -> str:
    """Return a cause, followed in parentheses by those that occur together with it."""
    text = cause_title(causes.name_of(number))
    if together := causes.together_with(number):
        others = [cause_title(causes.name_of(other)) for other in together[:_MAX_TOGETHER]]
        more = causes.num_together(number) - len(others)
        text += f" (together with {', '.join(others)}{f' and {more:,} more' if more else ''})"
    return text


def stories_lines(
    comparison: ReportedComparison, changes: Sequence[ReportedChange]
) -> Iterator[str]:
    """Yield a full explanation of each change; nothing if there are no changes."""
    if changes:
        yield from title_lines(comparison)
    for reported in without_replaced(changes):
        yield from _story_lines(comparison, reported)


def _story_lines(comparison: ReportedComparison, reported: ReportedChange) -> Iterator[str]:
    own = comparison.own(reported)
    yield from wrapped(f"{styles.digest(own.hash)} {own.short}")
    if reported.counterpart is None:
        yield f"  {reported.change.kind.value}: {in_words(reported.reason.value)}"
        yield from _ambiguity_lines(reported, "  ")
        return
    before, after = comparison.pair(reported)
    is_removed = reported.reason is SpecChangeReason.REPLACED
    verb, other = ("replaced by", after) if is_removed else ("replaced", before)
    yield from wrapped(f"  {verb} {other.hash}: {pair_text(before, after)}")
    yield from _ambiguity_lines(reported, "  ")
    yield from _path_lines(comparison, reported)


def _ambiguity_lines(reported: ReportedChange, indent: str) -> Iterator[str]:
    """Yield the reason why a counterpart is ambiguous, if it is."""
    if reported.why_ambiguous is not None:
        yield from wrapped(f"{indent}{reported.why_ambiguous}")


def _path_lines(comparison: ReportedComparison, reported: ReportedChange) -> Iterator[str]:
    """Yield the main cause of a spec with a counterpart, the path to it, and other causes."""
    why, causes = comparison.explanation, comparison.explanation.causes
    row = reported.head_row
    if reported.cause is None or row is None:
        return
    main = cause_title(causes.name_of(reported.cause))
    yield from wrapped(f"  main cause: {styles.name(main)}")
    if unknown := causes.why_unknown(reported.cause):
        yield from wrapped(f"    {unknown}")
    yield from commit_lines(comparison.recipes, reported.cause, "    ", all_=True)
    path = path_facts(why, causes.path(row))
    for depth, step in enumerate(path if len(path) > 1 else ()):
        hashes = " → ".join(short_hash(step[side]) for side in ("before", "after") if step[side])
        yield f"    {'  ' * depth}{'↳ ' if depth else ''}{step['name']} {styles.digest(hashes)}"
    involved = causes.involved_in(np.array([row], np.int32)).numbers.tolist()
    others = [number for number in involved if number != reported.cause]
    if others:
        yield f"  also reached by: {counted(len(others), 'cause')}"
        for other in others:
            yield from wrapped(f"    {cause_title(causes.name_of(other))}")


# -- documents


def difference_document(comparison: ReportedComparison) -> dict[str, Any]:
    """Return the release notes as data, with every change of a spec and of a stack."""
    specs: dict[str, list[dict[str, Any]]] = {kind.value: [] for kind in SpecChangeKind}
    all_facts = spec_changes_facts(comparison, comparison.reported)
    for reported, facts in zip(comparison.reported, all_facts, strict=True):
        specs[reported.change.kind.value].append(facts)
    states_stacks = comparison.changes.pairing.persisting.state_stacks
    changes = list(comparison.changes.stacks) if states_stacks else None
    return _notes(comparison) | {"specs": specs, "stack_changes": changes}


def coverage_document(comparison: ReportedComparison, cells: CoverageChanges) -> dict[str, Any]:
    """Return the cells that were lost and gained, with the hashes of the nearest specs."""
    return _head(comparison) | {
        "by": cells.dimensions,
        "coverage": [
            msgspec.structs.asdict(cell)
            | {"nearest": [cells.head.hashes.at(row) for row in cell.nearest]}
            for cell in cells
        ],
    }


def causes_document(
    comparison: ReportedComparison, changes: Sequence[ReportedChange]
) -> dict[str, Any]:
    """Return the causes in scope, and each changed spec with its path."""
    notes = _notes(comparison)
    shared = ("summary", "causes", "why_no_commits", "why_unknown")
    specs = list(spec_changes_facts(comparison, changes))
    return _head(comparison) | {name: notes[name] for name in shared} | {"specs": specs}


def _notes(comparison: ReportedComparison) -> dict[str, Any]:
    notes: dict[str, Any] = orjson.loads(changelog.to_json(comparison.notes()))
    return notes


def _head(comparison: ReportedComparison) -> dict[str, Any]:
    return {
        "format": changelog.FORMAT,
        "base": comparison.base,
        "head": comparison.head,
        "only": comparison.only or Only(),
    }


def spec_changes_facts(
    comparison: ReportedComparison, changes: Iterable[ReportedChange]
) -> Iterator[dict[str, Any]]:
    """Yield each changed hash with its reason, counterpart, differences and causes."""
    causes = comparison.explanation.causes
    changes = list(changes)
    fields = _fields(comparison, changes)
    rows = np.array(
        [reported.head_row for reported in changes if reported.head_row is not None], int
    )
    involved, paths = causes.involved_in(rows), iter(causes.paths(rows))
    keys = [causes.name_of(number).key for number in range(len(causes))]
    bounds = pairwise(involved.offsets.tolist())
    for place, reported in enumerate(changes):
        facts = _reported_facts(comparison, reported) | {"fields": fields.get(place, [])}
        if reported.change.kind is SpecChangeKind.CHANGED:
            yield facts
        elif reported.head_row is None:
            yield facts | {"cause": None, "causes": [], "path": []}
        else:
            own = [keys[number] for number in involved.numbers[slice(*next(bounds))].tolist()]
            path = path_facts(comparison.explanation, next(paths))
            yield facts | {"cause": own[0], "causes": own, "path": path}


def _fields(
    comparison: ReportedComparison, changes: Sequence[ReportedChange]
) -> dict[int, list[FieldChange]]:
    """Return the differences of each hash, or of it and its counterpart, by index."""
    paired = {
        place: reported.rows for place, reported in enumerate(changes) if None not in reported.rows
    }
    before_rows, after_rows = np.array([*paired.values()], np.int32).reshape(-1, 2).T
    base, head = comparison.whole.base, comparison.whole.head
    pairs = RowPairs(base, before_rows, head, after_rows)
    return dict(zip(paired, field_changes(pairs), strict=True))


def _reported_facts(comparison: ReportedComparison, reported: ReportedChange) -> dict[str, Any]:
    """Return a change with its reason and counterpart."""
    change, own = reported.change, comparison.own(reported)
    facts: dict[str, Any] = {"hash": own.hash, "name": own.name, "version": own.version}
    facts["reason"] = reported.reason
    if change.kind is SpecChangeKind.CHANGED:
        return facts
    whole = comparison.whole
    other = whole.base if change.kind is SpecChangeKind.ADDED else whole.head
    row = reported.counterpart
    return facts | {
        "counterpart": None if row is None else other.hashes.at(row),
        "ambiguous": reported.why_ambiguous is not None,
    }


def path_facts(why: Explanation, path: Iterable[CauseStep]) -> list[dict[str, Any]]:
    """Return the steps of a path: the package of each, and its hashes in base and head."""
    return [
        {
            "name": step.name,
            "before": _hash_at(why.base, step.base_node),
            "after": _hash_at(why.head, step.head_node),
        }
        for step in path
    ]


def _hash_at(side: Side, node: int | None) -> str | None:
    if node is None:
        return None
    frame, row = frame_row(side, node)
    return frame.hashes.at(row)
