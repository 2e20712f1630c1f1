"""All of a catalog is read, and what does not fit is told with what to do about it."""

from collections.abc import Iterator

import msgspec
from deltalake.exceptions import TableNotFoundError

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.keeping.contents import Contents, unnamed
from snapshots.catalog.pairs.history_tables import HISTORY_TABLES, HOW_TO_MEND
from snapshots.catalog.store.failures import translated
from snapshots.catalog.store.storage import RESTORE
from snapshots.catalog.tables.damage import DROP, drop, droppable, what_is_broken, what_to_do
from snapshots.catalog.verifying.contents import Read, contents_to_read, read_contents
from snapshots.catalog.verifying.damaged_bases import with_damaged_bases
from snapshots.catalog.verifying.findings import IMPORT_AGAIN, LIST_AGAIN, VACUUM, Finding
from snapshots.catalog.verifying.hash_sums import SetOfHashes, sum_of
from snapshots.catalog.verifying.history import HistoryCheck
from snapshots.errors import CatalogError, NewerCatalog, NoCatalog
from snapshots.models import NOTHING
from snapshots.sources.reports import Progress, Report
from snapshots.wording import counted, size

_TABLES = ("revisions", "specs", *HISTORY_TABLES)


class Verified(msgspec.Struct, frozen=True, kw_only=True):
    """What was read and found, what is damaged first."""

    num_revisions: int
    num_contents: int
    num_specs: int
    num_pairs: int
    findings: tuple[Finding, ...]

    @property
    def is_sound(self) -> bool:
        """Whether nothing is damaged."""
        return not any(it.is_damage for it in self.findings)


def verify(
    location: str,
    *,
    deep: bool = False,
    repair: bool = False,
    jobs: int | None = None,
    cluster: str | None = None,
    progress: Progress | None = None,
) -> Verified:
    """Read all of the catalog at a location, in so many processes or on a cluster.

    ``jobs`` and ``cluster`` are those of ``mapping``. With ``deep`` all neighbours are compared
    anew. With ``repair`` the unreadable end of a log that nothing rests on is dropped before.
    Raises NoCatalog, NewerCatalog, and CatalogError where the store itself fails.
    """
    with translated(location):
        verification = _Verification(location, progress or Report().progress)
        if repair:
            verification.repair()
        return verification.run(deep=deep, jobs=jobs, cluster=cluster)


class _Verification:
    def __init__(self, location: str, progress: Progress) -> None:
        self._catalog = Catalog(location)
        self._contents = Contents(location)
        self._storage = self._contents.storage
        self._progress = progress
        self._findings: list[Finding] = []
        self._num_specs = self._num_contents = 0

    def repair(self) -> None:
        """Drop what ``droppable`` returns of each table, and note that."""
        for name in _TABLES:
            if path := droppable(self._storage, name):
                drop(self._storage, path)
                reason = f"{path} was unreadable, and is dropped"
                self._findings.append(_note(f"log of {name}", reason, IMPORT_AGAIN))

    def run(self, *, deep: bool, jobs: int | None, cluster: str | None) -> Verified:
        self._findings += self._broken_logs()
        try:
            self._catalog.refresh()
        except (NoCatalog, NewerCatalog):
            raise
        except CatalogError as error:
            advice = DROP + RESTORE if error.reason.endswith(DROP + RESTORE) else RESTORE
            reason = error.reason.removesuffix(f"; {advice}")
            self._findings.append(Finding(place="revisions", reason=reason, advice=advice))
        else:
            hashes = self._read_contents(jobs, cluster)
            self._findings += self._stray()
            check = HistoryCheck(self._catalog, self._storage, hashes, self._progress)
            self._findings += check.run(deep=deep)
        history = self._catalog.history
        return Verified(
            num_revisions=len(history.revisions),
            num_contents=self._num_contents,
            num_specs=self._num_specs,
            num_pairs=len(history.pairs),
            findings=tuple(sorted(dict.fromkeys(self._findings), key=_order)),
        )

    def _broken_logs(self) -> Iterator[Finding]:
        for name in _TABLES:
            if not self._storage.sizes(f"{name}/_delta_log"):
                continue  # no such table, which refresh tells where that is damage
            if reason := what_is_broken(self._storage, name):
                advice = HOW_TO_MEND if name in HISTORY_TABLES else RESTORE
                advice = what_to_do(self._storage, name, reason, advice)
                yield Finding(place=f"log of {name}", reason=reason, advice=advice)

    def _read_contents(self, jobs: int | None, cluster: str | None) -> dict[str, SetOfHashes]:
        contents = contents_to_read(self._catalog.history, self._catalog.files_of)
        hashes = {NOTHING: sum_of([])}
        without_base: list[Read] = []
        self._progress("reading contents", 0, len(contents))
        with read_contents(self._catalog.location, contents, jobs, cluster) as found:
            for read in found:
                self._num_contents += 1
                self._num_specs += read.num_specs
                self._findings += read.findings
                if read.hashes is not None:
                    hashes[read.digest] = read.hashes
                if read.damaged_base is not None:
                    without_base.append(read)
                self._progress("reading contents", self._num_contents, len(contents))
        self._findings = with_damaged_bases(self._findings, without_base, self._catalog.history)
        return hashes

    def _stray(self) -> Iterator[Finding]:
        """Yield what the tables do not agree on: what rows name, what is listed, what is there."""
        try:
            listed = self._contents.listed()
        except TableNotFoundError:
            listed = []
        except CatalogError:
            return  # its log is broken, and that is told
        named = self._contents.named()
        digests = {it.digest for it in listed}
        if unlisted := [it for it in named if it != NOTHING and it not in digests]:
            reason = f"{counted(len(unlisted), 'content')} that rows name: only cachelog finds them"
            yield _note("specs", reason, LIST_AGAIN)
        if left := unnamed(listed, named):
            taken = size(sum(it.size for it in left))
            reason = f"{counted(len(left), 'file')} of contents that no row names, {taken}"
            yield _note("specs", reason, VACUUM)
        kept = {it.path for it in listed} | self._contents.named_files()
        there = self._storage.find("specs")
        stray = [
            found.size
            for path, found in there.items()
            if path not in kept
            and path.endswith((".parquet", ".tmp"))
            and not path.startswith("_delta_log/")
        ]
        if stray:
            reason = f"{counted(len(stray), 'file')} out of use, {size(sum(stray))}"
            yield _note("specs", reason, VACUUM)


def _note(place: str, reason: str, advice: str) -> Finding:
    return Finding(place=place, reason=reason, advice=advice, is_damage=False)


def _order(finding: Finding) -> tuple[bool, str, str]:
    return not finding.is_damage, finding.place, finding.reason
