"""The demo's build cache as it changes: what happens to packages and stacks in a week.

Only recipes, versions and stacks are edited here. Which specs change follows from that: one upgrade
changes the hashes of all that depends on it, near or far.
"""

from snapshots.contents import Content
from snapshots.demo.draws import Draw
from snapshots.demo.machines import STACKS
from snapshots.demo.names import package_names
from snapshots.demo.packages import Package
from snapshots.demo.recipes import Recipe, make_recipe

_MOST_VERSIONS = 3
_FIRST_RUNG = 6
_MOST_AFFECTED = 0.25
_CLOSED_AT_FIRST = ("gpu-tests", "tutorial")


class DemoCache:
    """The cache at one moment; the label goes into every hash."""

    def __init__(self, draw: Draw, label: str) -> None:
        self._draw = draw
        self._label = label
        self._names = package_names()
        self._closed = list(_CLOSED_AT_FIRST)
        self._packages: dict[str, Package] = {}
        """By name; each depends on earlier ones only, so there are no cycles."""

    def content(self) -> Content:
        """Return what the cache holds now."""
        return Content({name: package.content for name, package in self._packages.items()})

    def fill(self, packages: int, specs: int) -> None:
        """Make the first revision; a few packages have far more specs than the others."""
        recipes: dict[str, Recipe] = {}
        for _ in range(packages):
            name = next(self._names)
            recipes[name] = make_recipe(self._draw, name, list(recipes))
        weights = [
            int(1000 * len(recipe.usual_configurations) / (0.2 + self._draw.random()))
            for recipe in recipes.values()
        ]
        total = sum(weights)
        quotas = [1 + (specs - packages) * weight // total for weight in weights]
        for index in range(specs - sum(quotas)):
            quotas[index] += 1
        for recipe, quota in zip(recipes.values(), quotas, strict=True):
            self._add(recipe, quota)
        self._concretize(set(recipes))

    def evolve(self, number: int) -> None:
        """Go on to the revision of that number, counted from 0."""
        edited = self._edit()
        if number % 3:
            self._open_stack() if number % 3 == 1 else self._close_stack()
            edited |= self._packages.keys()
        self._concretize(edited)

    def _add(self, recipe: Recipe, quota: int) -> None:
        depth = min(quota, 1 + int(_MOST_VERSIONS * self._draw.low()))
        newest = _FIRST_RUNG + recipe.base % 7
        self._packages[recipe.name] = Package(
            recipe=recipe,
            label=self._label,
            quota=quota,
            depth=depth,
            oldest=newest - depth + 1,
            newest=newest,
        )

    def _concretize(self, edited: set[str]) -> None:
        """Make the specs of the edited packages anew, and of those that depend on changed ones."""
        changed = edited - self._packages.keys()
        for name, package in self._packages.items():
            is_affected = name in edited or not changed.isdisjoint(package.recipe.dependencies)
            if is_affected and package.concretize(self._packages, self._closed):
                changed.add(name)

    def _open_stack(self) -> None:
        self._closed.pop(0)

    def _close_stack(self) -> None:
        """Close a stack; every machine keeps at least one."""
        shared = []
        for stack, machine in STACKS.items():
            others = set(machine.stacks).difference(self._closed, [stack])
            if others and stack not in self._closed:
                shared.append(stack)
        self._closed.append(self._draw.pick(shared))

    def _edit(self) -> set[str]:
        """Edit some packages and return their names, added and removed ones included.

        In the real cache most changes are near the leaves, and some far below: of two packages it
        edits the one that fewer specs depend on, but the first time the other one.
        """
        before = set(self._packages)
        edited = {name for name, package in self._packages.items() if self._settles(package)}
        affected = self._specs_affected()
        left = int(_MOST_AFFECTED * sum(it.num_specs for it in self._packages.values()))
        edits = [edit for edit, one_in in _EDITS for _ in range(1 + len(before) // one_in)]
        for place, edit in enumerate(edits):
            names = [it for it in affected if it not in edited and affected[it] <= left]
            if not names and not place:
                names = [min(affected, key=affected.__getitem__)]
            if drawn := self._draw.some(names, 2):
                name = (min if place else max)(drawn, key=affected.__getitem__)
                edit(self._packages[name])
                edited.add(name)
                left -= affected[name]
        rest = [name for name in affected if name not in edited]
        for name in self._draw.some(rest, 1 + len(before) // 25):
            self._packages[name].moves += 1
            edited.add(name)
        leaves = [it for it in rest if affected[it] == self._packages[it].num_specs]
        for name in self._draw.some(leaves, 1 + len(before) // 200):
            quota = self._packages.pop(name).quota
            self._add(make_recipe(self._draw, next(self._names), list(self._packages)), quota)
        return edited | (before ^ self._packages.keys())

    def _settles(self, package: Package) -> bool:
        """Drop the oldest version some time after an upgrade, and tell whether that is now."""
        overfull = package.newest - package.oldest >= package.depth
        settles = overfull and self._draw.random() < 0.7
        package.oldest += settles
        return settles

    def _specs_affected(self) -> dict[str, int]:
        """Return for each package how many specs depend on it, near or far, and its own."""
        affected = {name: {name} for name in self._packages}
        for name in reversed(self._packages):
            for dependency in self._packages[name].recipe.dependencies:
                if dependency in affected:
                    affected[dependency] |= affected[name]
        return {
            name: sum(self._packages[other].num_specs for other in others)
            for name, others in affected.items()
        }


def _upgrade(package: Package) -> None:
    package.newest += 1
    package.oldest = max(package.oldest, package.newest - package.depth)


def _withdraw(package: Package) -> None:
    """Take the newest version back; where it is the only one, build the one before it."""
    package.newest = max(0, package.newest - 1)
    package.oldest = min(package.oldest, package.newest)


def _change_recipe(package: Package) -> None:
    package.edition += 1


_EDITS = ((_upgrade, 300), (_withdraw, 250), (_change_recipe, 50), (_upgrade, 25))
"""Each edit, and of how many packages it happens to one."""
