"""What a run measures on: made-up data, made once and kept, and how long each turn may last."""

import hashlib
import random
import shutil
import tempfile
from collections.abc import Callable
from functools import cached_property
from pathlib import Path

import msgspec

from snapshots import demo
from snapshots.catalog.catalog import Catalog
from snapshots.contents import Content, PackageContent
from snapshots.spack.notation import canonical_variants

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / "build" / "benchmarks"

# What decides the bytes of a catalog and of pages; where it changes, the data is made anew.
_DECIDING = tuple(
    f"snapshots/{name}.py" for name in ("demo/*", "models", "contents", "tables", "catalog/*")
)
_LISTS_OF_A_PACKAGE = 28
_SWITCHES = [f"switch-{number}" for number in range(20)]
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
    def pages(self) -> Path:
        """The cache pages of the newer revision, with as many variant lists as real ones have."""
        return self._made(f"varied-pages-{self.specs}", self._write_pages)

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

    def _write_pages(self, folder: Path) -> None:
        *_, newest = demo.history(revisions=2, packages=self.packages, specs=self.specs)
        draw = random.Random(0)
        packages = {
            name: _with_own_variants(package, draw)
            for name, package in newest.content.packages.items()
        }
        demo.write_pages(msgspec.structs.replace(newest, content=Content(packages)), folder)

    def _made(self, name: str, make: Callable[[Path], object]) -> Path:
        return made_once(self.cache, name, source_digest(*_DECIDING), make, fresh=self._fresh)


def made_once(
    cache: Path, name: str, digest: str, make: Callable[[Path], object], *, fresh: bool = False
) -> Path:
    """Return the folder of a name below ``cache``, made now unless it is there for this digest."""
    folder = cache / f"{name}-{digest}"
    if folder.exists() and not fresh:
        return folder
    cache.mkdir(parents=True, exist_ok=True)
    for outdated in cache.glob(f"{name}-*"):
        shutil.rmtree(outdated)
    # Renamed when it is whole, so that a run that is stopped half way leaves no half data.
    with tempfile.TemporaryDirectory(dir=cache) as unfinished:
        made = Path(unfinished, name)
        make(made)
        made.rename(folder)
    return folder


def _with_own_variants(package: PackageContent, draw: random.Random) -> PackageContent:
    """Return the specs of a package with variants of its own, where the demo's packages share some.

    The packages of the public cache have some thirty distinct lists each, of up to thirty variants.
    """
    patches = [f"patches={draw.randbytes(4).hex()[:7]}" for _ in range(2)]
    lists = [
        canonical_variants(
            [
                *(draw.choice("+~") + switch for switch in draw.sample(_SWITCHES, 12)),
                "build_system=cmake",
                "build_type=Release",
                "generator=make",
                draw.choice(patches),
            ]
        )
        for _ in range(_LISTS_OF_A_PACKAGE)
    ]
    return PackageContent(
        msgspec.structs.replace(spec, variants=draw.choice(lists)) for spec in package.specs
    )


def source_digest(*patterns: str, edition: int = 0) -> str:
    """Return a digest of the source files that decide what made-up data is."""
    digest = hashlib.sha256(str(edition or "").encode())
    for pattern in patterns:
        for file in sorted(ROOT.glob(pattern)):
            digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The data, how many rounds, about how many seconds a turn, and what to leave out.

    ``calls`` is how many calls a turn takes the median of, where it counts them. ``notes`` collects
    what a reader of the results has to know.
    """

    data: Data
    rounds: int
    seconds: float
    calls: int
    over_http: bool
    mercurius: bool
    revisions: int
    contents: int
    specs_of_years: int
    notes: list[str] = []


def _publish_singly(folder: Path, count: int) -> None:
    catalog = Catalog(str(folder))
    for snapshot in demo.history(revisions=count, **_SMALL):
        catalog.publish([snapshot])
