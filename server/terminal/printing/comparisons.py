"""Changes between two sides or two specs, their causes, and the commits that explain these."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, starmap
from operator import attrgetter
from typing import Any

import msgspec
import numpy as np

from server.terminal.catalogs import OpenedCatalog, open_catalog, open_sides
from server.terminal.documents import print_answer, side_name
from server.terminal.printing import text
from server.terminal.printing.text import SIGNS, TableColumn, number, table
from snapshots.catalog.library import Library
from snapshots.changes import spec_pairs
from snapshots.changes.causes import Causes, CauseStep
from snapshots.changes.coverage import CoverageChange, CoverageChangeKind, CoverageChanges
from snapshots.changes.diff import SpecChange, SpecChangeKind, SpecChanges
from snapshots.changes.explanation import Explanation
from snapshots.changes.package_changes import PackageChange, PackageChangeKind
from snapshots.changes.pairings import FieldChange
from snapshots.changes.reasons import REASONS, SpecChangeReason
from snapshots.changes.scope import ComparisonFilter
from snapshots.changes.sides import Side
from snapshots.changes.stack_changes import StackChangeKind
from snapshots.changes.vocabulary import (
    PACKAGE_KINDS,
    arrow,
    cause_title,
    counts_by_outcome,
    difference_phrase,
)
from snapshots.errors import AmbiguousHash, InvalidArgument, UnknownPackage
from snapshots.frames.suggestions import require_names
from snapshots.models import CauseKind, FileInfo, SideInfo, Spec
from snapshots.notes.causes import CommitEntry
from snapshots.recipes.commits import Recipes, RecipesOrigin
from snapshots.recipes.effects import CauseCommit, CommitLevel, RecipesChange
from snapshots.refs import title
from snapshots.side_comparisons import SideComparison
from snapshots.spack.names import natural_key
from snapshots.texts import (
    counted,
    few,
    in_words,
    short_digest,
    short_hash,
    single_value,
    versioned,
)

CatalogComparison = SideComparison[SideInfo, Library]
"""A comparison of sides that a command reads from a catalog."""

PAIRED = (SpecChangeReason.REBUILT, SpecChangeReason.REPLACES)
"""The reasons of added specs that have a counterpart."""

_SHOWN_BY_FACTS = {CauseKind.VERSION, CauseKind.VARIANTS, CauseKind.COMPILER, CauseKind.TARGET}
"""Kinds of causes in the spec itself that its differences already say."""

_INDENT = " " * 6
_MAX_MATCHES = 3
_MAX_NAMED = 5


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


def variables_of(comparison: CatalogComparison, **more: Any) -> dict[str, Any]:
    """Return the variables of a document about a comparison."""
    scope = msgspec.structs.asdict(comparison.only or ComparisonFilter())
    return {"base": side_name(comparison.base), "head": side_name(comparison.head)} | scope | more


def changes_of_hash(comparison: CatalogComparison, prefix: str) -> SpecChanges:
    """Return the change of the hash that begins with a prefix, with or without its slash.

    Raises InvalidArgument if no changed hash begins with it, and AmbiguousHash if several do.
    """
    prefix, specs = prefix.removeprefix("/").lower(), comparison.changes.specs
    places = [place for place, change in enumerate(specs) if change.hash.startswith(prefix)]
    if not places:
        reason = f"no changed spec has a hash that begins with {prefix!r}"
        raise InvalidArgument("HASH", reason)
    if len(places) > 1:
        named = {specs[place].hash: specs[place].name for place in places[:_MAX_MATCHES]}
        raise AmbiguousHash(prefix, named, len(places))
    return specs.take(np.array(places, np.int32))


# -- changes of specs


class ReportedChange(msgspec.Struct, frozen=True):
    """A changed hash with its reason, counterpart and main cause.

    ``before`` and ``after`` are its rows in base and head or, where a side lacks it, the row of the
    spec that it replaced or that replaced it. ``cause`` is the number of the main cause; None if
    there is no counterpart. ``fields`` are the facts that differ if only facts changed.
    """

    change: SpecChange
    reason: SpecChangeReason
    before: int
    after: int
    cause: int | None
    fields: list[FieldChange]

    def specs(self, comparison: CatalogComparison) -> tuple[Spec | None, Spec | None]:
        """Return the specs before and after; None for a side that has neither."""
        whole = comparison.whole
        rows = (whole.base, self.before), (whole.head, self.after)
        before, after = (frame.spec(row) if row >= 0 else None for frame, row in rows)
        return before, after


def reported(comparison: CatalogComparison, changes: SpecChanges) -> list[ReportedChange]:
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
        changes.fields(),
    )
    return list(starmap(ReportedChange, zip(*columns, strict=True)))


def title_lines(comparison: CatalogComparison) -> list[str]:
    """Return the titles of the two sides."""
    return [f"{title(comparison.base)} -> {title(comparison.head)}"]


def difference_lines(comparison: CatalogComparison, *, stat: bool) -> Iterator[str]:
    """Yield the changes by package, or with ``stat`` one line per package; and totals.

    A stack that came or went is one line before them, and its specs are not listed one by one.
    """
    yield from title_lines(comparison)
    for stack in comparison.changes.stacks:
        if stack.kind is not StackChangeKind.CHANGED:
            sign, style = SIGNS[SpecChangeKind[stack.kind.name]]
            specs = counted(stack.num_specs_before + stack.num_specs_after, "spec")
            yield style(f"{sign} stack {stack.name}: {specs}")
    packages = {change.name: change for change in comparison.changes.packages}
    changes = reported(comparison, comparison.changes.specs)
    changes.sort(key=lambda each: (natural_key(each.change.name), each.change.hash))
    for name, inside in groupby(changes, key=lambda each: each.change.name):
        of_package = [*inside]
        headline = f"{text.name(name)}: {package_headline(packages[name])}"
        yield f"{headline} ({_outcomes(of_package)})"
        for each in () if stat else of_package:
            if each.reason not in (SpecChangeReason.NEW_STACK, SpecChangeReason.STACK_GONE):
                yield from _change_lines(comparison, each)
    yield _outcomes(changes) or "no spec was added, removed or changed"


def _outcomes(changes: Iterable[ReportedChange]) -> str:
    """Return the numbers of specs by what became of them; a pair of counterparts counts once."""
    reasons = Counter(each.reason for each in changes)
    kinds = Counter[SpecChangeKind]()
    for each in changes:
        kinds[each.change.kind] += 1
    rebuilt, replaced = (reasons[reason] for reason in PAIRED)
    outcomes = counts_by_outcome(
        added=kinds[SpecChangeKind.ADDED],
        removed=kinds[SpecChangeKind.REMOVED] + rebuilt + replaced,
        changed=kinds[SpecChangeKind.CHANGED],
        rebuilt=rebuilt,
        replaced=replaced,
    )
    return ", ".join(f"{count:,} {word}" for count, word in outcomes if count)


def package_headline(change: PackageChange) -> str:
    """Return the change of a package in words, such as 'upgraded 1.2 -> 1.3'."""
    kind = PACKAGE_KINDS[change.kind]
    if change.kind in (PackageChangeKind.UPGRADED, PackageChangeKind.DOWNGRADED):
        kind += f" {change.newest_before} -> {change.newest_after}"
    return kind


def _change_lines(comparison: CatalogComparison, each: ReportedChange) -> Iterator[str]:
    """Yield a change in a line: the hashes, what differs, and the cause; or the reason."""
    before, after = each.specs(comparison)
    sign, style = SIGNS[each.change.kind]
    if each.reason in PAIRED and before and after:
        sign, style = "~", text.changed
        what = f"{_arrow(map(short_hash, (before.hash, after.hash)))} {pair_text(before, after)}"
        cause = None if each.cause is None else comparison.explanation.causes.name_of(each.cause)
        if cause and (cause.package != after.name or cause.kind not in _SHOWN_BY_FACTS):
            what += f" ({cause_title(cause)})"
    else:
        spec = before if after is None or each.change.after is None else after
        assert spec is not None  # noqa: S101 - a side has the changed hash
        reason = in_words(each.reason.value)
        if each.reason is SpecChangeReason.REPLACED and after is not None:
            reason += f" by {short_hash(after.hash)}"
        what = f"{short_hash(spec.hash)} {spec.short}: {reason}"
    yield style(f"  {sign} {what}")
    for field in each.fields:
        yield f"      {field_text(field)}"


def pair_text(before: Spec, after: Spec) -> str:
    """Return the differences of a spec from the one it replaced: version and other facts."""
    parts = [f"{after.name}@{_arrow(dict.fromkeys((before.version, after.version)))}"]
    off, on = _only_in(before.variants, after.variants), _only_in(after.variants, before.variants)
    if off or on:
        parts.append(arrow(" ".join(off) or "nothing", " ".join(on) or "nothing"))
    if before.compiler != after.compiler:
        parts.append(f"%{arrow(before.compiler or 'none', after.compiler or 'none')}")
    old, new = ("-".join((it.platform, it.operating_system, it.target)) for it in (before, after))
    if old != new:
        parts.append(f"arch={arrow(old, new)}")
    if before.namespace != after.namespace and before.namespace and after.namespace:
        parts.append(f"namespace={arrow(before.namespace, after.namespace)}")
    return " ".join(parts)


def field_text(change: FieldChange) -> str:
    """Return a changed fact; of a list, the items added and removed."""
    before, after = change.before, change.after
    if not isinstance(before, list | tuple):
        return f"{change.path}: {single_value(before)} -> {single_value(after)}"
    items = [f"+{_quoted(item)}" for item in _only_in(after, before)]
    items += [f"-{_quoted(item)}" for item in _only_in(before, after)]
    return f"{change.path}: {' '.join(items)}"


def _only_in(items: Sequence[str], others: Sequence[str]) -> list[str]:
    return sorted({*items} - {*others}, key=natural_key)


def _quoted(item: str) -> str:
    """Quote an item that has spaces or begins with a sign, as variants do."""
    return f"'{item}'" if item.startswith(("+", "-", "~")) or " " in item else item


def _arrow(texts: Iterable[str]) -> str:
    return " → ".join(texts)


def binaries_lines(comparison: CatalogComparison) -> Iterator[str]:
    """Yield the hashes whose binaries were replaced, with both checksums, and their number."""
    replaced = comparison.changes.binaries_replaced
    yield from title_lines(comparison)
    for each in replaced:
        before, after = replaced.base.spec(each.before or 0), replaced.head.spec(each.after or 0)
        checksums = _arrow(map(str, (before.checksum, after.checksum)))
        yield text.changed(f"≠ {each.name} {short_hash(each.hash)}: {checksums}")
    yield f"{counted(len(replaced), 'binary')} replaced under the same hash"


# -- coverage


def coverage_lines(comparison: CatalogComparison, cells: CoverageChanges) -> Iterator[str]:
    """Yield the lost and gained cells by package, and totals."""
    yield from title_lines(comparison)
    yield from coverage_cell_lines(cells)
    counts = ", ".join(f"{cells.count(kind):,} {kind.value}" for kind in CoverageChangeKind)
    yield f"{counts} ({', '.join(['package', *(in_words(it.value) for it in cells.dimensions)])})"


def coverage_cell_lines(cells: CoverageChanges) -> Iterator[str]:
    """Yield the cells by package, a lost one with the nearest remaining spec."""
    for package, inside in groupby(cells, key=attrgetter("package")):
        yield text.name(package)
        for cell in inside:
            is_lost = cell.kind is CoverageChangeKind.LOST
            sign, style = SIGNS[SpecChangeKind.REMOVED if is_lost else SpecChangeKind.ADDED]
            values = " ".join(cell.values) or package
            nearest = f": {_nearest(cells, cell)}" if is_lost else ""
            yield style(f"  {sign} {values}{nearest}")


def _nearest(cells: CoverageChanges, cell: CoverageChange) -> str:
    if not cell.nearest:
        return "no spec of it is left"
    spec = cells.head.spec(cell.nearest[0])
    return f"nearest {short_hash(spec.hash)} {spec.short}"


# -- causes and commits

_LEVELS = {
    CommitLevel.OWN_RECIPE: "",
    CommitLevel.DEPENDENT: "perhaps by a dependent: ",
    CommitLevel.STACK: "perhaps by a stack: ",
    CommitLevel.SPACK: "perhaps by another Spack: ",
}
_WAYS = {
    RecipesOrigin.GIVEN: "as specified",
    RecipesOrigin.REF: "by its ref",
    RecipesOrigin.DATE: "by date",
}


def why_lines(comparison: CatalogComparison, *, all_commits: bool) -> Iterator[str]:
    """Yield the causes, and which facts the sources do not state."""
    yield from title_lines(comparison)
    yield from cause_lines(comparison, all_commits=all_commits)
    if unknown := comparison.explanation.why_unknown:
        yield f"Some causes cannot be known: {unknown}."


def cause_lines(comparison: CatalogComparison, *, all_commits: bool = False) -> Iterator[str]:
    """Yield the number of specs that were rebuilt or replaced, and a table of the causes.

    For each cause, the table shows of how many specs it is the main cause and how many it reached.
    If the commits are known, it also shows the first one that explains the cause, or all of them
    with ``all_commits``.
    """
    recipes = comparison.recipes
    if recipes.attribution is not None:
        sides = [it for it in (recipes.base, recipes.head) if it is not None]
        yield f"recipes: {' -> '.join(map(recipes_text, sides))}"
    elif all_commits:
        yield f"no commits: {recipes.why_unknown}"
    rebuilt, replaced = map(comparison.count, PAIRED)
    total = counted(rebuilt + replaced, "spec")
    parts = f"{rebuilt:,} rebuilt unchanged, {replaced:,} whose own facts differ"
    yield f"{total} replaced another: {parts}"
    causes = comparison.explanation.causes
    rows = list(comparison.causes_in_scope.values())
    columns = cause_columns(lambda row: _cause_and_others(causes, row.number))
    lines = list(table(rows, columns))
    yield from lines[:1]
    for row, line in zip(rows, lines[1:], strict=True):
        yield line
        yield from commit_lines(recipes, row.number, _INDENT, is_whole=all_commits)


def cause_columns(cause: Callable[[Any], str], head: str = "cause") -> list[TableColumn]:
    """Return the columns of a table of causes, of which ``cause`` returns the text."""
    return [
        number("specs", 0, attrgetter("num_specs")),
        number("reached", 2, attrgetter("num_involved")),
        TableColumn(head, 0, cause, text.name),
    ]


def _cause_and_others(causes: Causes, number: int) -> str:
    """Return a cause, followed in parentheses by those that occur together with it."""
    cause = cause_title(causes.name_of(number))
    together = [cause_title(causes.name_of(other)) for other in causes.together_with(number)]
    more = causes.num_together(number) - len(together)
    names = few([*together, *[""] * more], _MAX_NAMED)
    return f"{cause} (together with {names})" if together else cause


def commit_lines(
    recipes: RecipesChange, cause: int, indent: str, *, is_whole: bool = False
) -> Iterator[str]:
    """Yield the first commit that explains a cause, or all; or a remark that none does."""
    attribution = recipes.attribution
    if attribution is None:
        return
    commits = attribution.of_cause(cause)
    if attribution.is_external(cause):
        yield text.quiet(f"{indent}outside the cache: the machine changed")
    elif not commits:
        yield text.quiet(f"{indent}no commit of the recipes explains it")
    for commit in commits if is_whole else commits[:1]:
        more = "" if is_whole or len(commits) == 1 else f" and {len(commits) - 1:,} more"
        line = f"{indent}{_commit_text(commit)}{more}"
        yield text.quiet(line)
        if is_whole:
            links, spack = recipes.links, commit.commit.spack
            urls = CommitEntry.of(commit, links).url, spack and links.spack(spack)
            yield from (text.quiet(f"{indent}  {url}") for url in urls if url)


def _commit_text(explaining: CauseCommit) -> str:
    commit = explaining.commit
    spack = commit.spack if explaining.level is CommitLevel.SPACK else None
    parts = [f"{_LEVELS[explaining.level]}{'dropped: ' if explaining.taken_back else ''}"]
    parts += [f"{short_digest(commit.oid)} {commit.subject}"]
    if spack is not None and spack.before and spack.after:
        parts.append(f" (Spack {short_digest(spack.before)} -> {short_digest(spack.after)})")
    if commit.is_sweeping:
        parts.append(f" (touches {len(commit.packages):,} packages)")
    return "".join(parts)


def recipes_text(recipes: Recipes) -> str:
    """Return the commit of some recipes, and how it was found."""
    return f"{short_digest(recipes.commit)} ({_WAYS[recipes.found_by]})"


def story_lines(comparison: CatalogComparison, changes: SpecChanges) -> Iterator[str]:
    """Yield each change with its main cause, the path to it, and the other causes."""
    yield from title_lines(comparison)
    if not len(changes):
        yield "nothing changed"
    for each in reported(comparison, changes):
        yield from _story_lines(comparison, each)


def _story_lines(comparison: CatalogComparison, each: ReportedChange) -> Iterator[str]:
    yield from _change_lines(comparison, msgspec.structs.replace(each, cause=None))
    if each.cause is None:
        return
    why, causes = comparison.explanation, comparison.explanation.causes
    yield f"    main cause: {text.name(cause_title(causes.name_of(each.cause)))}"
    if unknown := causes.why_unknown(each.cause):
        yield f"      {unknown}"
    yield from commit_lines(comparison.recipes, each.cause, _INDENT, is_whole=True)
    path = causes.path(each.after)
    for depth, step in enumerate(path if len(path) > 1 else ()):
        hashes = text.digest(_arrow(map(short_hash, _hashes(why, step))))
        yield f"      {'  ' * depth}{'↳ ' if depth else ''}{step.name} {hashes}"
    involved = causes.involved_in(np.array([each.after], np.int32)).numbers.tolist()
    others = [cause_title(causes.name_of(it)) for it in involved if it != each.cause]
    if others:
        yield f"    also reached by: {', '.join(others)}"


def _hashes(why: Explanation, step: CauseStep) -> Iterator[str]:
    """Yield the hashes of a step in base and head, where it has one."""
    for side, node in ((why.base, step.base_node), (why.head, step.head_node)):
        if node is not None:
            frame, row = side.at(node)
            yield frame.hashes.at(row)


# -- two specs


def print_specs(location: str, base: str, head: str) -> bool:
    """Compare the specs of two hashes or prefixes, each after a slash, in the newest revision.

    Returns whether their hashes differ. Raises what ``OpenedCatalog.hash_history`` and ``row_of``
    raise.
    """
    opened = open_catalog(location)
    of_both = [opened.hash_history(prefix) for prefix in (base, head)]
    rows = [opened.row_of(of.newest, of.hash) for of in of_both]
    return _print_pair(opened, [of.newest for of in of_both], rows)


def print_specs_of(location: str, texts: tuple[str, str] | None, query: str) -> bool:
    """Compare the spec that a query matches on each of the two sides that texts name.

    If several match in a lock file, its roots take precedence. Returns whether their hashes differ.
    Raises what ``open_sides`` and ``Library.matching`` raise, and InvalidArgument if not exactly
    one spec of a side matches.
    """
    opened, sides = open_sides(location, texts)
    chosen: list[int] = []
    for info in sides:
        hashes = opened.frame(info).hashes
        rows = np.flatnonzero(opened.library.matching(info, query)).tolist()
        if len(rows) > 1 and isinstance(info, FileInfo) and info.roots is not None:
            rows = [row for row in rows if hashes.at(row) in info.roots] or rows
        if len(rows) != 1:
            named = few([f"/{short_hash(hashes.at(row))}" for row in rows], _MAX_NAMED)
            found = f"{len(rows):,} such specs: {named}" if rows else "no such spec"
            raise InvalidArgument("--spec", f"{title(info)} has {found}")
        chosen += rows
    return _print_pair(opened, sides, chosen)


def _print_pair(opened: OpenedCatalog, infos: Sequence[SideInfo], rows: Sequence[int]) -> bool:
    """Print the differences of a row of each of two sides; return whether their hashes differ."""
    frames = [opened.frame(info) for info in infos]
    graphs = [opened.library.dependencies.get(info.content) for info in infos]
    sides = list(map(Side, frames, graphs))
    pair = spec_pairs.SpecPair(sides[0], rows[0], sides[1], rows[1])

    def lines() -> Iterator[str]:
        for frame, row, info in zip(frames, rows, infos, strict=True):
            name = versioned(frame.package.at(row), frame.version.at(row))
            yield f"{text.digest(f'/{frame.hashes.at(row)}')} {name} in {title(info)}"
        yield from _pair_lines(pair)

    hashes = dict(zip(("base", "head"), pair.hashes, strict=True))
    refs = dict(zip(("baseRef", "headRef"), map(side_name, infos), strict=True))
    print_answer(opened, "SpecPair", hashes | refs, lines())
    return pair.hashes[0] != pair.hashes[1]


def _pair_lines(pair: spec_pairs.SpecPair) -> Iterator[str]:
    if pair.hashes[0] == pair.hashes[1]:
        yield from ("", "Both are the same spec: they have the same hash.")
        return
    own = [*pair.facts, *spec_pairs.variant_changes(pair.variants)]
    yield from ("", "Own facts:" if own else "Own facts differ: none.")
    for change in own:
        phrase = difference_phrase(change.path.split(spec_pairs.PATH_SEPARATOR), change)
        yield f"  {phrase}"
    yield ""
    if not pair.are_known:
        yield "Their dependencies are not known for both."
    elif pair.dependencies:
        yield "Direct dependencies that differ:"
    for dependency in pair.dependencies if pair.are_known else ():
        yield from _dependency_lines(dependency)
    causes = pair.explanation.causes
    if len(causes):
        yield from ("", f"Why: {counted(len(causes), 'cause')}")
    for cause, path in enumerate(pair.paths):
        why = causes.why_unknown(cause)
        line = f"  {cause_title(causes.name_of(cause))}: {_arrow(step.name for step in path)}"
        yield f"{line}{f' ({why})' if why else ''}"
    if pair.are_known:
        yield from _below_lines(pair)


def _dependency_lines(change: spec_pairs.ChangedDependency) -> Iterator[str]:
    before, after = change.before, change.after
    ends = [it for it in (before, after) if it is not None]
    kinds = [f"({', '.join([*text.types_of(it.types), *it.virtuals])})" for it in ends]
    hashes = [f"/{short_hash(it.hash)}" for it in ends]
    version = _arrow(dict.fromkeys(it.version for it in ends if it.version))
    parts = [versioned(change.name, version or None)]
    parts += [_arrow(dict.fromkeys(hashes)), _arrow(dict.fromkeys(kinds))]
    if before and after and change.path:
        through = [step.name for step in change.path[1:]]
        parts.append(f"because of {_arrow(reversed(through))}" if through else "by itself")
    sign, style = ("~", text.changed) if len(ends) > 1 else SIGNS[_kind(is_new=before is None)]
    yield style(f"  {sign} {' '.join(parts)}")


def _kind(*, is_new: bool) -> SpecChangeKind:
    return SpecChangeKind.ADDED if is_new else SpecChangeKind.REMOVED


def _below_lines(pair: spec_pairs.SpecPair) -> Iterator[str]:
    below = pair.below
    counts = [(len(below.shared), "shared"), (len(below.differing), "different")]
    counts += [(len(below.only_base), "only below the first")]
    counts += [(len(below.only_head), "only below the second")]
    parts = [f"{count:,} {word}" for count, word in counts if count]
    yield ""
    yield f"Below: {', '.join(parts) or 'nothing'}"
    for name, changes in spec_pairs.dependency_changes(pair.nested_changes):
        phrases = ", ".join(difference_phrase(path, change) for path, change in changes)
        yield f"  {text.name(name)}: {phrases}"
