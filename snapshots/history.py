"""All published revisions in order, and the resolution of refs."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from functools import cached_property
from itertools import chain, pairwise
from typing import Any

import msgspec

from snapshots import refs
from snapshots.errors import AmbiguousRef, InvalidArgument, RevisionNotFound
from snapshots.models import NOTHING, RevisionInfo
from snapshots.refs import DIGEST_PREFIX_MIN, Ref, catalog_order, parse_ref, series
from snapshots.spack.versions import total_order
from snapshots.texts import legible, names_hint, nearest_names, short_digest, short_key

_NEAREST = 3
_NOT_THERE = "it was removed or pruned from this catalog, or is of another catalog"
_LONGEST_NAME, _LONGEST_BASE = 80, 60
_STEM = DIGEST_PREFIX_MIN - 2


class Pair(msgspec.Struct, frozen=True, order=True):
    """The digests of two neighbours; the changes between them are permanent."""

    base: str
    head: str

    def __iter__(self) -> Iterator[str]:
        """Yield base and head."""
        yield self.base
        yield self.head


class Neighbours(msgspec.Struct, frozen=True):
    """Two adjacent revisions of a series.

    ``base`` is None for the first revision of a series, which counts as a change from nothing.
    """

    base: RevisionInfo | None
    head: RevisionInfo

    def __iter__(self) -> Iterator[Any]:
        """Yield base and head."""
        yield self.base
        yield self.head

    @property
    def pair(self) -> Pair:
        """The digests of both, which are equal if two tags of a series have the same content."""
        return Pair(self.base.digest if self.base else NOTHING, self.head.digest)


class History:
    """An immutable view of the catalog's rows; replaced when the catalog changes.

    A row states that a tag was in a state at a time. Consecutive rows of a tag with the same
    content are one revision: the first row is the revision, the others confirm it. The state at a
    given time is the latest one seen until then, regardless of the order in which the rows were
    published.
    """

    def __init__(self, rows: Iterable[RevisionInfo] = ()) -> None:
        self._rows = sorted(rows, key=age)
        self._confirmed: dict[RevisionInfo, RevisionInfo] = {}
        self._rows_by_tag: defaultdict[str, list[RevisionInfo]] = defaultdict(list)
        by_tag: defaultdict[str, list[RevisionInfo]] = defaultdict(list)
        for row in self._rows:
            self._rows_by_tag[row.tag].append(row)
            revisions = by_tag[row.tag]
            if revisions and revisions[-1].digest == row.digest:
                self._confirmed[row] = revisions[-1]
            else:
                revisions.append(row)
        self._by_tag = dict(by_tag)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle only the rows; everything else is derived from them."""
        return History, (self._rows,)

    @cached_property
    def revisions(self) -> list[RevisionInfo]:
        """All revisions, newest first."""
        return sorted(chain.from_iterable(self._by_tag.values()), key=age, reverse=True)

    @property
    def rows(self) -> Sequence[RevisionInfo]:
        """All rows, including those that only confirm a revision, oldest first."""
        return self._rows

    @cached_property
    def by_ref(self) -> dict[str, RevisionInfo]:
        """The revision of each row by the row's ref, so that refs and ids remain valid.

        A row that is published later can turn the first row of a revision into one that confirms
        it.
        """
        return {row.ref: self._revision_of(row) for row in self._rows}

    @cached_property
    def by_key(self) -> dict[str, RevisionInfo]:
        """The revision of each row by the ``short_key`` of the row's ref."""
        return {short_key(ref): revision for ref, revision in self.by_ref.items()}

    @cached_property
    def tags(self) -> list[str]:
        """All tags in natural order."""
        newest_first = sorted(self._by_tag, key=total_order, reverse=True)
        return sorted(newest_first, key=catalog_order)

    @cached_property
    def digests(self) -> list[str]:
        """The distinct digests of all contents, sorted."""
        return sorted(self._of_content)

    def of_tag(self, tag: str) -> Sequence[RevisionInfo]:
        """Return the revisions of a tag, newest first; none if the tag is unknown."""
        return self._by_tag.get(tag, [])[::-1]

    def rows_of(self, tag: str) -> Sequence[RevisionInfo]:
        """Return all rows of a tag, including those that only confirm a revision, oldest first."""
        return self._rows_by_tag.get(tag, [])

    def seen(self, revision: RevisionInfo) -> Sequence[RevisionInfo]:
        """Return the rows of a revision: the revision and those that confirm it, oldest first."""
        first = self._revision_of(revision)
        return [row for row in self.rows_of(first.tag) if self._revision_of(row) == first]

    def with_rows(self, added: Collection[RevisionInfo]) -> "History":
        """Return the history with additional rows."""
        return History([*self._rows, *added]) if added else self

    def without_rows(self, row_refs: Collection[str]) -> "History":
        """Return the history without the rows with these refs."""
        return History(row for row in self._rows if row.ref not in row_refs)

    def confirmed_at(self, revision: RevisionInfo) -> datetime:
        """Return the latest time at which the tag was seen in this state before it changed."""
        return self._last_seen.get(self._revision_of(revision), revision.taken_at)

    @cached_property
    def _last_seen(self) -> dict[RevisionInfo, datetime]:
        # Rows are sorted, so the last row that confirms a revision is the newest.
        return {revision: row.taken_at for row, revision in self._confirmed.items()}

    def select(
        self,
        *,
        tag: str | None = None,
        series: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> Sequence[RevisionInfo]:
        """Return the revisions that meet all conditions, newest first.

        ``since`` and ``until`` are bounds for ``taken_at``, both inclusive.
        """
        return [
            revision
            for revision in (self.revisions if tag is None else self.of_tag(tag))
            if (series is None or refs.series(revision.tag) == series)
            and (since is None or revision.taken_at >= since)
            and (until is None or revision.taken_at <= until)
        ]

    def at(self, tag: str, moment: datetime) -> RevisionInfo | None:
        """Return the newest revision of a tag at or before a time."""
        revisions = self._by_tag.get(tag, [])
        place = bisect_right(revisions, moment, key=lambda revision: revision.taken_at)
        return revisions[place - 1] if place else None

    def others_of(self, revision: RevisionInfo) -> Sequence[RevisionInfo]:
        """Return the other revisions that have the same content as this one, newest first."""
        return [
            other
            for other in self._of_content.get(revision.digest, ())
            if other.ref != revision.ref
        ]

    def also_published_as(self, text: str) -> Sequence[RevisionInfo]:
        """Return the further revisions with the content that a ref names by its digest alone.

        Newest first; none for a ref that names a revision. Raises what ``resolve`` raises.
        """
        ref = parse_ref(text)
        if ref.name in self._by_tag or not ref.is_digest:
            return ()
        return self.others_of(self._of_digest(text, ref))

    @cached_property
    def _of_content(self) -> dict[str, list[RevisionInfo]]:
        """The revisions of each content, newest first."""
        of_content: defaultdict[str, list[RevisionInfo]] = defaultdict(list)
        for revision in self.revisions:
            of_content[revision.digest].append(revision)
        return dict(of_content)

    def previous(self, revision: RevisionInfo) -> RevisionInfo | None:
        """Return the revision before this one in its series."""
        return self._adjacent(revision, -1)

    def next(self, revision: RevisionInfo) -> RevisionInfo | None:
        """Return the revision after this one in its series."""
        return self._adjacent(revision, 1)

    def earlier(self, revision: RevisionInfo) -> Sequence[RevisionInfo]:
        """Return the revisions before this one in its series, newest first."""
        place = self._places.get(self._revision_of(revision), 0)
        return self._series.get(series(revision.tag), [])[:place][::-1]

    def is_before(self, revision: RevisionInfo, other: RevisionInfo) -> bool:
        """Return whether a revision is before another one of its series."""
        places = (self._places.get(self._revision_of(one)) for one in (revision, other))
        first, second = places
        return first is not None and second is not None and first < second

    # -- series

    @cached_property
    def series_names(self) -> list[str]:
        """The names of all series: develop, releases, dated snapshots, then the others."""
        orders = {series(tag): catalog_order(tag) for tag in self._by_tag}
        return sorted(orders, key=orders.__getitem__)

    def require_tag(self, name: str | None, argument: str = "--tag") -> None:
        """Raise InvalidArgument if there is no tag of this name; None is ignored."""
        _require_one_of(self.tags, name, argument, "tag")

    def require_series(self, name: str | None, argument: str = "--series") -> None:
        """Raise InvalidArgument if there is no series of this name; None is ignored."""
        _require_one_of(self.series_names, name, argument, "series")

    @cached_property
    def main_series(self) -> str | None:
        """The default series: develop, or the one with the most revisions if there is no develop.

        None if there are no revisions.
        """
        if "develop" in self._series:
            return "develop"
        return max(self.series_names, key=lambda name: len(self._series[name]), default=None)

    @property
    def latest(self) -> RevisionInfo | None:
        """The default revision: the newest of the main series."""
        return None if self.main_series is None else self.of_series(self.main_series)[0]

    def of_series(self, name: str) -> Sequence[RevisionInfo]:
        """Return the revisions of a series, newest first; none if the series is unknown."""
        return self._series.get(name, [])[::-1]

    def neighbours(self, name: str) -> Sequence[Neighbours]:
        """Return each revision of a series with the one before it, oldest first."""
        return self._neighbours.get(name, [])

    @cached_property
    def _neighbours(self) -> dict[str, list[Neighbours]]:
        return {
            name: [Neighbours(base, head) for base, head in pairwise([None, *family]) if head]
            for name, family in self._series.items()
        }

    @cached_property
    def pairs(self) -> list[Pair]:
        """The distinct pairs of all neighbours whose contents differ, by series, oldest first."""
        return list(dict.fromkeys(chain.from_iterable(self._pairs_of_series.values())))

    def pairs_of(self, name: str | None) -> Sequence[Pair]:
        """Return the distinct pairs of a series, oldest first; all ``pairs`` for None."""
        return self.pairs if name is None else self._pairs_of_series.get(name, [])

    @cached_property
    def _pairs_of_series(self) -> dict[str, list[Pair]]:
        return {name: _pairs_of(steps) for name, steps in self._neighbours.items()}

    def _revision_of(self, row: RevisionInfo) -> RevisionInfo:
        """Return the revision that a row is or confirms."""
        return self._confirmed.get(row, row)

    def _adjacent(self, revision: RevisionInfo, step: int) -> RevisionInfo | None:
        place = self._places.get(self._revision_of(revision))
        if place is None:
            return None
        family = self._series[series(revision.tag)]
        place += step
        return family[place] if 0 <= place < len(family) else None

    @cached_property
    def _series(self) -> dict[str, list[RevisionInfo]]:
        families: defaultdict[str, list[RevisionInfo]] = defaultdict(list)
        for tag in sorted(self._by_tag, key=total_order):
            families[series(tag)].extend(self._by_tag[tag])
        return dict(families)

    @cached_property
    def _places(self) -> dict[RevisionInfo, int]:
        return {
            revision: place
            for family in self._series.values()
            for place, revision in enumerate(family)
        }

    # -- refs

    def resolve(self, text: str) -> RevisionInfo:
        """Return the revision that a ref names.

        Raises InvalidArgument for a text that is not a ref, RevisionNotFound and AmbiguousRef.
        """
        ref = parse_ref(text)
        if ref.exact is not None:
            start = self._of_exact(text, ref, ref.exact)
        elif ref.name in self._by_tag:
            start = self._of_ref(text, ref, self._by_tag[ref.name])
        elif ref.name in self._series:
            start = self._of_ref(text, ref, self._series[ref.name])
        elif ref.is_digest:
            start = self._of_digest(text, ref)
        else:
            name = legible(ref.name, _LONGEST_NAME)
            raise RevisionNotFound(text, f"there is no tag {name}", self._nearest(ref.name))
        return self._back(text, start, ref.back) if ref.back else start

    def _of_ref(self, text: str, ref: Ref, revisions: Sequence[RevisionInfo]) -> RevisionInfo:
        """Return the revision of a tag or series, whose revisions are the oldest first.

        A relative time counts from the newest revision, so that the result depends on no clock.
        """
        until = ref.until if ref.ago is None else ref.ago.before(revisions[-1].taken_at)
        if until is None:
            return revisions[-1]
        if ref.name in self._by_tag:
            revision = self.at(ref.name, until)
        else:
            revision = next((it for it in reversed(revisions) if it.taken_at <= until), None)
        if revision is None:
            first = min(it.taken_at for it in revisions).date()
            nearest = [f"{ref.name}@{first}"]
            raise RevisionNotFound(text, f"the first of {ref.name} is of {first}", nearest)
        return revision

    def _of_digest(self, text: str, ref: Ref) -> RevisionInfo:
        prefix = ref.name.lower()
        fitting = [digest for digest in self.digests if digest.startswith(prefix)]
        if not fitting:
            raise RevisionNotFound(text, "no digest has this prefix", self._nearest(prefix))
        if len(fitting) > 1:
            raise AmbiguousRef(text, fitting)
        return self._of_content[fitting[0]][0]

    def _of_exact(self, text: str, ref: Ref, exact: str) -> RevisionInfo:
        revision = self.by_ref.get(exact)
        if revision is None:
            alike = [other.ref for other in self.revisions if other.ref.endswith(f".{ref.digest}")]
            if not alike and ref.until and (standing := self.at(ref.name, ref.until)):
                alike = [standing.ref]
            raise RevisionNotFound(text, _NOT_THERE, alike[:_NEAREST])
        return revision

    def _back(self, text: str, start: RevisionInfo, steps: int) -> RevisionInfo:
        family = self._series[series(start.tag)]
        place = self._places[self._revision_of(start)]
        if steps > place:
            whole, _, _ = text.rpartition("~")
            base = legible(whole, _LONGEST_BASE)
            reason = f"{base} is the first of its series"
            if place:
                before = f"{place} revisions precede" if place > 1 else "1 revision precedes"
                reason = f"only {before} {base} in its series"
            nearest = f"{base}~{place}" if place else base
            raise RevisionNotFound(text, reason, [nearest] if base == whole else ())
        return family[place - steps]

    def _nearest(self, name: str) -> list[str]:
        close = nearest_names(name, [*dict.fromkeys([*self.tags, *self.series_names])])
        stem = name[:_STEM]
        if len(stem) == _STEM:
            close += [short_digest(digest) for digest in self.digests if digest.startswith(stem)]
        return close[:_NEAREST]


def _require_one_of(names: Sequence[str], name: str | None, argument: str, kind: str) -> None:
    if name is not None and name not in names:
        raise InvalidArgument(argument, f"there is no {kind} {name!r}{names_hint(name, names)}")


def _pairs_of(steps: Iterable[Neighbours]) -> list[Pair]:
    pairs = dict.fromkeys(both.pair for both in steps)
    return [pair for pair in pairs if pair.base != pair.head]


def age(revision: RevisionInfo) -> tuple[datetime, datetime, str]:
    """Return the sort key that orders rows from oldest to newest."""
    return revision.taken_at, revision.published_at, revision.tag
