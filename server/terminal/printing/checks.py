"""What a lock file wants, against what a revision holds: as lines of text and as plain values."""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import chain
from typing import Any, NamedTuple

import msgspec

from server.terminal.printing import styles
from server.terminal.printing.differences import field_text
from server.terminal.printing.layout import Column, table, wrapped
from snapshots.catalog.asking.covering import Covered
from snapshots.changes.lookup import Lookup
from snapshots.changes.pairings import FieldChange
from snapshots.models import ConcreteSpec, RevisionInfo, revision_facts
from snapshots.refs import title
from snapshots.sources.lockfiles import LockFile
from snapshots.timelines.spans import LastSeen
from snapshots.wording import (
    counted,
    in_words,
    minute,
    percent,
    short_digest,
    short_hash,
    shortened,
    versioned,
)

FORMAT = 1
"""The version of the document that ``check --json`` prints."""

_MOST_LISTED = 10
_LONGEST_GROUP = 30


class Checked(NamedTuple):
    """A revision with what it holds of a lock file, ``locked``.

    ``seen`` says where hashes that are missing were last, None where that cannot be told; a spec
    that the catalog never saw is not in it. ``covered`` are the revisions that were searched, best
    first; none where one was named.
    """

    revision: RevisionInfo
    lookup: Lookup
    locked: LockFile
    seen: Mapping[str, LastSeen] | None
    covered: Sequence[Covered] = ()

    def is_under(self, percent: Fraction) -> bool:
        """Tell whether less of what is wanted is there."""
        return 100 * self.lookup.num_found < percent * len(self.lookup.wanted)

    def shares_of_groups(self) -> Iterator[tuple[str, int, int]]:
        """Yield each group of roots: how many of its roots are there, and how many count."""
        is_there = dict(
            zip(
                (spec.hash for spec in self.lookup.wanted.specs),
                (self.lookup.rows >= 0).tolist(),
                strict=True,
            )
        )
        for group in self.locked.groups:
            found = [is_there[root] for root in group.roots if root in is_there]
            yield group.name, sum(found), len(found)


def check_lines(checked: Checked, width: int | None) -> Iterator[str]:
    """Yield what is there, what is missing, and what was left out."""
    if checked.covered:
        yield from _best_lines(checked, width)
        yield ""
    yield from _summary(checked, width)
    if left_out := checked.locked.left_out:
        left = (f"{versioned(it.name, it.version)} ({it.why.value})" for it in left_out)
        yield from wrapped(f"Left out, as in no build cache: {', '.join(left)}.", width)
    missing = checked.lookup.missing
    if len(missing):
        yield ""
    yield from chain.from_iterable(
        _missing_lines(checked, number, width) for number in range(len(missing))
    )


def _best_lines(checked: Checked, width: int | None) -> Iterator[str]:
    covered = checked.covered[:_MOST_LISTED]
    revisions = [it.revision for it in covered]
    wanted = checked.lookup.wanted
    specs = [_share(it.num_found, len(wanted)) for it in covered]
    roots = [_share(it.num_roots_found, wanted.num_roots) for it in covered]
    yield from table(
        [
            Column("tag", [it.tag for it in revisions], 0, style=styles.name),
            Column("taken at", [minute(it.taken_at) for it in revisions], 2),
            Column("digest", [short_digest(it.digest) for it in revisions], 3, style=styles.digest),
            Column("specs", specs, 0, is_number=True),
            Column("roots", roots, 1, is_number=True),
        ],
        width,
    )
    if further := len(checked.covered) - len(covered):
        yield styles.quiet(f"and {counted(further, 'revision')} more")


def _summary(checked: Checked, width: int | None) -> Iterator[str]:
    lookup, writer = checked.lookup, checked.locked.writer
    num_roots, found_roots = lookup.wanted.num_roots, lookup.num_roots_found
    looked = f"Looked in {title(checked.revision)}"
    if writer is not None:
        looked += f", for a lock file of {writer}"
    yield from wrapped(looked, width)
    of_groups = [
        (f"  {shortened(name, _LONGEST_GROUP)}", found, wanted)
        for name, found, wanted in checked.shares_of_groups()
    ]
    rows = [
        ("roots", found_roots, num_roots),
        *of_groups,
        ("dependencies", lookup.num_found - found_roots, len(lookup.wanted) - num_roots),
        ("all", lookup.num_found, len(lookup.wanted)),
    ]
    wide = len(f"{len(lookup.wanted):,}")
    widest = max(len(name) for name, *_ in rows)
    for name, found, wanted in rows:
        numbers = f"{found:>{wide},} of {wanted:>{wide},}"
        yield f"  {name:<{widest}}  {numbers}  {percent(found, wanted):>7}"


