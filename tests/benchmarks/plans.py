"""What a run measures on: made-up data, made once and kept, and how long each turn may last."""

import hashlib
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from snapshots import demo
from snapshots.catalog.catalog import Catalog

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / "build" / "benchmarks"

# What decides the bytes of a catalog and of pages; where it changes, the data is made anew.
_DECIDING = ("demo/*.py", "models.py", "contents.py", "tables.py", "catalog/*.py")
_SMALL = {"packages": 40, "specs": 400}


class Data:
    """The demo's history as a catalog and as cache pages, below ``cache``; nothing is made twice.

    The catalog has two revisions of ``specs`` specs; the newer one is tagged develop.
    """

    def __init__(self, cache: Path, *, packages: int, specs: int, fresh: bool) -> None:
        self.cache = cache
        self.packages = packages
        self.specs = specs
        self._fresh = fresh

    @cached_property
    def catalog(self) -> Path:
        """The catalog."""
        return self._made(f"catalog-{self.specs}", self._publish)

    @cached_property
    def distant(self) -> Path:
        """A catalog of two revisions like those of ``catalog``, with two others between them."""
        return self._made(f"distant-{self.specs}", self._publish_distant)

    @cached_property
    def pages(self) -> Path:
        """The cache pages of the newer revision."""
        return self._made(f"pages-{self.specs}", self._write_pages)

    def many_revisions(self, count: int) -> Path:
        """Return a catalog of so many revisions of 400 specs, published one after the other."""
        return self._made(f"catalog-of-{count}", lambda folder: _publish_singly(folder, count))

    def digests(self) -> tuple[str, str]:
        """Return the contents of the catalog, the older one first."""
        newer, older = self.opened().history.revisions
        return older.digest, newer.digest

    def opened(self) -> Catalog:
        """Return the catalog, refreshed."""
        catalog = Catalog(str(self.catalog))
        catalog.refresh()
        return catalog

    def _publish(self, folder: Path) -> None:
        snapshots = demo.history(revisions=2, packages=self.packages, specs=self.specs)
        Catalog(str(folder)).publish(list(snapshots))

    def _publish_distant(self, folder: Path) -> None:
        first, *_, last = demo.history(revisions=4, packages=self.packages, specs=self.specs)
        Catalog(str(folder)).publish([first, last])

    def _write_pages(self, folder: Path) -> None:
        *_, newest = demo.history(revisions=2, packages=self.packages, specs=self.specs)
        demo.write_pages(newest, folder)

    def _made(self, name: str, make: Callable[[Path], None]) -> Path:
        """Return the folder of that name, made now unless it is there for this source."""
        folder = self.cache / f"{name}-{_source_digest()}"
        if folder.exists() and not self._fresh:
            return folder
        self.cache.mkdir(parents=True, exist_ok=True)
        for outdated in self.cache.glob(f"{name}-*"):
            shutil.rmtree(outdated)
        # Renamed when it is whole, so that a run that is stopped half way leaves no half data.
        with tempfile.TemporaryDirectory(dir=self.cache) as unfinished:
            made = Path(unfinished, name)
            make(made)
            made.rename(folder)
        return folder


@dataclass(frozen=True)
class Plan:
    """The data, how many rounds, about how many seconds a turn, and what to leave out.

    ``calls`` is how many calls a turn takes the median of, where it counts them; ``deepdiff_specs``
    how many specs are compared by a way that takes minutes for all of them. ``days`` are those of a
    year that is measured, the last one last. ``notes`` collects what a reader of the results has to
    know.
    """

    data: Data
    rounds: int
    seconds: float
    calls: int
    deepdiff_specs: int
    over_http: bool
    mercurius: bool
    revisions: int
    contents: int
    specs_of_years: int
    specs_of_a_year: int
    days: tuple[int, ...]
    bulk_contents: int = 33
    bulk_tags: int = 20
    notes: list[str] = field(default_factory=list)


def _publish_singly(folder: Path, count: int) -> None:
    catalog = Catalog(str(folder))
    for snapshot in demo.history(revisions=count, **_SMALL):
        catalog.publish([snapshot])


def _source_digest() -> str:
    digest = hashlib.sha256()
    for pattern in _DECIDING:
        for file in sorted((ROOT / "snapshots").glob(pattern)):
            digest.update(file.read_bytes())
    return digest.hexdigest()[:12]
