"""Changes between two revisions and their causes, as lines of text and as JSON documents.

docs/json.md describes the documents.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, starmap
from operator import attrgetter
from typing import Any

import msgspec
import numpy as np

from server.terminal.catalogs import OpenedCatalog, open_sides
from server.terminal.documents import Question, side_name
from server.terminal.printing import styles
from server.terminal.printing.commits import PAIRED, CatalogComparison, commit_lines, recipes_line
from server.terminal.printing.layout import Style, TableColumn, number, table, wrapped
from snapshots.changes.causes import Causes
from snapshots.changes.coverage import CoverageChange, CoverageChangeKind, CoverageChanges
from snapshots.changes.diff import SpecChange, SpecChangeKind, SpecChanges
from snapshots.changes.package_changes import PackageChange, PackageChangeKind
from snapshots.changes.pairings import FieldChange
from snapshots.changes.reasons import REASONS, SpecChangeReason
from snapshots.changes.sides import Side
from snapshots.changes.stack_changes import StackChangeKind
from snapshots.changes.vocabulary import PACKAGE_KINDS, cause_title, counts_by_outcome
from snapshots.errors import AmbiguousHash, InvalidArgument, UnknownPackage
from snapshots.frames.suggestions import require_names
from snapshots.models import CauseKind, Spec
from snapshots.notes.changelog import ComparisonFilter
from snapshots.refs import title
from snapshots.spack.names import ROOT_STACK, natural_key
from snapshots.texts import counted, in_words, short_hash, single_value

# -- changes with their reasons


_MAX_MATCHES = 3
"""Maximum number of hashes that the error for an ambiguous prefix lists."""


class ReportedChange(msgspec.Struct, frozen=True):
    """A changed hash with its reason, counterpart and main cause.

    ``before`` and ``after`` are its rows in base and head or, where a side lacks it, the row of the
    spec that it replaced or that replaced it. ``cause`` is the number of the main cause; None if
    there is no counterpart. ``why_ambiguous`` states what is unknown if only the hashes decided
    between several counterparts.
    """

    change: SpecChange
    reason: SpecChangeReason
    before: int
    after: int
    cause: int | None
    why_ambiguous: str | None


def question_of(comparison: CatalogComparison, name: str, **variables: Any) -> Question:
    """Return the document of a name about a comparison, with further variables."""
    only = comparison.only or ComparisonFilter()
    sides = comparison.base, comparison.head
    named = dict(zip(("base", "head"), map(side_name, sides), strict=True))
    return Question(name, named | msgspec.structs.asdict(only) | variables, sides)


def _reported_once(comparison: CatalogComparison, changes: SpecChanges) -> list[ReportedChange]:
    """Return some changes; of two hashes that replaced each other, the added one."""
    why = comparison.explanation
    changes = why.pairs_once(changes)
    counterparts = why.counterpart_rows(changes)
    columns = (
        changes,
        (REASONS[code] for code in why.reasons(changes, comparison.returned).tolist()),
        np.where(changes.before < 0, counterparts, changes.before).tolist(),
        np.where(changes.after < 0, counterparts, changes.after).tolist(),
        (None if cause < 0 else cause for cause in why.main_causes(changes).tolist()),
        why.why_ambiguous(changes),
    )
    return list(starmap(ReportedChange, zip(*columns, strict=True)))


def changes_of_hash(comparison: CatalogComparison, text: str) -> SpecChanges:
    """Return the change of the hash that begins with a prefix, with or without its slash.

    Raises InvalidArgument if no changed hash begins with it, and AmbiguousHash if several do.
    """
    prefix, specs = text.removeprefix("/").lower(), comparison.changes.specs
    places = [place for place, change in enumerate(specs) if change.hash.startswith(prefix)]
    if not places:
        reason = f"no changed spec has a hash that begins with {prefix!r}"
        raise InvalidArgument("HASH", reason)
    if len(places) > 1:
        named = {specs[place].hash: specs[place].name for place in places[:_MAX_MATCHES]}
        raise AmbiguousHash(prefix, named, len(places))
    return specs.take(np.array(places, np.int32))


def _own(comparison: CatalogComparison, reported: ReportedChange) -> Spec:
    """Return the spec of the hash itself, with its facts in head if head has it."""
    whole = comparison.whole
    if reported.change.after is not None:
        return whole.head.spec(reported.after)
    return whole.base.spec(reported.before)


def _pair(comparison: CatalogComparison, reported: ReportedChange) -> tuple[Spec, Spec]:
    """Return the specs before and after a change that has a counterpart."""
    whole = comparison.whole
    return whole.base.spec(reported.before), whole.head.spec(reported.after)


def compare(
    location: str, texts: tuple[str, str] | None, **scope: str | None
) -> tuple[OpenedCatalog, CatalogComparison]:
    """Return a catalog, and the comparison of the two sides that texts name.

    ``scope`` are the fields of ``ComparisonFilter``. Raises what ``open_sides`` raises,
    InvalidArgument for names that neither side has, and UnknownPackage for an unknown name in a
    query.
    """
    opened, (base, head) = open_sides(location, texts)
    only, library = ComparisonFilter(**scope), opened.library
    require_names((opened.frame(base), opened.frame(head)), only.stack, only.package, sign="--")
    compared = CatalogComparison(base, head, library, only)
    if only.matching is not None and not any(mask.any() for mask in compared.matching or ()):
        # Otherwise, a misspelled name would read as "nothing changed".
        for unknown in library.unknown_names(head, only.matching):
            raise UnknownPackage(unknown.name, unknown.nearest)
    return opened, compared


# -- changes of specs, as lines


SIGNS: dict[SpecChangeKind, tuple[str, Style]] = {
    SpecChangeKind.ADDED: ("+", styles.added),
    SpecChangeKind.REMOVED: ("-", styles.removed),
    SpecChangeKind.CHANGED: ("≠", styles.changed),
}
"""The sign and the style of each kind of change."""

_SHOWN_BY_FACTS = {CauseKind.VERSION, CauseKind.VARIANTS, CauseKind.COMPILER, CauseKind.TARGET}
_PAIR_SIGN = "~"
_INDENT = " " * 8


def title_lines(comparison: CatalogComparison) -> list[str]:
    """Return the titles of the two sides."""
    return wrapped(f"{title(comparison.base)} -> {title(comparison.head)}")


def difference_lines(comparison: CatalogComparison, *, stat: bool) -> Iterator[str]:
    """Yield the changes by package, or with ``stat`` one line per package; and totals.

    A stack that came or went is one line before them, and its specs are not listed one by one.
    """
    yield from title_lines(comparison)
    yield from _stack_lines(comparison)
    packages = {change.name: change for change in comparison.changes.packages}
    in_order = sorted(
        _reported_once(comparison, comparison.changes.specs),
        key=lambda reported: (natural_key(reported.change.name), reported.change.hash),
    )
    for name, inside in groupby(in_order, key=lambda reported: reported.change.name):
        shown = [*inside]
        headline = f"{styles.name(name)}: {package_headline(packages[name])}"
        yield from wrapped(f"{headline} ({_counted(shown)})", _INDENT)
        if not stat:
            for reported in shown:
                if reported.reason in _OF_STACKS:
                    continue
                lines = _pair_lines if reported.reason in PAIRED else _spec_lines
                yield from lines(comparison, reported)
    yield from wrapped(_totals(comparison))


_OF_STACKS = {SpecChangeReason.NEW_STACK, SpecChangeReason.STACK_GONE}


def _stack_lines(comparison: CatalogComparison) -> Iterator[str]:
    """Yield a line for each stack that was added or removed, with its number of specs."""
    for change in comparison.changes.stacks:
        if change.kind is not StackChangeKind.CHANGED:
            sign, style = SIGNS[SpecChangeKind[change.kind.name]]
            specs = counted(change.num_specs_before + change.num_specs_after, "spec")
            yield style(f"{sign} stack {change.name}: {specs}")


def _totals(comparison: CatalogComparison) -> str:
    """Return the numbers of specs by what became of them; a pair of counterparts counts once."""
    specs = comparison.changes.specs
    added, removed, changed = map(specs.count, SpecChangeKind)
    rebuilt, replaced = map(comparison.count, PAIRED)
    text = _outcomes(added, removed, changed, rebuilt, replaced)
    return text or "no spec was added, removed or changed"


def _outcomes(added: int, removed: int, changed: int, rebuilt: int, replaced: int) -> str:
    outcomes = counts_by_outcome(
        added=added, removed=removed, changed=changed, rebuilt=rebuilt, replaced=replaced
    )
    return ", ".join(f"{count:,} {text}" for count, text in outcomes if count)


def _counted(changes: Iterable[ReportedChange]) -> str:
    """Return the numbers of a package's specs by what became of them."""
    reasons, kinds = Counter[SpecChangeReason](), Counter[SpecChangeKind]()
    for reported in changes:
        if reported.reason in PAIRED:
            reasons[reported.reason] += 1
        else:
            kinds[reported.change.kind] += 1
    rebuilt, replaced = (reasons[reason] for reason in PAIRED)
    pairs = rebuilt + replaced
    return _outcomes(
        kinds[SpecChangeKind.ADDED] + pairs,
        kinds[SpecChangeKind.REMOVED] + pairs,
        kinds[SpecChangeKind.CHANGED],
        rebuilt,
        replaced,
    )


