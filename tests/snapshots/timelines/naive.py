"""A plain way to the history of hashes and packages: every content of a series, walked as sets.

``Past`` holds whole contents and asks them again for each question. It serves whoever keeps or
answers history by columns, tables or queries, as what their answers must equal.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache

import pyarrow as pa

from snapshots.changes.diff import Comparison, SpecChange
from snapshots.changes.explanation import explain
from snapshots.changes.kept_changes import (
    KeptChanges,
    PackageCounts,
    PairCounts,
    comparisons_table,
    keep_changes,
)
from snapshots.changes.reasons import REASONS, SpecChangeReason
from snapshots.history import History, Neighbours, Pair
from snapshots.models import NOTHING, RevisionInfo, Spec
from snapshots.spack.versions import version_key
from snapshots.timelines.packages import PackageEntry, PackageTimeline
from snapshots.timelines.spans import HashHistory, Span
from tests.snapshots.changes.graphs import side_of

_TOOK_A_PLACE = (SpecChangeReason.REBUILT, SpecChangeReason.REPLACES)

CHANGE_ROWS = pa.schema(
    [(name, pa.string()) for name in ("base", "head", "kind", "hash", "name", "version", "reason")]
)


class Past:
    """The revisions of a history and all of what they hold, by digest."""

    def __init__(self, history: History, contents: Mapping[str, Sequence[Spec]]) -> None:
        self.history = history
        self.contents = {
            digest: {spec.hash: spec for spec in specs} for digest, specs in contents.items()
        }
        self.contents[NOTHING] = {}
        self._side = cache(lambda digest: side_of(self.contents[digest].values()))
        self._compared = cache(self._compare)

    # -- of two contents

    def _compare(self, pair: Pair) -> tuple[Comparison, dict[str, SpecChangeReason]]:
        base, head = map(self._side, pair)
        comparison = Comparison(base.frame, head.frame)
        explanation = explain(comparison, base.graph, head.graph)
        codes = explanation.reasons(comparison.specs).tolist()
        changes: list[SpecChange] = list(comparison.specs)
        return comparison, {
            change.hash: REASONS[code] for change, code in zip(changes, codes, strict=True)
        }

    def rows(self, pairs: Sequence[Pair] | None = None) -> pa.Table:
        """Return the rows that the table ``changes`` has of the pairs; of all by default."""
        rows = []
        for pair in self.history.pairs if pairs is None else pairs:
            comparison, reasons = self._compared(pair)
            for change in comparison.specs:
                spec = (self.contents[pair.head].get(change.hash)) or self.contents[pair.base][
                    change.hash
                ]
                rows.append(
                    {
                        **pair._asdict(),
                        "kind": change.kind.value,
                        "hash": change.hash,
                        "name": spec.name,
                        "version": spec.version,
                        "reason": reasons[change.hash].value,
                    }
                )
        return pa.Table.from_pylist(rows, CHANGE_ROWS)

    def comparisons(self) -> pa.Table:
        """Return the rows that the table ``comparisons`` has of all pairs."""
        return comparisons_table(map(self.kept, self.history.pairs), "cachelog", None)

    def packages(self, pair: Pair) -> tuple[PackageCounts, ...]:
        """Return what is kept of the packages of a pair."""
        return self.kept(pair).packages

    def kept(self, pair: Pair) -> KeptChanges:
        """Return what is kept of a pair, as an import keeps it."""
        return keep_changes(*map(self._side, pair))

    def counts(self, pair: Pair) -> PairCounts:
        """Return the counts of a pair."""
        comparison, reasons = self._compared(pair)
        specs = Counter(change.kind.value for change in comparison.specs)
        packages = Counter(change.kind.value for change in comparison.packages)
        came, went = packages.pop("added", 0), packages.pop("removed", 0)
        return PairCounts(
            specs_added=specs["added"],
            specs_removed=specs["removed"],
            specs_changed=specs["changed"],
            packages_added=came,
            packages_removed=went,
            packages_changed=packages.total(),
            reasons=dict(
                Counter(it for it in reasons.values() if it is not SpecChangeReason.FACTS)
            ),
        )

    # -- through time

    def specs_of(self, revision: RevisionInfo) -> dict[str, Spec]:
        """Return what a revision holds, by hash."""
        return self.contents[revision.digest]

    def reason(self, step: Neighbours, text: str) -> SpecChangeReason:
        """Return why a hash changed, asking all that stood earlier in the series."""
        pure = self._compared(step.pair)[1][text]
        is_added = text in self.specs_of(step.head) and (
            step.base is None or text not in self.specs_of(step.base)
        )
        earlier = self.history.earlier(step.head)
        was_there = any(text in self.specs_of(it) for it in earlier)
        if is_added and was_there and pure not in _TOOK_A_PLACE:
            return SpecChangeReason.RETURNED
        return pure

    def reasons(self, step: Neighbours) -> dict[str, SpecChangeReason]:
        """Return why each hash changed, asking all that stood earlier in the series."""
        return {text: self.reason(step, text) for text in self._compared(step.pair)[1]}

    def hash_history(self, text: str) -> HashHistory | None:
        """Return the history of a hash; None where no revision has it."""
        having = [it for it in self.history.revisions if text in self.specs_of(it)]
        if not having:
            return None
        spec = self.specs_of(having[0])[text]
        spans = [span for series in self.history.series_names for span in self._spans(series, text)]
        return HashHistory(
            hash=text, name=spec.name, version=spec.version, spans=tuple(spans), newest=having[0]
        )

    def _spans(self, series: str, text: str) -> list[Span]:
        steps = self.history.neighbours(series)
        is_there = [text in self.specs_of(step.head) for step in steps]
        spans = []
        for place, there in enumerate(is_there):
            if not there or (place and is_there[place - 1]):
                continue
            after = [it for it in range(place, len(steps)) if not is_there[it]]
            gone = after[0] if after else None
            span = Span(
                series=series,
                first=steps[place].head,
                last=steps[len(steps) - 1 if gone is None else gone - 1].head,
                reason_came=self.reason(steps[place], text),
                reason_gone=None if gone is None else self.reason(steps[gone], text),
                gone_in=None if gone is None else steps[gone].head,
            )
            spans.append(span)
        return spans

    def holding(self, hashes: Sequence[str], series: str | None = None) -> list[RevisionInfo]:
        """Return the revisions that hold all of the hashes, newest first."""
        return [
            it
            for it in self.history.select(series=series)
            if self.specs_of(it).keys() >= set(hashes)
        ]

    def package_timeline(self, name: str, series: str) -> PackageTimeline | None:
        """Return the timeline of a package; None where no revision of the series has it."""
        steps = self.history.neighbours(series)
        having = [it.head for it in steps if self._of_package(it.head, name)]
        if not having:
            return None
        entries = [self._entry(step, name) for step in steps]
        return PackageTimeline(
            name=name,
            series=series,
            first_seen=having[0],
            last_seen=having[-1],
            entries=tuple(it for it in reversed(entries) if it),
        )

    def _of_package(self, revision: RevisionInfo | None, name: str) -> list[Spec]:
        specs = self.specs_of(revision).values() if revision else ()
        return [spec for spec in specs if spec.name == name]

    def _entry(self, step: Neighbours, name: str) -> PackageEntry | None:
        comparison, _ = self._compared(step.pair)
        changes = [it for it in comparison.specs if it.name == name]
        if not changes:
            return None
        place = comparison.packages.find(name)
        assert place is not None
        before, after = (
            {spec.version for spec in self._of_package(it, name)} for it in (step.base, step.head)
        )
        kinds = Counter(it.kind.value for it in changes)
        return PackageEntry(
            base=step.base,
            head=step.head,
            kind=comparison.packages[place].kind,
            versions_added=_newest_first(after - before),
            versions_removed=_newest_first(before - after),
            num_added=kinds["added"],
            num_removed=kinds["removed"],
            num_changed=kinds["changed"],
            reasons=dict(Counter(self.reason(step, it.hash) for it in changes)),
        )


def _newest_first(versions: set[str]) -> tuple[str, ...]:
    return tuple(sorted(versions, key=lambda it: (version_key(it), it), reverse=True))
