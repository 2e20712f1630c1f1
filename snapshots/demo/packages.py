"""The demo's packages: their names, recipes, and the specs that follow from these."""

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from hashlib import sha1, sha256
from itertools import count, product

import msgspec
import orjson
from msgspec.structs import replace

from snapshots.contents import PackageContent
from snapshots.demo.draws import Draw, data_of
from snapshots.demo.machines import MACHINES, Compilers, Machine, base32
from snapshots.models import Dependency, Spec
from snapshots.spack.names import ROOT_STACK
from snapshots.spack.notation import canonical_variants


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


# Real packages with their first versions here, sorted so that dependencies precede dependents.
_REAL = dict(word.split("@") for word in data_of("packages.txt").split())
_NAME_FORMS = _words("""
py-{} r-{} perl-{} lib{} {}-tools {}-io py-{}-bindings {}-plugins {}-mpi {}-bench
""")
_PREFIXES = ("lib", "perl-", "py-", "r-")


def package_names() -> Iterator[str]:
    """Yield different package names without end: real ones, then plausible ones."""
    yield from _REAL
    plain = [name for name in _REAL if not name.startswith(_PREFIXES)]
    for edition in count(1):
        for form, name in product(_NAME_FORMS, plain):
            yield form.format(name) + (str(edition) if edition > 1 else "")


_BUILD_TOOLS = _words("""
cmake gmake ninja meson autoconf automake libtool m4 pkgconf bison flex swig compiler-wrapper
py-pip py-setuptools
""")
_RUNTIMES = ("gcc-runtime", "glibc")
VIRTUALS = {
    "glibc": ("libc",),
    "libiconv": ("iconv",),
    "mpich": ("mpi",),
    "openblas": ("blas", "lapack"),
    "openmpi": ("mpi",),
    "zlib-ng": ("zlib-api",),
}
"""The virtual packages that a package provides to its dependents."""

WITHOUT_COMPILER = (*_RUNTIMES, "compiler-wrapper", "cuda")
"""Packages that are built without a compiler."""

COMPILERS = ("gcc", "llvm")
"""Packages that are never dependencies, as the demo's compilers are outside the cache."""

LINUX_ONLY = (*_RUNTIMES, "cuda", "nccl", "hip", "rocblas", "numactl", "hpctoolkit")
"""Packages that are not built on macOS."""


def dependency_types(name: str) -> tuple[str, ...]:
    """Return the types of a dependency on the package."""
    if name in _BUILD_TOOLS:
        return ("build",)
    if name in _RUNTIMES:
        return ("link",)
    return ("build", "run") if name.startswith(("py-", "r-", "perl-")) else ("build", "link")


# -- recipes


Configuration = tuple[Machine, str | None, tuple[str, ...]]
"""A machine, a compiler or None, and variants."""

_GPU = (("+cuda", "cuda_arch=80,90", "~rocm"), ("+rocm", "amdgpu_target=gfx90a", "~cuda"))
_SWITCHES = ("shared", "mpi", "openmp", "pic", "fortran", "cxx", "hl", "int64", "threads", "tools")
_BUILD_SYSTEMS_BY_PREFIX = {"py": "python_pip", "r": "generic", "perl": "perl"}
_BUILD_SYSTEMS = ("cmake", "cmake", "autotools", "makefile")
_MAX_DEPENDENCIES = 10
_PATCHES = 6
_FIRST_YEAR = 2000
_FEWEST_RUNGS = 6


class Recipe(msgspec.Struct, frozen=True, kw_only=True):
    """The recipe of a package of the demo.

    ``dependencies`` are package names, ``size`` is a typical size in bytes, ``first`` is the first
    version, and ``branch`` is the development version, if there is one. ``start`` is the rung of
    the newest version when the package is added.
    """

    name: str
    dependencies: tuple[str, ...]
    usual_configurations: tuple[Configuration, ...]
    size: int
    branch: str | None
    first: str
    start: int

    def version(self, rung: int) -> str:
        """Return the version on a rung of the ladder of versions, which has no upper end.

        It follows from ``first``: 2.42.0 is followed by 2.42.1 and later by 2.43.0, 0.3.15 never by
        0.4.0, 2022.1 by one version per quarter, and 9.0 by 9.1.
        """
        major, minor, *patch = map(int, self.first.split("."))
        if patch == [0]:
            return f"{major}.{minor + rung // _PATCHES}.{rung % _PATCHES}"
        if patch:
            return f"{major}.{minor}.{patch[0] + rung}"
        if major >= _FIRST_YEAR:
            return f"{major + rung // 4}.{1 + 3 * (rung % 4)}"
        return f"{major}.{minor + rung}"

    def configurations(self, number: int) -> Iterator[Configuration]:
        """Yield ``number`` different ones, with patches after those without are exhausted."""
        for index in range(number):
            lap, place = divmod(index, len(self.usual_configurations))
            machine, compiler, variants = self.usual_configurations[place]
            if lap:
                patch = sha256(f"{self.name} {lap}".encode()).hexdigest()[:7]
                variants = canonical_variants([*variants, f"patches={patch}"])
            yield machine, compiler, variants