def package_headline(change: PackageChange) -> str:
    """Return the change of a package in words, such as 'upgraded 1.2 -> 1.3'."""
    kind = PACKAGE_KINDS[change.kind]
    if change.kind in (PackageChangeKind.UPGRADED, PackageChangeKind.DOWNGRADED):
        kind += f" {change.newest_before} -> {change.newest_after}"
    return kind


def _pair_lines(comparison: CatalogComparison, reported: ReportedChange) -> Iterator[str]:
    before, after = _pair(comparison, reported)
    hashes = f"{short_hash(before.hash)} → {short_hash(after.hash)}"
    text = f"  {_PAIR_SIGN} {hashes} {pair_text(before, after)}{_cause_text(comparison, reported)}"
    yield from map(styles.changed, wrapped(text, _INDENT))
    yield from map(styles.quiet, _ambiguity_lines(reported, "      "))


def _cause_text(comparison: CatalogComparison, reported: ReportedChange) -> str:
    """Return the main cause of a spec in parentheses; nothing if its own facts show the cause."""
    if reported.cause is None:
        return ""
    cause = comparison.explanation.causes.name_of(reported.cause)
    is_shown = cause.package == reported.change.name and cause.kind in _SHOWN_BY_FACTS
    return "" if is_shown else f" ({cause_title(cause)})"


