"""A build cache that lives: from one state to the next some of its specs come, go or are rebuilt.

The packages stand in layers, each over some of those below. A cell is a stack on an architecture;
it has a part of the packages, and with a package all that it stands over. To edit a package
rebuilds all that stands over it, cell by cell, so that edges name hashes that are there. Beside
that specs are left out now and then and return, and so do packages and whole stacks, for longer.
The same seed makes the same states, byte by byte.
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
_STACK_GOES = _STACK_ONCE_IN = 40
_PACKAGE_ONCE_IN = 8
_SOURCE = Source(
    kind="demo", location="tests/benchmarks/churn.py", importer="benchmarks", synthetic=True
)


class _Cell(NamedTuple):
    stack: str
    target: str
    operating_system: str
    compiler: str


class _Place(NamedTuple):
    """Where a spec stands: the package and the cell, by number."""

    package: int
    cell: int


class LivingCache:
    """The cache in its first state; ``live`` takes it to the next one.

    About ``specs`` specs stand in it at all times, and ``churn`` is the share of them that each
    state has another hash for.
    """

    def __init__(self, specs: int, *, churn: float = 0.05, seed: int = 1) -> None:
        self._draw = Draw(seed)
        self._churn = churn
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
        self._left_out: set[_Place] = set()
        self._stacks_gone: dict[str, int] = {}
        self._packages_gone: dict[int, int] = {}
        self._touched = set(range(num_packages))
        self._contents: dict[int, PackageContent] = {}

    # -- living

    def live(self) -> None:
        """Take the cache to its next state."""
        self._age += 1
        self._return_and_leave_out()
        self._let_stacks_come_and_go()
        self._let_packages_come_and_go()
        budget = int(self._total * self._churn)
        while budget > 0:
            budget -= self._edit(self._draw.pick(range(len(self._below))), budget)

    def _return_and_leave_out(self) -> None:
        back = {place for place in sorted(self._left_out) if self._draw.random() < 0.5}
        self._left_out -= back
        out: set[_Place] = set()
        while len(out) < self._total * _LEFT_OUT:
            package = self._draw.pick(range(len(self._below)))
            out.update(_Place(package, cell) for cell in [*self._specs[package]][:2])
        self._left_out |= out
        self._touched.update(place.package for place in back | out)

    def _let_stacks_come_and_go(self) -> None:
        for stack in [it for it, until in self._stacks_gone.items() if until <= self._age]:
            del self._stacks_gone[stack]
            self._touch_stack(stack)
        if self._draw.random() * _STACK_ONCE_IN < 1:
            stack = self._draw.pick(sorted({it.stack for it in self._cells}))
            self._stacks_gone[stack] = self._age + int(self._draw.random() * _STACK_GOES) + 1
            self._touch_stack(stack)

    def _touch_stack(self, stack: str) -> None:
        cells = {number for number, it in enumerate(self._cells) if it.stack == stack}
        self._touched.update(
            package for package, specs in enumerate(self._specs) if not cells.isdisjoint(specs)
        )

    def _let_packages_come_and_go(self) -> None:
        for package in [it for it, until in self._packages_gone.items() if until <= self._age]:
            del self._packages_gone[package]
            self._touched.add(package)
        package = self._draw.pick(range(len(self._below)))
        if self._draw.random() * _PACKAGE_ONCE_IN < 1 and len(self._over[package]) == 1:
            self._packages_gone[package] = self._age + int(self._draw.random() * 200) + 1
            self._touched.add(package)

    def _edit(self, package: int, most: int) -> int:
        """Edit a package, if that rebuilds no more than so many specs; return how many it did.

        Half of the edits are a new version; of those half reach some cells alone, where from then
        on two versions stand side by side. What too much stands over is edited in one cell.
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
            return 1  # so that it ends where nothing fits
        self._recipes[package] = self._new_hash() * 2
        for place in places:
            self._build(place, anew=place.package == package)
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
                wanted = self._closed(self._draw.some(tops, int(len(tops) * _TOPS_OF_A_CELL) or 1))
                for package in sorted(wanted)[: specs - total]:
                    self._build(_Place(package, cell), anew=True)
                    total += 1
            stack += 1

    def _closed(self, packages: list[int]) -> set[int]:
        found: set[int] = set()
        while packages:
            package = packages.pop()
            if package not in found:
                found.add(package)
                packages += self._below[package]
        return found

    def _build(self, place: _Place, *, anew: bool) -> None:
        """Build a spec over what stands below it now: a new hash; ``anew`` by the newest recipe."""
        package, cell = place
        edges = tuple(
            Dependency(_name(it), self._specs[it][cell].hash, ("build", "link"))
            for it in self._below[package]
        )
        known = self._specs[package].get(cell)
        if known is not None and not anew:
            spec = replace(known, hash=self._new_hash(), dependencies=edges)
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

    # -- its states

    def content(self) -> Content:
        """Return what the cache holds now; packages that nothing touched are the same objects."""
        for package in self._touched:
            self._contents[package] = PackageContent(self._standing(package))
        self._touched.clear()
        return Content({_name(it): content for it, content in self._contents.items()})

    def _standing(self, package: int) -> Iterator[Spec]:
        if package in self._packages_gone:
            return
        for cell, spec in self._specs[package].items():
            is_gone = self._cells[cell].stack in self._stacks_gone
            if not is_gone and _Place(package, cell) not in self._left_out:
                yield spec

    def snapshot(self, tag: str = "develop") -> Snapshot:
        """Return what it holds now as a state of a tag; it lives one state a day."""
        taken_at = FIRST_DAY + timedelta(days=self._age)
        return Snapshot(tag=tag, content=self.content(), source=_SOURCE, taken_at=taken_at)


def _name(package: int) -> str:
    return f"package-{package:04}"


def _dependencies(num_packages: int, draw: Draw) -> list[list[int]]:
    """Return what each package stands over directly; lower numbers alone."""
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
    """Return all that stands over each package, near or far, itself first, what is lower first."""
    over: list[set[int]] = [{package} for package in range(len(below))]
    for package in reversed(range(len(below))):
        for lower in below[package]:
            over[lower] |= over[package]
    return [sorted(found) for found in over]
