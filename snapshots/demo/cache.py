"""The demo's build cache and its weekly changes to packages, stacks and compilers.

Only recipes, versions, stacks and compilers are edited here. The changes of specs follow from
these: an upgrade changes the hashes of all direct and transitive dependents.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import count, islice

from snapshots.contents import Content
from snapshots.demo.draws import Draw
from snapshots.demo.machines import MACHINES, Compilers
from snapshots.demo.packages import DemoPackage, Recipe, make_recipe, package_names

_MAX_VERSIONS = 3
_NEW_ONE_IN = 40
_LOST_ONE_IN = 12
_OUTAGE_EVERY = 7
_MAX_AFFECTED = 0.25
_WIDEST = 5

_CLOSED_AT_FIRST = ("gpu-tests", "tutorial")
_CLOSABLE = [stack for machine in MACHINES for stack in machine.stacks[1:]]
"""The stacks that can close: every machine keeps its first stack."""


class DemoCache:
    """The state of the cache at one time; every hash covers the label."""

    def __init__(self, draw: Draw, label: str) -> None:
        self._draw = draw
        self._label = label
        self._names = package_names()
        self._closed = list(_CLOSED_AT_FIRST)
        self._compilers = Compilers(label)
        self._packages: dict[str, DemoPackage] = {}
        """By name; each depends only on earlier ones, so there are no cycles."""
        self._first_size = 0
        self._lost: dict[str, DemoPackage] = {}
        """The packages that are missing for a week."""

    def weeks(self, packages: int, specs: int) -> Iterator[Content]:
        """Yield the contents of the cache week by week, without end.

        The first one has exactly these numbers of packages and specs, the others about as many or
        more.
        """
        self._fill(packages, specs)
        self._first_size = packages
        for number in count(1):
            for package in self._packages.values():
                package.concretize(self._packages, self._compilers, self._closed)
            contents = {name: package.content for name, package in self._packages.items()}
            specs_now = (spec for content in contents.values() for spec in content.specs)
            edges = {edge.hash for spec in specs_now for edge in spec.dependencies or ()}
            yield Content(contents, self._compilers.among(edges))
            self._evolve(number)

    def _fill(self, packages: int, specs: int) -> None:
        """Create the first revision; a few packages have far more specs than the others."""
        recipes: list[Recipe] = []
        for name in islice(self._names, packages):
            recipes.append(make_recipe(self._draw, name, [recipe.name for recipe in recipes]))
        weights = [
            int(1000 * len(recipe.usual_configurations) / (0.2 + self._draw.random()))
            for recipe in recipes
        ]
        total = sum(weights)
        quotas = [1 + (specs - packages) * weight // total for weight in weights]
        for index in range(specs - sum(quotas)):
            quotas[index] += 1
        for recipe, quota in zip(recipes, quotas, strict=True):
            self._add(recipe, quota)

    def _evolve(self, number: int) -> None:
        """Advance to the revision with this number, counted from 0."""
        self._packages |= self._lost
        affected = self._specs_affected()
        editable = {
            name: affected[name]
            for name, package in self._packages.items()
            if not self._drop_extra_versions(package)
        }
        if number % 3:
            self._edit_common_dependency(editable)
        else:
            self._upgrade_a_compiler()
        self._edit_near_leaves(editable)
        self._add_and_remove(editable, is_outage=number % _OUTAGE_EVERY == 4)
        if number % 2:
            self._closed.pop(0)
        else:
            open_stacks = [stack for stack in _CLOSABLE if stack not in self._closed]
            self._closed.append(self._draw.pick(open_stacks))

    def _add(self, recipe: Recipe, quota: int) -> None:
        depth = min(quota, 1 + int(_MAX_VERSIONS * self._draw.low()))
        self._packages[recipe.name] = DemoPackage(
            recipe=recipe, label=self._label, quota=quota, depth=depth, newest=recipe.start
        )

    def _upgrade_a_compiler(self) -> None:
        """Upgrade one of the compilers that build the fewest specs."""
        specs = (spec for package in self._packages.values() for spec in package.content.specs)
        used = Counter(spec.compiler for spec in specs if spec.compiler is not None)
        ranked = sorted(used, key=lambda compiler: (used[compiler], compiler))
        if ranked:
            self._compilers.upgrade(self._draw.pick(ranked[:3]))

    def _edit_common_dependency(self, editable: dict[str, int]) -> None:
        """Edit one of the packages with the most dependents, and remove it from ``editable``.

        ``editable`` has the number of specs that change with each package that may be edited.
        """
        most = _MAX_AFFECTED * self._num_specs
        ranked = sorted(editable, key=editable.__getitem__)
        widest = [name for name in ranked if editable[name] <= most][-_WIDEST:] or ranked[:1]
        if widest:
            name = self._draw.pick(widest)
            edit = self._draw.pick((DemoPackage.upgrade, DemoPackage.change_recipe))
            edit(self._packages[name])
            del editable[name]

    def _edit_near_leaves(self, editable: dict[str, int]) -> None:
        """Edit packages with few dependents."""
        packages, most = self._steady_size, _MAX_AFFECTED * self._num_specs / 3
        for edit, one_in in _EDITS:
            for _ in range(1 + packages // one_in):
                fitting = [name for name in editable if editable[name] <= most]
                if drawn := self._draw.some(fitting, 2):
                    name = min(drawn, key=editable.__getitem__)
                    edit(self._packages[name])
                    most -= editable.pop(name)

    def _add_and_remove(self, editable: dict[str, int], *, is_outage: bool) -> None:
        """Replace some packages without dependents, drop more in an outage, and add new ones."""
        number = self._steady_size
        replaced, lost = 1 + number // 200, is_outage * number // _LOST_ONE_IN
        leaves = [name for name in editable if editable[name] == self._packages[name].num_specs]
        drawn = self._draw.some(leaves, replaced + lost)
        quotas = [self._packages.pop(name).quota for name in drawn[:replaced]]
        self._lost = {name: self._packages.pop(name) for name in drawn[replaced:]}
        present = list(self._packages.values())
        quotas += [self._draw.pick(present).quota for _ in range(number // _NEW_ONE_IN)]
        for quota in quotas:
            self._add(make_recipe(self._draw, next(self._names), list(self._packages)), quota)

    @property
    def _steady_size(self) -> int:
        """The number of packages to which the number of changes is proportional.

        After some months, it is that of the first revision, so that long histories grow linearly.
        """
        number = len(self._packages)
        return number if 4 * number <= 5 * self._first_size else self._first_size

    @property
    def _num_specs(self) -> int:
        return sum(package.num_specs for package in self._packages.values())

    def _drop_extra_versions(self, package: DemoPackage) -> bool:
        """Occasionally drop the versions that upgrades left; return whether it did."""
        drops = package.extra > 0 and self._draw.random() < 0.7
        package.extra *= not drops
        return drops

    def _specs_affected(self) -> dict[str, int]:
        """Return, for each package, the number of its specs and of its dependents' specs."""
        affected = {name: {name} for name in self._packages}
        for name in reversed(self._packages):
            for dependency in self._packages[name].recipe.dependencies:
                if dependency in affected:
                    affected[dependency] |= affected[name]
        return {
            name: sum(self._packages[other].num_specs for other in others)
            for name, others in affected.items()
        }


_EDITS = (
    (DemoPackage.withdraw, 300),
    (DemoPackage.drop_a_machine, 200),
    (DemoPackage.upgrade, 60),
    (DemoPackage.add_version, 60),
    (DemoPackage.change_recipe, 60),
)
"""Each edit, with the number of packages per occurrence."""