def _spec_lines(comparison: CatalogComparison, reported: ReportedChange) -> Iterator[str]:
    change = reported.change
    spec = _own(comparison, reported)
    sign, style = SIGNS[change.kind]
    for line in wrapped(f"  {sign} {change.hash} {spec.short}", _INDENT):
        yield style(line)
    if change.kind is SpecChangeKind.CHANGED:
        for field in comparison.changes.field_changes(change):
            yield from wrapped(f"      {field_text(field)}", _INDENT)
        return
    text = in_words(reported.reason.value)
    if reported.reason is SpecChangeReason.REPLACED:
        text += f" by {short_hash(_pair(comparison, reported)[1].hash)}"
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


def coverage_lines(comparison: CatalogComparison, cells: CoverageChanges) -> Iterator[str]:
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
            is_lost = cell.kind is CoverageChangeKind.LOST
            sign, style = SIGNS[SpecChangeKind.REMOVED if is_lost else SpecChangeKind.ADDED]
            text = f"  {sign} {' '.join(cell.values) or package}"
            yield from map(style, wrapped(text, _INDENT))
            if is_lost:
                yield from map(styles.quiet, wrapped(_nearest(cells, cell), _INDENT))


def _nearest(cells: CoverageChanges, cell: CoverageChange) -> str:
    if not cell.nearest:
        return "      no spec of it is left"
    spec = cells.head.spec(cell.nearest[0])
    stacks = [stack for stack in spec.stacks if stack != ROOT_STACK]
    where = f" (stacks: {' '.join(stacks)})" if stacks else ""
    return f"      nearest: {spec.hash} {spec.short}{where}"


# -- causes, as lines


_BELOW_CAUSE = " " * 6
_MAX_TOGETHER = 5
"""Maximum number of causes listed that occur together with another."""


