"""The history of hashes and packages: every content of a series, as sets of specs."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache

import pyarrow as pa
from msgspec.structs import replace

from snapshots.changes.coverage import CoverageDimension
from snapshots.changes.diff import Comparison
from snapshots.changes.package_changes import PackageChangeKind
from snapshots.changes.reasons import SpecChangeReason
from snapshots.changes.stored_changes import (
    PairCounts,
    StoredChanges,
    changes_to_store,
    comparisons_table,
)
from snapshots.history import History, Neighbours, Pair
from snapshots.models import NOTHING, RevisionInfo, Spec
from snapshots.spack.versions import version_key
from snapshots.timelines.availability import CellSpan
from snapshots.timelines.catalog_packages import CatalogPackage, PackageInSeries
from snapshots.timelines.packages import PackageEntry, PackageTimeline
from snapshots.timelines.spans import HashHistory, Span
from tests.model.cells import values_of
from tests.model.changes import added_reasons, removed_reasons
from tests.model.listings import changed_fields, kind_by_versions, package_kind
from tests.model.states import State
from tests.snapshots.changes.graphs import side_of

_TOOK_A_PLACE = (SpecChangeReason.REBUILT, SpecChangeReason.REPLACES)

CHANGE_ROWS = pa.schema(
    [(name, pa.string()) for name in ("base", "head", "kind", "hash", "name", "version", "reason")]
)


class HistoryQueries:
    """The revisions of a history and their specs, by digest."""

    def __init__(self, history: History, contents: Mapping[str, Sequence[Spec]]) -> None:
        self.history = history
        self._states = {digest: State(specs) for digest, specs in contents.items()}
        self._states[NOTHING] = State(())
        self.contents = {digest: state.specs for digest, state in self._states.items()}
        self._side = cache(lambda digest: side_of(self.contents[digest].values()))
        self._reasons = cache(self._find_reasons)

    # -- of two contents

    def _find_reasons(self, pair: Pair) -> dict[str, SpecChangeReason]:
        """Return why each hash was added, removed or changed between two contents."""
        base, head = self._states[pair.base], self._states[pair.head]
        reasons = added_reasons(base, head) | removed_reasons(base, head)
        for digest in base.specs.keys() & head.specs.keys():
            if changed_fields(base.specs[digest], head.specs[digest]):
                reasons[digest] = "facts"
        return {digest: SpecChangeReason(reason) for digest, reason in reasons.items()}

    def _kind(self, pair: Pair, digest: str) -> str:
        if digest not in self.contents[pair.base]:
            return "added"
        return "changed" if digest in self.contents[pair.head] else "removed"

    def _spec(self, pair: Pair, digest: str) -> Spec:
        return self.contents[pair.head].get(digest) or self.contents[pair.base][digest]

    def rows(self, pairs: Sequence[Pair] | None = None) -> pa.Table:
        """Return the rows of the table ``changes`` for the pairs; of all by default."""
        rows = []
        for pair in self.history.pairs if pairs is None else pairs:
            reasons = self._reasons(pair)
            specs = [self._spec(pair, digest) for digest in reasons]
            rows += [
                {
                    "base": pair.base,
                    "head": pair.head,
                    "kind": self._kind(pair, spec.hash),
                    "hash": spec.hash,
                    "name": spec.name,
                    "version": spec.version,
                    "reason": reasons[spec.hash].value,
                }
                for spec in sorted(specs, key=lambda spec: (spec.name, spec.hash))
            ]
        return pa.Table.from_pylist(rows, CHANGE_ROWS)

    def comparisons(self) -> pa.Table:
        """Return the rows of the table ``comparisons`` for all pairs."""
        return comparisons_table(map(self.kept, self.history.pairs), "cachelog", None)

    def compared(self, pair: Pair) -> Comparison:
        """Return cachelog's comparison of a pair."""
        base, head = map(self._side, pair)
        return Comparison(base.frame, head.frame)

    def kept(self, pair: Pair) -> StoredChanges:
        """Return the stored changes of a pair, as an import computes them."""
        return changes_to_store(*map(self._side, pair))

    def counts(self, pair: Pair) -> PairCounts:
        """Return the counts of a pair."""
        reasons = self._reasons(pair)
        specs = Counter(self._kind(pair, digest) for digest in reasons)
        packages = Counter(self.package_kinds(pair).values())
        added, removed = packages.pop("ADDED", 0), packages.pop("REMOVED", 0)
        return PairCounts(
            specs_added=specs["added"],
            specs_removed=specs["removed"],
            specs_changed=specs["changed"],
            packages_added=added,
            packages_removed=removed,
            packages_changed=packages.total(),
            reasons=dict(
                Counter(
                    reason for reason in reasons.values() if reason is not SpecChangeReason.FACTS
                )
            ),
        )

    def package_kinds(self, pair: Pair) -> dict[str, str]:
        """Return the kind of change of each changed package."""
        names = {spec.name for digest in pair for spec in self.contents[digest].values()}
        states = [self._states[digest] for digest in pair]
        kinds = {
            name: package_kind(*(state.of_package(name) for state in states)) for name in names
        }
        return {name: kind for name, kind in kinds.items() if kind is not None}

    # -- of series

    def specs_of(self, revision: RevisionInfo) -> dict[str, Spec]:
        """Return the specs of a revision, by hash."""
        return self.contents[revision.digest]

    def reason(self, step: Neighbours, text: str) -> SpecChangeReason:
        """Return why a hash changed, with regard to all earlier revisions of the series."""
        reason = self._reasons(step.pair)[text]
        is_added = text in self.specs_of(step.head) and (
            step.base is None or text not in self.specs_of(step.base)
        )
        earlier = self.history.earlier(step.head)
        was_there = any(text in self.specs_of(revision) for revision in earlier)
        if is_added and was_there and reason not in _TOOK_A_PLACE:
            return SpecChangeReason.RETURNED
        return reason

    def reasons(self, step: Neighbours) -> dict[str, SpecChangeReason]:
        """Return why each hash changed, with regard to all earlier revisions of the series."""
        return {text: self.reason(step, text) for text in self._reasons(step.pair)}

    def hash_history(self, text: str) -> HashHistory | None:
        """Return the history of a hash; None if no revision has it."""
        having = [
            revision for revision in self.history.revisions if text in self.specs_of(revision)
        ]
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
            after = [step for step in range(place, len(steps)) if not is_there[step]]
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

    def cell_spans(
        self, series: str, name: str, cell: Mapping[CoverageDimension, str]
    ) -> list[CellSpan]:
        """Return the spans in which a series has a package in a cell; no stacks, no gap."""
        spans: list[CellSpan] = []
        before: list[str] = []
        last: Neighbours | None = None
        for step in self.history.neighbours(series):
            last = last or step
            if CoverageDimension.STACK in cell and step.head.known_stacks is None:
                continue
            hashes = [
                spec.hash
                for spec in self._of_package(step.head, name)
                if all(value in values_of(spec, by.value) for by, value in cell.items())
            ]
            if hashes:
                first = spans.pop().first if before else step.head
                spans.append(CellSpan(first, step.head, len(hashes)))
            elif before:
                reasons = self._reasons(last.pair)
                gone = Counter(reasons[text] for text in before if text in reasons)
                spans[-1] = replace(spans[-1], gone_in=step.head, reasons=dict(gone))
            before, last = hashes, None
        return spans

    def holding(self, hashes: Sequence[str], series: str | None = None) -> list[RevisionInfo]:
        """Return the revisions that contain all of the hashes, newest first."""
        return [
            revision
            for revision in self.history.select(series=series)
            if self.specs_of(revision).keys() >= set(hashes)
        ]

    def package_timeline(self, name: str, series: str) -> PackageTimeline | None:
        """Return the timeline of a package; None if no revision of the series has it."""
        steps = self.history.neighbours(series)
        having = [step.head for step in steps if self._of_package(step.head, name)]
        if not having:
            return None
        entries = [self._entry(step, name) for step in steps]
        return PackageTimeline(
            name=name,
            series=series,
            first_seen=having[0],
            last_seen=having[-1],
            entries=tuple(entry for entry in reversed(entries) if entry),
        )

    def all_packages(self) -> dict[str, CatalogPackage]:
        """Return every package that any revision has, by name."""
        first = self.history.main_series
        series = sorted(self.history.series_names, key=lambda name: name != first)
        names = {spec.name for specs in self.contents.values() for spec in specs.values()}
        packages = {name: [self._in(one, name) for one in series] for name in sorted(names)}
        return {
            name: CatalogPackage(name, tuple(filter(None, of_name)))
            for name, of_name in packages.items()
        }

    def _in(self, series: str, name: str) -> PackageInSeries | None:
        heads = [step.head for step in self.history.neighbours(series)]
        having = [place for place, revision in enumerate(heads) if self._of_package(revision, name)]
        if not having:
            return None
        last = heads[having[-1]]
        specs = self._of_package(last, name)
        return PackageInSeries(
            series=series,
            versions=_newest_first({spec.version for spec in specs}),
            num_specs=len(specs),
            num_revisions=len(having),
            first_seen=heads[having[0]],
            last_seen=last,
            gone_in=heads[having[-1] + 1] if last != heads[-1] else None,
        )

    def _of_package(self, revision: RevisionInfo | None, name: str) -> list[Spec]:
        return self._states[revision.digest].of_package(name) if revision else []

    def _entry(self, step: Neighbours, name: str) -> PackageEntry | None:
        changes = [
            digest
            for digest in self._reasons(step.pair)
            if self._spec(step.pair, digest).name == name
        ]
        if not changes:
            return None
        sides = [self._of_package(revision, name) for revision in (step.base, step.head)]
        before, after = ({spec.version for spec in side} for side in sides)
        kinds = Counter(self._kind(step.pair, digest) for digest in changes)
        return PackageEntry(
            base=step.base,
            head=step.head,
            # The stored history has no architectures, only versions.
            kind=PackageChangeKind[str(kind_by_versions(*sides))],
            versions_added=_newest_first(after - before),
            versions_removed=_newest_first(before - after),
            specs_added=kinds["added"],
            specs_removed=kinds["removed"],
            specs_changed=kinds["changed"],
            reasons=dict(Counter(self.reason(step, digest) for digest in changes)),
        )


def _newest_first(versions: set[str]) -> tuple[str, ...]:
    return tuple(
        sorted(versions, key=lambda version: (version_key(version), version), reverse=True)
    )
