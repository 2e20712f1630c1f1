"""Builds the demo's specs: hashes, dependencies, and the stacks that are open at the moment."""

from base64 import b32encode
from collections import defaultdict
from collections.abc import Iterable
from hashlib import sha1

from msgspec.structs import replace

from snapshots.demo.draws import Draw
from snapshots.demo.machines import MACHINES
from snapshots.demo.names import dependency_types, virtuals
from snapshots.demo.recipes import Recipe
from snapshots.models import Dependency, Spec
from snapshots.spack.names import ROOT_STACK

Place = tuple[str, str]
"""Operating system and target: what tells the machines apart."""

_MOST_STACKS = 4
_MOST_DEPENDENCIES = 4
_CLOSED_AT_FIRST = ("gpu-tests", "tutorial")
_PLACE_OF_STACK = {
    stack: (machine.operating_system, machine.target)
    for machine in MACHINES
    for stack in machine.stacks
}


class Builder:
    """Builds specs of one history; the label goes into every hash."""

    def __init__(self, draw: Draw, label: str) -> None:
        self.draw = draw
        self._label = label
        self._serial = 0
        self._closed = list(_CLOSED_AT_FIRST)
        self._open: defaultdict[Place, list[str]] = defaultdict(list)
        for stack, place in _PLACE_OF_STACK.items():
            if stack not in self._closed:
                self._open[place].append(stack)
        self._offers: defaultdict[Place, list[Dependency]] = defaultdict(list)

    def build(self, recipe: Recipe, version: str) -> Spec:
        """Build a spec of that version, all else drawn from the recipe."""
        machine = self.draw.pick(recipe.machines)
        draft = Spec(
            hash="",
            name=recipe.name,
            version=version,
            compiler=self.draw.pick(machine.compilers) if recipe.has_compiler else None,
            operating_system=machine.operating_system,
            platform=machine.platform,
            target=machine.target,
            variants=self.draw.pick(recipe.variants_on(machine)),
            stacks=self._some_stacks((machine.operating_system, machine.target)),
            namespace="builtin",
        )
        return self.rebuild(draft, recipe, version)

    def rebuild(self, spec: Spec, recipe: Recipe, version: str) -> Spec:
        """Build a spec anew at that version: with another hash, size and dependencies."""
        self._serial += 1
        digest = sha1(f"{self._label}: {self._serial}".encode(), usedforsecurity=False).digest()
        return replace(
            spec,
            hash=b32encode(digest).decode().lower(),
            version=version,
            size=int(recipe.size * (0.85 + 0.3 * self.draw.random())),
            dependencies=self._dependencies(_place(spec)),
        )

    def offer(self, name: str, specs: Iterable[Spec]) -> None:
        """Let the specs that are built from now on depend on these ones of that package."""
        types, provided = dependency_types(name), virtuals(name)
        for spec in specs:
            self._offers[_place(spec)].append(Dependency(name, spec.hash, types, provided))

    def withdraw_offers(self) -> None:
        """Begin a revision: there is nothing to depend on yet."""
        self._offers.clear()

    def move(self, spec: Spec) -> Spec:
        """Put a spec into stacks drawn anew."""
        return replace(spec, stacks=self._some_stacks(_place(spec)))

    def open_stack(self) -> str:
        """Open the stack that has been closed for longest, and return it."""
        stack = self._closed.pop(0)
        self._open[_PLACE_OF_STACK[stack]].append(stack)
        return stack

    def close_stack(self) -> str:
        """Close a stack and return it; every machine keeps at least one."""
        shared = [stacks for stacks in self._open.values() if len(stacks) > 1]
        stack = self.draw.pick([stack for stacks in shared for stack in stacks])
        self._open[_PLACE_OF_STACK[stack]].remove(stack)
        self._closed.append(stack)
        return stack

    def may_join(self, spec: Spec, stack: str) -> bool:
        """Tell whether the spec is one that the stack could have and there is room for it."""
        return _place(spec) == _PLACE_OF_STACK[stack] and len(spec.stacks) <= _MOST_STACKS

    def _some_stacks(self, place: Place) -> tuple[str, ...]:
        number = 1 + int(_MOST_STACKS * self.draw.low())
        return tuple(sorted([*self.draw.some(self._open[place], number), ROOT_STACK]))

    def _dependencies(self, place: Place) -> tuple[Dependency, ...]:
        offers = self._offers[place]
        if not offers:
            return ()
        # Most packages depend on the few that come first.
        number = 1 + int(_MOST_DEPENDENCIES * self.draw.random())
        picks = (offers[int(len(offers) * self.draw.low())] for _ in range(number))
        return tuple(sorted({pick.name: pick for pick in picks}.values()))


def _place(spec: Spec) -> Place:
    return spec.operating_system, spec.target