def rebuilds_lines(comparison: CatalogComparison, *, all_commits: bool = False) -> Iterator[str]:
    """Yield the number of specs that were rebuilt or replaced, and a table of the causes.

    For each cause, the table shows of how many specs it is the main cause and how many it reached.
    If the commits are known, it also shows the first one that explains the cause, or all of them
    with ``all_commits``.
    """
    if line := recipes_line(comparison):
        yield from wrapped(line)
    elif all_commits:
        yield from wrapped(f"no commits: {comparison.recipes.why_unknown}")
    rebuilt, replaced = map(comparison.count, PAIRED)
    yield from wrapped(
        f"{counted(rebuilt + replaced, 'spec')} replaced another: "
        f"{rebuilt:,} rebuilt unchanged, {replaced:,} whose own facts differ"
    )
    causes = comparison.explanation.causes
    rows = list(comparison.causes_in_scope.values())
    if not rows:
        return
    columns = [
        number("specs", 0, attrgetter("num_specs")),
        number("reached", 1, attrgetter("num_involved")),
        TableColumn("cause", 0, lambda row: _cause_and_others(causes, row.number), styles.name),
    ]
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


def why_lines(comparison: CatalogComparison, *, all_commits: bool) -> Iterator[str]:
    """Yield the causes, and which facts the sources do not state."""
    yield from title_lines(comparison)
    yield from rebuilds_lines(comparison, all_commits=all_commits)
    if unknown := comparison.explanation.why_unknown:
        yield from wrapped(f"Some causes cannot be known: {unknown}.")


def stories_lines(comparison: CatalogComparison, changes: SpecChanges) -> Iterator[str]:
    """Yield a full explanation of each change."""
    yield from title_lines(comparison)
    if not len(changes):
        yield "nothing changed"
    for reported in _reported_once(comparison, changes):
        yield from _story_lines(comparison, reported)


def _story_lines(comparison: CatalogComparison, reported: ReportedChange) -> Iterator[str]:
    own = _own(comparison, reported)
    yield from wrapped(f"{styles.digest(own.hash)} {own.short}")
    if reported.cause is None:
        yield f"  {reported.change.kind.value}: {in_words(reported.reason.value)}"
        yield from _ambiguity_lines(reported, "  ")
        return
    before, after = _pair(comparison, reported)
    is_removed = reported.reason is SpecChangeReason.REPLACED
    verb, other = ("replaced by", after) if is_removed else ("replaced", before)
    yield from wrapped(f"  {verb} {other.hash}: {pair_text(before, after)}")
    yield from _ambiguity_lines(reported, "  ")
    why, causes = comparison.explanation, comparison.explanation.causes
    main = cause_title(causes.name_of(reported.cause))
    yield from wrapped(f"  main cause: {styles.name(main)}")
    if unknown := causes.why_unknown(reported.cause):
        yield from wrapped(f"    {unknown}")
    yield from commit_lines(comparison.recipes, reported.cause, "    ", all_=True)
    path = causes.path(reported.after)
    for depth, step in enumerate(path if len(path) > 1 else ()):
        nodes = (why.base, step.base_node), (why.head, step.head_node)
        hashes = [_hash_at(side, node) for side, node in nodes if node is not None]
        arrow = styles.digest(" → ".join(map(short_hash, hashes)))
        yield f"    {'  ' * depth}{'↳ ' if depth else ''}{step.name} {arrow}"
    involved = causes.involved_in(np.array([reported.after], np.int32)).numbers.tolist()
    others = [number for number in involved if number != reported.cause]
    if others:
        yield f"  also reached by: {counted(len(others), 'cause')}"
        for other in others:
            yield from wrapped(f"    {cause_title(causes.name_of(other))}")


def _ambiguity_lines(reported: ReportedChange, indent: str) -> Iterator[str]:
    """Yield the reason why a counterpart is ambiguous, if it is."""
    if reported.why_ambiguous is not None:
        yield from wrapped(f"{indent}{reported.why_ambiguous}")


def binaries_lines(comparison: CatalogComparison) -> Iterator[str]:
    """Yield the hashes whose binaries were replaced, with both checksums, and their number."""
    replaced = comparison.changes.binaries_replaced
    yield from title_lines(comparison)
    for change, before, after in _checksums(replaced):
        text = f"≠ {change.name} {change.hash}: {before} → {after}"
        yield from map(styles.changed, wrapped(text, _INDENT))
    yield f"{counted(len(replaced), 'binary')} replaced under the same hash"


def _checksums(changes: SpecChanges) -> Iterator[tuple[SpecChange, str | None, str | None]]:
    for change in changes:
        before, after = changes.base.spec(change.before or 0), changes.head.spec(change.after or 0)
        yield change, before.checksum, after.checksum


def _hash_at(side: Side, node: int) -> str:
    frame, row = side.at(node)
    return frame.hashes.at(row)
