"""A synthetic build cache: from one day to the next, some specs are added, removed or rebuilt.

A cell is a stack on an architecture. Editing a package rebuilds its dependents, cell by cell, so
that the hashes in edges exist. In addition, specs and entire stacks are removed for some time. The
states are always the same, byte by byte.
"""

from base64 import b32encode
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta

from snapshots.contents import Content, PackageContent, Snapshot
from snapshots.demo.draws import Draw
from snapshots.models import Dependency, Source, Spec

CHURN = 0.05
"""The share of specs that have another hash each day."""

_FIRST_DAY = datetime(2023, 1, 1, tzinfo=UTC)
_ARCHITECTURES = (
    ("x86_64_v3", "ubuntu22.04", "gcc@11.4.0"),
    ("x86_64_v4", "ubuntu24.04", "gcc@13.2.0"),
    ("neoverse_v1", "ubuntu24.04", "gcc@13.2.0"),
    ("zen4", "rhel8", "oneapi@2024.2.1"),
)
_VARIANTS = (
    ("+shared", "~mpi", "build_system=cmake", "build_type=Release", "~ipo", "+pic"),
    ("build_system=autotools", "+pic", "~debug", "+shared"),
    ("build_system=python_pip",),
)
_REMOVED, _DAYS_OF_A_SPEC = 0.002, 3
_STACK_ONCE_IN, _DAYS_OF_A_STACK = 40, 40
_SOURCE = Source(
    kind="demo", location="tests/benchmarks/churn.py", importer="benchmarks", synthetic=True
)

_Place = tuple[int, int]
"""The place of a spec: the numbers of its package and its cell."""


def living_cache(specs: int) -> Iterator[Snapshot]:
    """Yield the states of a cache of about ``specs`` specs as revisions of develop."""
    cache, moment = _Cache(specs), _FIRST_DAY
    while True:
        yield Snapshot(tag="develop", content=cache.content(), source=_SOURCE, taken_at=moment)
        moment += timedelta(days=1)
        cache.live()


class _Cache:
    """The cache in its current state; each cell has the packages below some number."""

    def __init__(self, specs: int) -> None:
        self._draw = draw = Draw(1)
        self._age, self._total = 0, 0
        numbers = range(max(20, specs // 50))
        self._below = [
            sorted({draw.pick(range(number // 2)) for _ in range(1 + number % 5)})
            if number > 1
            else []
            for number in numbers
        ]
        self._over = [{number} for number in numbers]
        for number in reversed(numbers):
            for lower in self._below[number]:
                self._over[lower] |= self._over[number]
        self._edits = [0 for _ in numbers]
        self._specs: list[dict[int, Spec]] = [{} for _ in numbers]
        self._absent: dict[_Place, int] = {}
        """The removed specs, with the number of the day on which they return."""
        self._contents: dict[int, PackageContent] = {}
        self._touched = {*numbers}
        cell = 0
        while self._total < specs:
            num_packages = len(numbers) // 2 + int(draw.random() * len(numbers) / 2)
            for number in numbers[: min(num_packages, specs - self._total)]:
                self._build((number, cell))
                self._total += 1
            cell += 1
        self._num_cells = cell

    def live(self) -> None:
        """Advance to the next day."""
        self._age += 1
        back = [place for place, until in self._absent.items() if until <= self._age]
        for place in back:
            del self._absent[place]
        self._touched |= {package for package, _ in back}
        draw, packages = self._draw, range(len(self._below))
        for _ in range(int(self._total * _REMOVED)):
            package = draw.pick(packages)
            if cells := [*self._specs[package]]:
                self._remove([(package, draw.pick(cells))], _DAYS_OF_A_SPEC)
        if draw.random() * _STACK_ONCE_IN < 1:
            stack = int(draw.random() * self._num_cells) // len(_ARCHITECTURES)
            places = ((package, cell) for package in packages for cell in self._specs[package])
            of_stack = (it for it in places if it[1] // len(_ARCHITECTURES) == stack)
            self._remove(of_stack, _DAYS_OF_A_STACK)
        budget = int(self._total * CHURN)
        while budget > 0:
            budget -= self._edit(draw.pick(packages), budget)

    def _remove(self, places: Iterable[_Place], most_days: int) -> None:
        until = self._age + 1 + int(self._draw.random() * most_days)
        for place in places:
            self._absent[place] = max(until, self._absent.get(place, 0))
            self._touched.add(place[0])

    def _edit(self, package: int, most: int) -> int:
        """Edit a package if that rebuilds up to ``most`` specs; return the number of rebuilt specs.

        Half of the edits, and all of packages with many dependents, are in one cell only, so that
        the package has several versions.
        """
        over, cells = sorted(self._over[package]), sorted(self._specs[package])
        places = [(it, cell) for it in over for cell in cells if cell in self._specs[it]]
        if cells and (len(places) > most or self._draw.random() < 0.5):
            chosen = self._draw.pick(cells)
            places = [place for place in places if place[1] == chosen]
        if len(places) > most and len(over) > 1:
            return 1  # so that the loop ends if no package fits
        self._edits[package] += 1
        for place in places:
            self._build(place)
        self._touched.update(over)
        return max(1, len(places))

    def _build(self, place: _Place) -> None:
        """Build a spec with its current dependencies, by the current recipe."""
        package, cell = place
        edits = self._edits[package]
        target, operating_system, compiler = _ARCHITECTURES[cell % len(_ARCHITECTURES)]
        self._specs[package][cell] = Spec(
            hash=self._new_hash(),
            name=_name(package),
            version=f"{1 + package % 12}.{edits // 4}.{edits // 2 % 2}",
            compiler=compiler,
            operating_system=operating_system,
            platform="linux",
            target=target,
            variants=_VARIANTS[package % len(_VARIANTS)],
            stacks=("root", f"stack-{cell // len(_ARCHITECTURES)}"),
            size=10_000 + int(self._draw.low() * 50_000_000),
            namespace="builtin",
            package_hash=b32encode(f"{package:08}{edits:012}".encode()).decode().lower() * 2,
            dependencies=tuple(
                Dependency(_name(it), self._specs[it][cell].hash, ("build", "link"))
                for it in self._below[package]
            ),
            patches=(),
        )

    def _new_hash(self) -> str:
        number = 0
        for _ in range(3):
            number = (number << 53) | int(self._draw.random() * (1 << 53))
        return b32encode(number.to_bytes(20, "big")).decode().lower()

    def content(self) -> Content:
        """Return the current content; unchanged packages are the same objects as before."""
        for package in self._touched:
            self._contents[package] = PackageContent(
                spec
                for cell, spec in self._specs[package].items()
                if (package, cell) not in self._absent
            )
        self._touched.clear()
        return Content({_name(it): content for it, content in self._contents.items()})


def _name(package: int) -> str:
    return f"package-{package:04}"
