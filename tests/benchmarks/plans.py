"""The plan of a run: its synthetic data, which is created once, and the length of turns."""

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
from tests import demo_histories

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / "build" / "benchmarks"

# The sources that determine the bytes of catalogs and pages: if they change, data is created again.
DECIDING = tuple(
    f"snapshots/{name}.py" for name in ("demo/*", "models", "contents", "tables", "catalog/*")
)
_LISTS_OF_A_PACKAGE = 28
_SWITCHES = [f"switch-{number}" for number in range(20)]


class Data:
    """The demo's history as a catalog and as cache pages, each created once below ``cache``.

    The catalog has two revisions of develop with ``specs`` specs.
    """

    def __init__(self, cache: Path, *, packages: int, specs: int) -> None:
        self.cache = cache
        self.packages = packages
        self.specs = specs

    @cached_property
    def catalog(self) -> Path:
        """The catalog."""
        return self._made(f"develop-{self.specs}", self._publish)

    @cached_property
    def pages(self) -> Path:
        """The cache pages of the newer revision, with as many lists of variants as real ones."""
        return self._made(f"varied-pages-{self.specs}", self._write_pages)

    def digests(self) -> tuple[str, str]:
        """Return the digests of the catalog's contents, the older one first."""
        newer, older = self.opened().history.revisions
        return older.digest, newer.digest

    def opened(self) -> Catalog:
        """Return the catalog, refreshed."""
        catalog = Catalog(str(self.catalog))
        catalog.refresh()
        return catalog

    def _publish(self, folder: Path) -> None:
        weeks = demo.develop_history(revisions=2, packages=self.packages, specs=self.specs)
        Catalog(str(folder)).publish([week for week in weeks if week.tag == "develop"])

    def _write_pages(self, folder: Path) -> None:
        *_, newest = demo_histories.history(revisions=2, packages=self.packages, specs=self.specs)
        draw = random.Random(0)
        packages = {
            name: _with_own_variants(package, draw)
            for name, package in newest.content.packages.items()
        }
        demo_histories.write_pages(
            msgspec.structs.replace(newest, content=Content(packages)), folder
        )

    def _made(self, name: str, make: Callable[[Path], object]) -> Path:
        return made_once(self.cache, name, source_digest(*DECIDING), make)


def made_once(cache: Path, name: str, digest: str, make: Callable[[Path], object]) -> Path:
    """Return the folder of a name below ``cache``, created unless it exists for this digest."""
    folder = cache / f"{name}-{digest}"
    if folder.exists():
        return folder
    cache.mkdir(parents=True, exist_ok=True)
    for outdated in cache.glob(f"{name}-*"):
        shutil.rmtree(outdated)
    # Renamed when it is complete, so that an interrupted run leaves no partial data.
    with tempfile.TemporaryDirectory(dir=cache) as unfinished:
        made = Path(unfinished, name)
        make(made)
        made.rename(folder)
    return folder


def _with_own_variants(package: PackageContent, draw: random.Random) -> PackageContent:
    """Return the specs of a package with lists of variants that other packages do not have.

    Packages of the public cache have about thirty distinct lists each, of up to thirty variants.
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


def source_digest(*patterns: str) -> str:
    """Return a digest of the source files that determine synthetic data."""
    digest = hashlib.sha256()
    for pattern in patterns:
        for file in sorted(ROOT.glob(pattern)):
            digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The data, the number of rounds, and the approximate seconds per turn.

    ``calls`` is the number of calls in turns that measure single ones, ``sizes`` the numbers of
    specs for which growth is measured. ``notes`` collects remarks about the results.
    """

    data: Data
    rounds: int
    seconds: float
    calls: int
    contents: int
    specs_of_years: int
    sizes: tuple[int, int, int]
    notes: list[str] = []
