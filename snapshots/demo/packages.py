"""A package of the demo as it stands in the cache, and the specs that follow from that."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha1, sha256

import orjson

from snapshots.contents import PackageContent
from snapshots.demo.compilers import Compilers
from snapshots.demo.machines import Machine
from snapshots.demo.names import VIRTUALS, base32, dependency_types
from snapshots.demo.recipes import Configuration, Recipe
from snapshots.models import Dependency, Spec
from snapshots.spack.names import ROOT_STACK

_EMPTY = PackageContent(())


@dataclass(slots=True, kw_only=True)
class Package:
    """A package in the cache: versions up to the rung ``newest`` of its recipe.

    Any ``depth`` versions that follow one another, and the branch, have ``quota`` specs together;
    ``extra`` older ones are left over from upgrades. ``edition`` counts the changes of the recipe;
    nothing is built for the machines of ``without``. ``content`` and ``edges``, what specs on each
    machine get by depending on this package, follow from all that.
    """

    recipe: Recipe
    label: str
    quota: int
    depth: int
    newest: int
    extra: int = 0
    edition: int = 0
    without: set[Machine] = field(default_factory=set)
    content: PackageContent = _EMPTY
    edges: dict[Machine, Dependency] = field(default_factory=dict)

    @property
    def num_specs(self) -> int:
        """The number of specs as of the last ``concretize``."""
        return len(self.content.specs)

    def upgrade(self) -> None:
        """Build a newer version, and the oldest no more."""
        self.newest += 1

    def add_version(self) -> None:
        """Build a newer version, and keep the oldest for some time."""
        self.newest += 1
        self.extra += 1

    def withdraw(self) -> None:
        """Take the newest version back, and build the one before the oldest again."""
        self.newest = max(self.depth + self.extra, self.newest - 1)

    def change_recipe(self) -> None:
        """Change how all versions are built."""
        self.edition += 1

    def drop_a_machine(self) -> None:
        """Build for one kind of machine no more; for that of the first configuration always."""
        first = self.recipe.usual_configurations[0][0]
        self.without.update([machine for machine in self.edges if machine is not first][-1:])

    def concretize(
        self, cache: Mapping[str, "Package"], compilers: Compilers, closed: Collection[str]
    ) -> None:
        """Make the specs anew.

        ``cache`` has the packages that this one can depend on, ``closed`` the stacks that nothing
        is built for. Content that stays the same is kept, with all that it has computed.
        """
        below = [cache[name].edges for name in self.recipe.dependencies if name in cache]
        source = f"{self.label} {self.recipe.name} {self.edition}"
        package_hash = base32(sha256(source.encode()).digest())
        types, provided = dependency_types(self.recipe.name), VIRTUALS.get(self.recipe.name, ())
        self.edges = {}
        specs = []
        for version, (machine, asked, variants) in self._builds():
            dependencies = [found[machine] for found in below if machine in found]
            compiler = None
            if asked is not None:
                compiler, edge = compilers.on(machine, asked)
                dependencies.append(edge)
            # As Spack has it, the hash covers the spec's own facts and the hashes below it.
            facts = [self.recipe.name, version, machine[:3], variants, package_hash]
            edges = [(edge.hash, edge.types) for edge in dependencies]
            digest = sha1(orjson.dumps([*facts, edges]), usedforsecurity=False).digest()
            spec = Spec(
                hash=base32(digest),
                name=self.recipe.name,
                version=version,
                compiler=compiler,
                operating_system=machine.operating_system,
                platform=machine.platform,
                target=machine.target,
                variants=variants,
                stacks=self._stacks(f"{version} {asked} {variants}", machine, closed),
                size=int(self.recipe.size * (0.85 + 0.3 * digest[0] / 256)),
                namespace="builtin",
                package_hash=package_hash,
                dependencies=tuple(sorted(dependencies)),
            )
            specs.append(spec)
            self.edges.setdefault(machine, Dependency(spec.name, spec.hash, types, provided))
        content = PackageContent(specs)
        if content.specs != self.content.specs:
            self.content = content

    def _builds(self) -> Iterator[tuple[str, Configuration]]:
        """Yield what is built, the newest version first and the branch last."""
        on_branch = self.quota // 8 if self.recipe.branch else 0
        share, rest = divmod(self.quota - on_branch, self.depth)
        counts = {
            self.recipe.version(rung): share + (rung % self.depth < rest)
            for rung in range(self.newest, self.newest - self.depth - self.extra, -1)
        }
        if self.recipe.branch:
            counts[self.recipe.branch] = on_branch
        for version, count in counts.items():
            for configuration in self.recipe.configurations(count):
                if configuration[0] not in self.without:
                    yield version, configuration

    def _stacks(self, build: str, machine: Machine, closed: Collection[str]) -> tuple[str, ...]:
        """Return the stacks that have a build: the open ones among those drawn for it."""
        draws = sha256(f"{self.label} {self.recipe.name} {build}".encode()).digest()
        ranked = [stack for _, stack in sorted(zip(draws, machine.stacks, strict=False))]
        drawn = ranked[: 1 + draws[-1] ** 2 * 4 // (1 << 16)]
        open_ones = [stack for stack in drawn if stack not in closed]
        fallback = next(stack for stack in ranked if stack not in closed)
        return tuple(sorted({*(open_ones or [fallback]), ROOT_STACK}))
