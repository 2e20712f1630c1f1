"""A synthetic build cache: from one state to the next, some specs are added, removed or rebuilt.

The packages are in layers, each of which depends on some packages of the layers below. A cell is a
stack on an architecture; it has some of the packages, with all dependencies. Editing a package
rebuilds its dependents, cell by cell, so that the hashes in edges exist. In addition, specs,
packages and entire stacks are removed for some time. The states are always the same, byte by byte.
"""

from base64 import b32encode
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from msgspec.structs import replace

from snapshots.contents import Content, PackageContent, Snapshot
from snapshots.demo.draws import Draw
from snapshots.models import Dependency, Source, Spec

FIRST_DAY = datetime(2023, 1, 1, tzinfo=UTC)
CHURN = 0.05

_LAYERS = (0.05, 0.25, 0.3, 0.4)
_ARCHITECTURES = (
    ("x86_64_v3", "ubuntu22.04", "gcc@11.4.0"),
    ("x86_64_v4", "ubuntu24.04", "gcc@13.2.0"),
    ("neoverse_v1", "ubuntu24.04", "gcc@13.2.0"),
    ("zen4", "rhel8", "oneapi@2024.2.1"),
)
_VARIANTS = (
    ("+shared", "~mpi", "build_system=cmake", "build_type=Release", "~ipo", "+pic"),
    ("+shared", "+mpi", "build_system=cmake", "build_type=Release", "~ipo", "+fortran"),
    ("build_system=autotools", "+pic", "~debug", "+shared"),
    ("build_system=python_pip",),
)
_TOPS_OF_A_CELL = 0.3
_LEFT_OUT = 0.002
_STACK_ONCE_IN, _PACKAGE_ONCE_IN = 40, 8
_DAYS_OF_A_SPEC, _DAYS_OF_A_STACK, _DAYS_OF_A_PACKAGE = 3, 40, 200
"""The maximum number of states without a removed spec, stack or package."""

_SOURCE = Source(
    kind="demo", location="tests/benchmarks/churn.py", importer="benchmarks", synthetic=True
)


class _Cell(NamedTuple):
    stack: str
    target: str
    operating_system: str
    compiler: str


class _Place(NamedTuple):
    """The place of a spec: the numbers of its package and its cell."""

    package: int
    cell: int