def _missing_lines(checked: Checked, number: int, width: int | None) -> Iterator[str]:
    spec = _missing(checked, number)
    name = styles.name(versioned(spec.name, spec.version))
    root = ", a root" if spec.is_root else ""
    yield f"{styles.removed('-')} {name} {short_hash(spec.hash)}{root}"
    for text in _about(checked, number):
        yield from (f"    {line}" for line in wrapped(text, width and width - 4))


def _about(checked: Checked, number: int) -> Iterator[str]:
    lookup = checked.lookup
    if checked.seen is not None:
        yield _seen_text(checked.seen.get(_missing(checked, number).hash))
    row = int(lookup.nearest[number])
    if row < 0:
        yield "no other spec of the package is there"
        return
    near = lookup.frame.spec(row)
    differences = lookup.differences(number)
    texts = [_difference(it) for it in differences]
    what = "; ".join(texts) or "the same over other dependencies"
    yield f"nearest: {versioned(near.name, near.version)} {short_hash(near.hash)}: {what}"


def _seen_text(seen: LastSeen | None) -> str:
    """Return where a hash was last, and why it went."""
    if seen is None:
        return "never seen in this catalog"
    text = f"last in {title(seen.revision)}"
    if seen.gone_in is None or seen.reason is None:
        return f"{text}, the newest of its series"
    return f"{text}, gone in {title(seen.gone_in)}: {in_words(seen.reason.value)}"


def _missing(checked: Checked, number: int) -> ConcreteSpec:
    """Return a spec that is missing, as it was wanted."""
    lookup = checked.lookup
    spec: ConcreteSpec = lookup.wanted.specs[int(lookup.missing[number])]
    return spec


def _difference(change: FieldChange) -> str:
    """Return a fact that differs; the hash of a recipe says nothing to people."""
    return "another recipe" if change.path == "package_hash" else field_text(change)


def check_document(checked: Checked) -> dict[str, Any]:
    """Return the same for programs; docs/lock-files.md describes it."""
    lookup = checked.lookup
    document: dict[str, Any] = {
        "format": FORMAT,
        "revision": revision_facts(checked.revision),
        "num_wanted": len(lookup.wanted),
        "num_found": lookup.num_found,
        "num_roots_wanted": lookup.wanted.num_roots,
        "num_roots_found": lookup.num_roots_found,
        "is_history_known": checked.seen is not None,
        "spack": msgspec.to_builtins(checked.locked.writer),
        "groups": [
            {"name": name, "num_roots": wanted, "num_roots_found": found}
            for name, found, wanted in checked.shares_of_groups()
        ],
        "left_out": [msgspec.to_builtins(it) for it in checked.locked.left_out],
        "found": [lookup.frame.hashes.at(row) for row in lookup.found.tolist()],
        "missing": [_missing_facts(checked, number) for number in range(len(lookup.missing))],
    }
    if checked.covered:
        document["best"] = [
            {
                "revision": revision_facts(it.revision),
                "num_found": it.num_found,
                "num_roots_found": it.num_roots_found,
            }
            for it in checked.covered
        ]
    return document


def _missing_facts(checked: Checked, number: int) -> dict[str, Any]:
    lookup = checked.lookup
    spec = _missing(checked, number)
    seen = (checked.seen or {}).get(spec.hash)
    gone_in = seen and seen.gone_in
    row = int(lookup.nearest[number])
    nearest = None
    if row >= 0:
        nearest = {"hash": lookup.frame.hashes.at(row), "short": lookup.frame.spec(row).short}
    return {
        "hash": spec.hash,
        "name": spec.name,
        "version": spec.version,
        "is_root": spec.is_root,
        "last_seen": None if seen is None else revision_facts(seen.revision),
        "reason": seen and seen.reason and seen.reason.value,
        "gone_in": None if gone_in is None else revision_facts(gone_in),
        "nearest": nearest,
        "differences": [msgspec.to_builtins(it) for it in lookup.differences(number)],
    }


def _share(found: int, wanted: int) -> str:
    return f"{found:,} of {wanted:,}"