def make_recipe(draw: Draw, name: str, others: Sequence[str]) -> Recipe:
    """Create a recipe with some of the other packages as dependencies, preferring earlier ones."""
    machines = [
        machine for machine in MACHINES if name not in LINUX_ONLY or machine.platform == "linux"
    ]
    number = 1 + int(draw.random() * len(machines))
    if draw.random() < 0.3:
        machines = draw.some(machines, len(machines))
    lists = _variants(draw, name)
    configurations = [
        (machine, compiler, variants)
        for machine in machines[:number]
        for compiler in ((None,) if name in WITHOUT_COMPILER else machine.compilers)
        for variants in lists
        if machine.platform == "linux" or not {"+cuda", "+rocm"} & set(variants)
    ]
    number = 1 + int(draw.random() * _MAX_DEPENDENCIES)
    others = [other for other in others if other not in COMPILERS]
    dependencies = {others[int(draw.low() * len(others))] for _ in range(number) if others}
    usual_configurations = draw.some(configurations, len(configurations))
    size = int(1_000_000 / (0.02 + draw.low()))
    branch = draw.pick(("develop", "main", "master")) if draw.random() < 0.05 else None
    number = int(draw.random() * 1_000_000)
    return Recipe(
        name=name,
        dependencies=tuple(sorted(dependencies)),
        usual_configurations=tuple(usual_configurations),
        size=size,
        branch=branch,
        first=_REAL.get(name) or f"{number % 5}.{number % 17}.0",
        start=_FEWEST_RUNGS + number % 7,
    )


def _variants(draw: Draw, name: str) -> list[tuple[str, ...]]:
    if name in WITHOUT_COMPILER:
        return [("build_system=generic",)]
    by_prefix = _BUILD_SYSTEMS_BY_PREFIX.get(name.partition("-")[0])
    common = [f"build_system={by_prefix or draw.pick(_BUILD_SYSTEMS)}"]
    if common == ["build_system=cmake"]:
        common += ["build_type=Release", "generator=make", "~ipo"]
    usual = {switch: draw.pick("+~") for switch in draw.some(_SWITCHES, int(draw.random() * 6))}
    flipped = [usual | {switch: "+" if usual[switch] == "~" else "~"} for switch in usual]
    lists = [
        [*common, *(sign + switch for switch, sign in settings.items())]
        for settings in (usual, *flipped)
    ]
    if draw.random() < 0.03:
        lists.append([*lists[0], 'cflags="-O2 -g"'])
    if draw.random() < 0.12:
        gpu = [[*lists[0], *choice] for choice in _GPU]
        lists = [*([*variants, "~cuda", "~rocm"] for variants in lists), *gpu]
    return list(map(canonical_variants, lists))


# -- packages in the cache


_EMPTY = PackageContent(())
_Stacks = tuple[list[str], int]