class LivingCache:
    """The cache, at first in its first state; ``live`` advances it to the next one.

    It always has about ``specs`` specs, of which ``CHURN`` have another hash in each state.
    """

    def __init__(self, specs: int) -> None:
        self._draw = Draw(1)
        self._age = 0
        num_packages = max(20, specs // 50)
        self._below = _dependencies(num_packages, self._draw)
        self._over = _reverse(self._below)
        self._versions = [self._new_version(None) for _ in range(num_packages)]
        self._recipes = [self._new_hash() * 2 for _ in range(num_packages)]
        self._cells: list[_Cell] = []
        self._specs: list[dict[int, Spec]] = [{} for _ in range(num_packages)]
        self._fill(specs)
        self._total = sum(map(len, self._specs))
        self._absent: dict[_Place, int] = {}
        """The removed specs, with the number of the state in which they return."""
        self._touched = set(range(num_packages))
        self._contents: dict[int, PackageContent] = {}

    # -- from state to state

    def live(self) -> None:
        """Advance the cache to its next state."""
        self._age += 1
        back = [place for place, until in self._absent.items() if until <= self._age]
        for place in back:
            del self._absent[place]
        self._touched.update(place.package for place in back)
        self._leave_out()
        budget = int(self._total * CHURN)
        while budget > 0:
            budget -= self._edit(self._draw.pick(range(len(self._below))), budget)

    def _leave_out(self) -> None:
        """Leave out a few specs until one of the next states; rarely a stack, or a package."""
        left_out = 0
        while left_out < self._total * _LEFT_OUT:
            package = self._draw.pick(range(len(self._below)))
            cells = [*self._specs[package]][:2]
            left_out += len(cells)
            self._remove([_Place(package, cell) for cell in cells], _DAYS_OF_A_SPEC)
        if self._draw.random() * _STACK_ONCE_IN < 1:
            stack = self._draw.pick(sorted({cell.stack for cell in self._cells}))
            places = [place for place in self._places() if self._cells[place.cell].stack == stack]
            self._remove(places, _DAYS_OF_A_STACK)
        package = self._draw.pick(range(len(self._below)))
        if self._draw.random() * _PACKAGE_ONCE_IN < 1 and len(self._over[package]) == 1:
            places = [_Place(package, cell) for cell in self._specs[package]]
            self._remove(places, _DAYS_OF_A_PACKAGE)

    def _places(self) -> Iterator[_Place]:
        for package, specs in enumerate(self._specs):
            yield from (_Place(package, cell) for cell in specs)

    def _remove(self, places: list[_Place], most_days: int) -> None:
        """Remove specs from the cache for the same number of states."""
        until = self._age + 1 + int(self._draw.random() * most_days)
        for place in places:
            self._absent[place] = max(until, self._absent.get(place, 0))
        self._touched.update(place.package for place in places)

    def _edit(self, package: int, most: int) -> int:
        """Edit a package if that rebuilds up to ``most`` specs; return the number of rebuilt specs.

        Half of the edits are a new version, half of these in some cells only, so that the package
        has two versions. A package with too many dependents is edited in one cell.
        """
        over = self._over[package]
        cells = set(self._specs[package])
        if self._draw.random() < 0.5:
            self._versions[package] = self._new_version(self._versions[package])
            if self._draw.random() < 0.5:
                cells = {it for it in sorted(cells) if self._draw.random() < 0.5}
        places = self._rebuilt(over, cells)
        if len(places) > most:
            places = self._rebuilt(over, {self._draw.pick(sorted(cells))} if cells else cells)
        if len(places) > most and len(over) > 1:
            return 1  # so that the loop ends if no package fits
        self._recipes[package] = self._new_hash() * 2
        for place in places:
            self._build(place, is_edited=place.package == package)
        self._touched.update(over)
        return max(1, len(places))

    def _rebuilt(self, over: list[int], cells: set[int]) -> list[_Place]:
        return [_Place(it, cell) for it in over for cell in self._specs[it] if cell in cells]

    # -- building

    def _fill(self, specs: int) -> None:
        tops = [package for package, over in enumerate(self._over) if len(over) == 1]
        stack, total = 0, 0
        while total < specs:
            for architecture in _ARCHITECTURES:
                cell = len(self._cells)
                self._cells.append(_Cell(f"stack-{stack}", *architecture))
                packages = self._closed(
                    self._draw.some(tops, int(len(tops) * _TOPS_OF_A_CELL) or 1)
                )
                for package in sorted(packages)[: specs - total]:
                    self._build(_Place(package, cell), is_edited=True)
                    total += 1
            stack += 1

    def _closed(self, packages: list[int]) -> set[int]:
        """Return some packages with all their dependencies."""
        closed: set[int] = set()
        while packages:
            package = packages.pop()
            if package not in closed:
                closed.add(package)
                packages += self._below[package]
        return closed

    def _build(self, place: _Place, *, is_edited: bool) -> None:
        """Build a spec with its current dependencies; if edited, by the current recipe."""
        package, cell = place
        edges = tuple(
            Dependency(_name(it), self._specs[it][cell].hash, ("build", "link"))
            for it in self._below[package]
        )
        if not is_edited:
            last = self._specs[package][cell]
            spec = replace(last, hash=self._new_hash(), dependencies=edges)
        else:
            stack, target, operating_system, compiler = self._cells[cell]
            spec = Spec(
                hash=self._new_hash(),
                name=_name(package),
                version=self._versions[package],
                compiler=compiler,
                operating_system=operating_system,
                platform="linux",
                target=target,
                variants=_VARIANTS[package % len(_VARIANTS)],
                stacks=("root", stack),
                size=10_000 + int(self._draw.low() * 50_000_000),
                namespace="builtin",
                package_hash=self._recipes[package],
                dependencies=edges,
                patches=(),
            )
        self._specs[package][cell] = spec

    def _new_hash(self) -> str:
        number = int(self._draw.random() * (1 << 53)) << 106
        number |= int(self._draw.random() * (1 << 53)) << 53
        number |= int(self._draw.random() * (1 << 53))
        return b32encode(number.to_bytes(20, "big")).decode().lower()

    def _new_version(self, version: str | None) -> str:
        if version is None:
            return f"{1 + int(self._draw.low() * 12)}.{int(self._draw.random() * 20)}.0"
        major, minor, patch = map(int, version.split("."))
        if self._draw.random() < 0.6:
            return f"{major}.{minor}.{patch + 1}"
        return f"{major}.{minor + 1}.0"

    # -- the current state

    def content(self) -> Content:
        """Return the current content; unchanged packages are the same objects as before."""
        for package in self._touched:
            self._contents[package] = PackageContent(self._present(package))
        self._touched.clear()
        return Content({_name(it): content for it, content in self._contents.items()})

    def _present(self, package: int) -> Iterator[Spec]:
        for cell, spec in self._specs[package].items():
            if _Place(package, cell) not in self._absent:
                yield spec

    def snapshot(self, tag: str = "develop") -> Snapshot:
        """Return the current state as a snapshot of a tag; states are one day apart."""
        taken_at = FIRST_DAY + timedelta(days=self._age)
        return Snapshot(tag=tag, content=self.content(), source=_SOURCE, taken_at=taken_at)


def _name(package: int) -> str:
    return f"package-{package:04}"


def _dependencies(num_packages: int, draw: Draw) -> list[list[int]]:
    """Return the dependencies of each package, which have lower numbers."""
    below: list[list[int]] = []
    start = 0
    for share in _LAYERS:
        end = min(num_packages, start + max(1, round(num_packages * share)))
        lower = range(start)
        for _ in range(start, end):
            number = 1 + int(draw.random() * 5)
            below.append(sorted({draw.pick(lower) for _ in range(number)}) if start else [])
        start = end
    return below


def _reverse(below: list[list[int]]) -> list[list[int]]:
    """Return each package with its direct and indirect dependents, lowest numbers first."""
    over: list[set[int]] = [{package} for package in range(len(below))]
    for package in reversed(range(len(below))):
        for lower in below[package]:
            over[lower] |= over[package]
    return [sorted(packages) for packages in over]
