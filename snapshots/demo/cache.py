"""The demo's build cache as it changes: what befalls packages and stacks in a week."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from snapshots.contents import Content, PackageContent
from snapshots.demo.builder import Builder
from snapshots.demo.draws import Draw
from snapshots.demo.names import package_names
from snapshots.demo.recipes import Recipe, make_recipe
from snapshots.models import Spec
from snapshots.spack.names import ROOT_STACK

_MOST_VERSIONS = 3


@dataclass(slots=True)
class DemoPackage:
    """A package as it stands in the cache.

    ``rungs`` are the places of its versions on the recipe's ladder, oldest first, ``newest`` is
    the highest rung there ever was, and ``quota`` the usual number of its specs.
    """

    recipe: Recipe
    quota: int
    rungs: list[int]
    newest: int
    content: PackageContent

    @property
    def specs(self) -> Sequence[Spec]:
        """The specs that the cache has of it."""
        return self.content.specs

    def become(self, specs: Sequence[Spec]) -> None:
        """Take over the specs; content that stays the same is kept with all it has computed."""
        same = len(specs) == len(self.specs)
        if not same or any(new is not old for new, old in zip(specs, self.specs, strict=True)):
            self.content = PackageContent(specs)

    def of_rung(self, rung: int) -> list[Spec]:
        """Return the specs of the version on that rung."""
        version = self.recipe.version(rung)
        return [spec for spec in self.specs if spec.version == version]


class DemoCache:
    """The cache at one moment; the label goes into every hash."""

    def __init__(self, draw: Draw, label: str) -> None:
        self._draw = draw
        self._builder = Builder(draw, label)
        self._names = package_names()
        self._packages: list[DemoPackage] = []

    def content(self) -> Content:
        """Return what the cache holds now."""
        return Content({package.recipe.name: package.content for package in self._packages})

    def fill(self, packages: int, specs: int) -> None:
        """Make the first revision; a few packages have far more specs than the others."""
        weights = [int(1000 / (0.01 + self._draw.random())) for _ in range(packages)]
        total, spare = sum(weights), specs - packages
        quotas = [1 + spare * weight // total for weight in weights]
        for index in range(specs - sum(quotas)):
            quotas[index] += 1
        for quota in quotas:
            self._add(quota)

    def evolve(self, number: int) -> None:
        """Go on to the revision of that number, counted from 0."""
        if number % 3 == 1:
            self._open_stack()
        elif number % 3 == 2:
            self._close_stack()
        fates = self._fates()
        before, self._packages = self._packages, []
        self._builder.withdraw_offers()
        freed = []
        for package in before:
            fate = fates.get(package.recipe.name, _settle)
            package.become(fate(self._builder, package))
            if package.specs:
                self._keep(package)
            else:
                freed.append(package.quota)
        for quota in freed:
            self._add(quota)

    def _add(self, quota: int) -> None:
        recipe = make_recipe(self._draw, next(self._names))
        newest = recipe.first_rung
        depth = min(quota, 1 + int(_MOST_VERSIONS * self._draw.low()))
        rungs = list(range(newest - depth + 1, newest + 1))
        versions = [recipe.version(rung) for rung in reversed(rungs)]
        specs = []
        for index in range(quota):
            on_branch = recipe.branch if index % 8 == 7 else None
            specs.append(self._builder.build(recipe, on_branch or versions[index % depth]))
        self._keep(DemoPackage(recipe, quota, rungs, newest, PackageContent(specs)))

    def _keep(self, package: DemoPackage) -> None:
        # Only earlier packages are ever on offer: that keeps dependencies free of cycles.
        self._packages.append(package)
        self._builder.offer(package.recipe.name, package.specs)

    def _open_stack(self) -> None:
        stack = self._builder.open_stack()

        def join(spec: Spec) -> Spec:
            if not self._builder.may_join(spec, stack) or self._draw.random() > 0.3:
                return spec
            return replace(spec, stacks=tuple(sorted([*spec.stacks, stack])))

        self._restack(join)

    def _close_stack(self) -> None:
        stack = self._builder.close_stack()

        def leave(spec: Spec) -> Spec:
            if stack not in spec.stacks:
                return spec
            left = tuple(other for other in spec.stacks if other != stack)
            if left == (ROOT_STACK,):
                return self._builder.move(spec)
            return replace(spec, stacks=left)

        self._restack(leave)

    def _restack(self, change: Callable[[Spec], Spec]) -> None:
        for package in self._packages:
            package.become([change(spec) for spec in package.specs])

    def _fates(self) -> dict[str, "Fate"]:
        number = len(self._packages)
        kinds = [fate for fate, one_in in _FATES for _ in range(1 + number // one_in)]
        chosen = self._draw.some(self._packages, len(kinds))
        return {package.recipe.name: fate for package, fate in zip(chosen, kinds, strict=False)}


Fate = Callable[[Builder, DemoPackage], Sequence[Spec]]
"""What befalls a package between two revisions: returns the specs that it has in the later one."""


def _settle(builder: Builder, package: DemoPackage) -> Sequence[Spec]:
    """Drop the oldest version some time after an upgrade; else leave all as it is."""
    overfull = len(package.rungs) > 1 and len(package.specs) > package.quota
    if overfull and builder.draw.random() < 0.7:
        return _without_oldest(package)
    return package.specs


def _upgrade(builder: Builder, package: DemoPackage) -> Sequence[Spec]:
    """Add a version, with as many specs as the package will lack once its oldest is dropped."""
    recipe, models = package.recipe, package.of_rung(package.rungs[-1])
    specs = package.specs
    if len(package.rungs) == _MOST_VERSIONS:
        specs = _without_oldest(package)
    staying = len(specs) - len(package.of_rung(package.rungs[0]))
    package.newest += 1
    package.rungs.append(package.newest)
    version = recipe.version(package.newest)
    number = max(1, package.quota - staying)
    added = (builder.rebuild(models[i % len(models)], recipe, version) for i in range(number))
    return [*specs, *added]


def _without_oldest(package: DemoPackage) -> list[Spec]:
    dropped = package.recipe.version(package.rungs.pop(0))
    return [spec for spec in package.specs if spec.version != dropped]


def _withdraw(builder: Builder, package: DemoPackage) -> Sequence[Spec]:
    """Take the newest version back; where it is the only one, build the one before it instead."""
    recipe, gone = package.recipe, package.rungs.pop()
    withdrawn = recipe.version(gone)
    staying = [spec for spec in package.specs if spec.version != withdrawn]
    if package.rungs:
        return staying
    package.rungs.append(max(gone - 1, 0))
    version = recipe.version(package.rungs[0])
    again = (spec for spec in package.specs if spec.version == withdrawn)
    return [*staying, *(builder.rebuild(spec, recipe, version) for spec in again)]


def _rebuild(builder: Builder, package: DemoPackage) -> Sequence[Spec]:
    return [builder.rebuild(spec, package.recipe, spec.version) for spec in package.specs]


def _touch(builder: Builder, package: DemoPackage) -> Sequence[Spec]:
    """Rebuild some of the specs."""
    return [
        builder.rebuild(spec, package.recipe, spec.version)
        if builder.draw.random() < 0.25
        else spec
        for spec in package.specs
    ]


def _move(builder: Builder, package: DemoPackage) -> Sequence[Spec]:
    """Move some of the specs to other stacks."""
    return [builder.move(spec) if builder.draw.random() < 0.3 else spec for spec in package.specs]


def _remove(_builder: Builder, _package: DemoPackage) -> Sequence[Spec]:
    return []


_FATES: tuple[tuple[Fate, int], ...] = (
    (_upgrade, 25),
    (_touch, 8),
    (_rebuild, 50),
    (_move, 25),
    (_withdraw, 250),
    (_remove, 200),
)
"""Each fate, and of how many packages it befalls one; where packages are few, the first ones."""
