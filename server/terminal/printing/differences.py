"""What changed between two revisions, as lines of text."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby

from server.terminal.printing import styles
from server.terminal.printing.layout import Style, wrapped
from server.terminal.printing.reports import PAIRED, Report, Told
from snapshots.changes.cause_names import CauseKind
from snapshots.changes.diff import SpecChangeKind
from snapshots.changes.package_changes import PackageChange, PackageChangeKind
from snapshots.changes.pairings import FieldChange
from snapshots.changes.reasons import SpecChangeReason
from snapshots.models import RevisionInfo, Spec
from snapshots.notes.entries import Section
from snapshots.refs import title
from snapshots.spack.names import natural_key
from snapshots.wording import in_words, short_hash, single_value

SIGNS: dict[SpecChangeKind, tuple[str, Style]] = {
    SpecChangeKind.ADDED: ("+", styles.added),
    SpecChangeKind.REMOVED: ("-", styles.removed),
    SpecChangeKind.CHANGED: ("=", styles.changed),
}
"""The sign and the colour of each kind of change."""

_STORIES = {SpecChangeReason.REBUILT: "rebuilt", SpecChangeReason.REPLACES: "replaced"}
_ORDER = (*_STORIES.values(), *(kind.value for kind in SpecChangeKind))
_TOLD_BY_FACTS = {CauseKind.VERSION, CauseKind.VARIANTS, CauseKind.COMPILER, CauseKind.TARGET}
_PAIR = "~"
_INDENT = " " * 8


def title_lines(base: RevisionInfo, head: RevisionInfo, width: int | None) -> list[str]:
    """Return which two revisions are compared."""
    return wrapped(f"{title(base)} -> {title(head)}", width)


def change_lines(report: Report, width: int | None, *, stat: bool) -> Iterator[str]:
    """Yield the changes package by package, or with ``stat`` one line a package."""
    packages = {change.name: change for change in report.comparison.packages}
    in_order = sorted(
        report.changes, key=lambda told: (natural_key(told.change.name), told.change.hash)
    )
    for name, inside in groupby(in_order, key=lambda told: told.change.name):
        of_package = list(inside)
        stories = report.stories(of_package)
        headline = f"{styles.name(name)}: {package_headline(packages[name])}"
        yield f"{headline} ({_counted(stories)})"
        if not stat:
            yield from _package_lines(report, stories, width)


def totals(changes: Sequence[Told]) -> str:
    """Return how many hashes were added, removed and changed, and how many took a place."""
    kinds = Counter(told.change.kind for told in changes)
    hashes = ", ".join(f"{kinds[kind]:,} {kind.value}" for kind in SpecChangeKind)
    paired = [text for told, text in _STORIES.items() if told in PAIRED]
    reasons = Counter(_STORIES.get(told.reason) for told in changes)
    stories = [f"{reasons[text]:,} {text}" for text in paired if reasons[text]]
    return f"{hashes} ({', '.join(stories)})" if stories else hashes


def _counted(stories: Sequence[Told]) -> str:
    """Return what became of the specs of a package."""
    kinds = Counter(_STORIES.get(told.reason, told.change.kind.value) for told in stories)
    return ", ".join(f"{kinds[text]:,} {text}" for text in _ORDER if kinds[text])


def package_headline(change: PackageChange) -> str:
    """Return what became of a package, in words: upgraded 1.2 -> 1.3."""
    kind = in_words(Section.of(change).value)
    if change.kind in (PackageChangeKind.UPGRADED, PackageChangeKind.DOWNGRADED):
        kind += f" {change.newest_before} -> {change.newest_after}"
    return kind


def _package_lines(report: Report, stories: Sequence[Told], width: int | None) -> Iterator[str]:
    """Yield a line for each change; two counterparts share one."""
    for told in stories:
        if told.reason in PAIRED:
            yield from _pair_lines(report, told, width)
        else:
            yield from _spec_lines(report, told, width)


def _pair_lines(report: Report, told: Told, width: int | None) -> Iterator[str]:
    before, after = report.pair(told)
    hashes = f"{short_hash(before.hash)} → {short_hash(after.hash)}"
    text = f"  {_PAIR} {hashes} {pair_text(before, after)}{_cause_text(report, told)}"
    yield from map(styles.changed, wrapped(text, width, _INDENT))


def _cause_text(report: Report, told: Told) -> str:
    """Return the main cause of a spec in brackets; nothing where its facts have told it."""
    if told.cause is None:
        return ""
    cause = report.why.causes.name_of(told.cause)
    is_told = cause.package == told.change.name and cause.kind in _TOLD_BY_FACTS
    return "" if is_told else f" ({cause.title})"


def _spec_lines(report: Report, told: Told, width: int | None) -> Iterator[str]:
    change = told.change
    spec = report.own(told)
    sign, style = SIGNS[change.kind]
    for line in wrapped(f"  {sign} {change.hash} {spec.short}", width, _INDENT):
        yield style(line)
    if change.kind is SpecChangeKind.CHANGED:
        for field in report.comparison.field_changes(change):
            yield from wrapped(f"      {field_text(field)}", width, _INDENT)
        return
    text = in_words(told.reason.value)
    after = report.after(told)
    if told.reason is SpecChangeReason.REPLACED and after is not None:
        text += f" by {short_hash(after.hash)}"
    yield styles.quiet(f"      {text}")


def pair_text(before: Spec, after: Spec) -> str:
    """Return a spec that took the place of another: its name, version, and what else differs."""
    parts = [f"{after.name}@{_arrow(before.version, after.version)}"]
    off, on = _only_in(before.variants, after.variants), _only_in(after.variants, before.variants)
    if off or on:
        parts.append(_arrow(" ".join(off) or "nothing", " ".join(on) or "nothing"))
    if before.compiler != after.compiler:
        parts.append(f"%{_arrow(before.compiler or 'none', after.compiler or 'none')}")
    old, new = ((it.platform, it.operating_system, it.target) for it in (before, after))
    if old != new:
        parts.append(f"arch={_arrow('-'.join(old), '-'.join(new))}")
    if before.namespace != after.namespace and before.namespace and after.namespace:
        parts.append(f"namespace={_arrow(before.namespace, after.namespace)}")
    return " ".join(parts)


def _arrow(before: str, after: str) -> str:
    return after if before == after else f"{before} → {after}"


def field_text(change: FieldChange) -> str:
    """Return a fact that differs; of a list, what was added to it and what was removed."""
    before, after = change.before, change.after
    if not isinstance(before, (list, tuple)):
        return f"{change.path}: {single_value(before)} -> {single_value(after)}"
    items = [f"+{_quoted(item)}" for item in _only_in(after, before)]
    items += [f"-{_quoted(item)}" for item in _only_in(before, after)]
    return f"{change.path}: {' '.join(items)}"


def _only_in(items: Sequence[str], others: Sequence[str]) -> list[str]:
    return sorted({*items} - {*others}, key=natural_key)


def _quoted(item: str) -> str:
    """Quote an item that begins with a sign of its own, as variants do, or has blanks."""
    return f"'{item}'" if item.startswith(("+", "-", "~")) or " " in item else item