class DemoPackage(msgspec.Struct, kw_only=True):
    """A package in the cache, with versions up to the rung ``newest`` of its recipe.

    Any ``depth`` consecutive versions together with the branch have ``quota`` specs; ``extra``
    older versions remain from upgrades. ``edition`` counts the changes of the recipe; machines in
    ``without`` are not built for. ``content``, ``edges`` (the edge from dependents on each machine)
    and ``built`` (the specs of the last week, by all that determines them) are derived.
    """

    recipe: Recipe
    label: str
    quota: int
    depth: int
    newest: int
    extra: int = 0
    edition: int = 0
    without: set[Machine] = msgspec.field(default_factory=set)
    content: PackageContent = _EMPTY
    edges: dict[Machine, Dependency] = msgspec.field(default_factory=dict)
    built: dict[Hashable, tuple[Spec, _Stacks]] = msgspec.field(default_factory=dict)

    @property
    def num_specs(self) -> int:
        """The number of specs as of the last ``concretize``."""
        return len(self.content.specs)

    def upgrade(self) -> None:
        """Add a newer version, and drop the oldest."""
        self.newest += 1

    def add_version(self) -> None:
        """Add a newer version, and keep the oldest for some time."""
        self.newest += 1
        self.extra += 1

    def withdraw(self) -> None:
        """Withdraw the newest version, and build the one before the oldest again."""
        self.newest = max(self.depth + self.extra, self.newest - 1)

    def change_recipe(self) -> None:
        """Change the recipe of all versions."""
        self.edition += 1

    def drop_a_machine(self) -> None:
        """Stop building for one machine, but never for that of the first configuration."""
        first = self.recipe.usual_configurations[0][0]
        self.without.update([machine for machine in self.edges if machine is not first][-1:])

    def concretize(
        self, cache: Mapping[str, "DemoPackage"], compilers: Compilers, closed: Collection[str]
    ) -> None:
        """Update the specs.

        ``cache`` contains the packages that this one can depend on, ``closed`` the stacks without
        builds. An unchanged content remains the same object, with everything that it has computed.
        """
        below = [cache[name].edges for name in self.recipe.dependencies if name in cache]
        content = PackageContent(self._built(below, compilers, closed))
        if content.specs != self.content.specs:
            self.content = content

    def _built(
        self,
        below: Sequence[Mapping[Machine, Dependency]],
        compilers: Compilers,
        closed: Collection[str],
    ) -> Iterator[Spec]:
        """Yield the specs, and update the edges."""
        types, provided = dependency_types(self.recipe.name), VIRTUALS.get(self.recipe.name, ())
        built: dict[Hashable, tuple[Spec, _Stacks]] = {}
        self.edges = {}
        for build in self._builds():
            version, (machine, original, variants) = build
            edges = [by_machine[machine] for by_machine in below if machine in by_machine]
            compiler = None
            if original is not None:
                compiler, edge = compilers.on(machine, original)
                edges.append(edge)
            key = self.edition, build, *(edge.hash for edge in edges)
            spec, preferred = self.built.get(key) or (
                self._spec(build, compiler, edges),
                self._preferred_stacks(f"{version} {original} {variants}", machine),
            )
            ranked, number = preferred
            drawn = [stack for stack in ranked[:number] if stack not in closed]
            drawn = drawn or [next(stack for stack in ranked if stack not in closed)]
            if spec.stacks != (stacks := tuple(sorted({*drawn, ROOT_STACK}))):
                spec = replace(spec, stacks=stacks)
            built[key] = spec, preferred
            self.edges.setdefault(machine, Dependency(spec.name, spec.hash, types, provided))
            yield spec
        self.built = built

    def _spec(
        self, build: tuple[str, Configuration], compiler: str | None, edges: Sequence[Dependency]
    ) -> Spec:
        """Return a spec in no stacks; as in Spack, the hash covers those of its dependencies."""
        version, (machine, _, variants) = build
        source = f"{self.label} {self.recipe.name} {self.edition}"
        package_hash = base32(sha256(source.encode()).digest())
        facts = [self.recipe.name, version, machine.architecture, variants, package_hash]
        hashes = [(edge.hash, edge.types) for edge in edges]
        digest = sha1(orjson.dumps([*facts, hashes]), usedforsecurity=False).digest()
        return Spec(
            hash=base32(digest),
            name=self.recipe.name,
            version=version,
            compiler=compiler,
            operating_system=machine.operating_system,
            platform=machine.platform,
            target=machine.target,
            variants=variants,
            stacks=(),
            size=int(self.recipe.size * (0.85 + 0.3 * digest[0] / 256)),
            namespace="builtin",
            package_hash=package_hash,
            dependencies=tuple(sorted(edges)),
        )

    def _builds(self) -> Iterator[tuple[str, Configuration]]:
        """Yield the builds, the newest version first and the branch last."""
        on_branch = self.quota // 8 if self.recipe.branch else 0
        share, rest = divmod(self.quota - on_branch, self.depth)
        counts = {
            self.recipe.version(rung): share + (rung % self.depth < rest)
            for rung in range(self.newest, self.newest - self.depth - self.extra, -1)
        }
        if self.recipe.branch:
            counts[self.recipe.branch] = on_branch
        for version, quota in counts.items():
            for configuration in self.recipe.configurations(quota):
                if configuration[0] not in self.without:
                    yield version, configuration

    def _preferred_stacks(self, build: str, machine: Machine) -> _Stacks:
        """Return a machine's stacks in a random order that never changes, and how many build it."""
        draws = sha256(f"{self.label} {self.recipe.name} {build}".encode()).digest()
        ranked = [stack for _, stack in sorted(zip(draws, machine.stacks, strict=False))]
        return ranked, 1 + draws[-1] ** 2 * 4 // (1 << 16)
