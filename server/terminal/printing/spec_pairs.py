"""Comparisons of two specs, printed: their differences, the causes, and what they share.

docs/json.md describes the document.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from server.terminal.catalogs import OpenedCatalog, open_sides
from server.terminal.documents import Question, print_answer, side_name
from server.terminal.printing import styles
from server.terminal.printing.layout import TableColumn, table, wrapped
from server.terminal.printing.listings import types_of
from snapshots.changes import spec_pairs
from snapshots.changes.cause_graph import EdgeEnd
from snapshots.changes.causes import CauseStep
from snapshots.changes.sides import Side
from snapshots.changes.vocabulary import arrow, cause_title, difference_phrase
from snapshots.errors import InvalidArgument
from snapshots.frames.frame import Frame
from snapshots.models import FileInfo, SideInfo
from snapshots.refs import title
from snapshots.texts import counted, few, short_hash, versioned

FORMAT = 1
"""The version of the document."""

_INDENT = " " * 6
_ARROW = " → "
_MAX_NAMED = 5


def print_specs(opened: OpenedCatalog, base: str, head: str) -> bool:
    """Compare the specs of two hashes or prefixes, each after a slash, in the newest revision.

    Returns whether their hashes differ. Raises what ``OpenedCatalog.hash_history`` and ``row_of``
    raise.
    """
    before, after = map(opened.hash_history, (base, head))
    places = ((of.newest, opened.row_of(of.newest, of.hash)) for of in (before, after))
    return _print_pair(opened, *places)


def print_specs_of(location: str, texts: tuple[str, str] | None, query: str) -> bool:
    """Compare the spec that a query matches on each of the two sides that texts name.

    If several match in a lock file, its roots take precedence. Returns whether their hashes differ.
    Raises what ``open_sides`` and ``Library.matching`` raise, and InvalidArgument if not exactly
    one spec of a side matches.
    """
    opened, sides = open_sides(location, texts)
    places = []
    for info in sides:
        frame = opened.frame(info)
        rows = np.flatnonzero(opened.library.matching(info, query)).tolist()
        if len(rows) > 1 and isinstance(info, FileInfo) and info.roots is not None:
            rows = [row for row in rows if frame.hashes.at(row) in info.roots] or rows
        if len(rows) != 1:
            raise InvalidArgument("--spec", f"{title(info)} has {_some(frame, rows)}")
        places.append((info, rows[0]))
    return _print_pair(opened, *places)


def _print_pair(
    opened: OpenedCatalog, base: tuple[SideInfo, int], head: tuple[SideInfo, int]
) -> bool:
    """Print the differences of two specs, each a row of a side, and of their dependencies."""
    sides = [
        Side(opened.frame(info), opened.library.dependencies.get(info.content))
        for info, _ in (base, head)
    ]
    pair = spec_pairs.SpecPair(sides[0], base[1], sides[1], head[1])
    shown = [
        (info, side.frame.spec(row)) for (info, row), side in zip((base, head), sides, strict=True)
    ]
    differ = pair.hashes[0] != pair.hashes[1]

    def lines() -> Iterator[str]:
        for info, spec in shown:
            text = f"{styles.digest('/' + spec.hash)} {versioned(spec.name, spec.version)}"
            yield from wrapped(f"{text} in {title(info)}")
        if not differ:
            yield ""
            yield "Both are the same spec: they have the same hash."
            return
        yield from _own_lines(pair)
        yield from _dependency_lines(pair)
        yield from _cause_lines(pair)
        yield from _below_lines(pair)

    refs = [side_name(info) for info, _ in shown]
    hashes = dict(zip(("base", "head"), pair.hashes, strict=True))
    variables = hashes | dict(zip(("baseRef", "headRef"), refs, strict=True))
    infos = tuple(info for info, _ in shown)
    print_answer(opened, Question("SpecPair", variables, infos), lines())
    return differ


def _some(frame: Frame, rows: Sequence[int]) -> str:
    """Return the number of matching specs, and the first of them."""
    if not rows:
        return "no such spec"
    named = few([f"/{short_hash(frame.hashes.at(row))}" for row in rows], _MAX_NAMED)
    return f"{len(rows):,} such specs: {named}"


# -- lines


def _own_lines(pair: spec_pairs.SpecPair) -> Iterator[str]:
    yield ""
    own = [*pair.facts, *spec_pairs.variant_changes(pair.variants)]
    if not own:
        yield "Own facts differ: none."
        return
    yield "Own facts:"
    for change in own:
        phrase = difference_phrase(change.path.split(spec_pairs.PATH_SEPARATOR), change)
        yield from wrapped(f"  {phrase}", _INDENT)


def _dependency_lines(pair: spec_pairs.SpecPair) -> Iterator[str]:
    yield ""
    if not pair.are_known:
        yield "Their dependencies are not known for both."
        return
    if not pair.dependencies:
        yield "They have the same direct dependencies."
        return
    yield "Direct dependencies that differ:"
    for change in pair.dependencies:
        sign, style = _SIGNS[change.before is None, change.after is None]
        yield from map(style, wrapped(f"  {sign} {_dependency_text(change)}", _INDENT))


_SIGNS = {
    (True, False): ("+", styles.added),
    (False, True): ("-", styles.removed),
    (False, False): ("~", styles.changed),
}


def _dependency_text(change: spec_pairs.ChangedDependency) -> str:
    before, after = change.before, change.after
    if before is None or after is None:
        end = before or after
        assert end is not None  # noqa: S101 - one of both specs has it
        return f"{versioned(end.name, end.version)} /{short_hash(end.hash)} {_edge_text(end)}"
    parts = [change.name]
    if before.version != after.version:
        parts[0] += f"@{arrow(before.version, after.version)}"
    elif after.version is not None:
        parts[0] = versioned(change.name, after.version)
    if before.hash != after.hash:
        parts.append(arrow(short_hash(before.hash), short_hash(after.hash)))
    if _edge_text(before) != _edge_text(after):
        parts.append(arrow(_edge_text(before), _edge_text(after)))
    if change.path:
        parts.append(_because(change.path))
    return " ".join(parts)


def _because(path: Sequence[CauseStep]) -> str:
    """Return the origin of a change and the path to it: because of expat through python."""
    _, *between = path
    if not between:
        return "by itself"
    *between, end = between
    through = f" through {_path_text(between)}" if between else ""
    return f"because of {end.name}{through}"


def _edge_text(end: EdgeEnd) -> str:
    virtuals = f" as {', '.join(end.virtuals)}" if end.virtuals else ""
    return f"({', '.join(types_of(end.types))}{virtuals})"


def _path_text(path: Sequence[CauseStep]) -> str:
    return _ARROW.join(step.name for step in path)


def _cause_lines(pair: spec_pairs.SpecPair) -> Iterator[str]:
    causes = pair.explanation.causes
    if not len(causes):
        return
    yield ""
    whose = "Why" if pair.names[0] == pair.names[1] else "Why common dependencies differ"
    yield f"{whose}: {counted(len(causes), 'cause')}"
    rows = list(enumerate(pair.paths))
    columns = [
        TableColumn("  cause", 0, lambda row: f"  {cause_title(causes.name_of(row[0]))}"),
        TableColumn("path", 1, lambda row: _path_text(row[1])),
    ]
    yield from table(rows, columns)
    for number in range(len(causes)):
        if reason := causes.why_unknown(number):
            yield from wrapped(f"  {reason}")


def _below_lines(pair: spec_pairs.SpecPair) -> Iterator[str]:
    if not pair.are_known:
        return
    below = pair.below
    num_differing = len(below.differing)
    parts = [
        f"{counted(len(below.shared), 'spec')} shared",
        f"{num_differing:,} {'differs' if num_differing == 1 else 'differ'}",
    ]
    parts += [
        f"{count:,} only below the {which}"
        for count, which in ((len(below.only_base), "first"), (len(below.only_head), "second"))
        if count
    ]
    yield ""
    yield from wrapped(f"Below: {', '.join(parts)}")
    for name, changes in spec_pairs.dependency_changes(pair.nested_changes):
        text = ", ".join(difference_phrase(path, change) for path, change in changes)
        yield from wrapped(f"  {styles.name(name)}: {text}", _INDENT)
