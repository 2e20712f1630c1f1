"""How the demo's packages are built: versions, configurations, and what each depends on."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256

from snapshots.demo.draws import Draw
from snapshots.demo.machines import MACHINES, Machine
from snapshots.demo.names import COMPILERS, LINUX_ONLY, WITHOUT_COMPILER, first_version
from snapshots.spack.spelling import canonical_variants

Configuration = tuple[Machine, str | None, tuple[str, ...]]
"""A machine, a compiler if there is any, and variants."""

MULTI_VALUED = ("amdgpu_target", "cuda_arch", "patches")
"""The variants that can have several values, which newer cache pages spell with ``:=``."""

_GPU = (("+cuda", "cuda_arch=80,90", "~rocm"), ("+rocm", "amdgpu_target=gfx90a", "~cuda"))
_SWITCHES = ("shared", "mpi", "openmp", "pic", "fortran", "cxx", "hl", "int64", "threads", "tools")
_BUILD_SYSTEMS_BY_PREFIX = {"py": "python_pip", "r": "generic", "perl": "perl"}
_BUILD_SYSTEMS = ("cmake", "cmake", "autotools", "makefile")
_MOST_DEPENDENCIES = 10
_PATCHES = 6
_FIRST_YEAR = 2000
_FEWEST_RUNGS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How one package of the demo is built.

    ``dependencies`` are names of packages, ``size`` is a usual size in bytes, ``first`` the first
    version and ``branch`` that of development, if there is one. ``start`` is how far the package
    has come when it is added: on which rung its newest version stands.
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

        It follows from the ``first``: 2.42.0 goes on to 2.43.0 some time, 0.3.15 never to 0.4.0;
        2022.1 comes by the quarter, 9.0 is followed by 9.1.
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
        """Yield that many different ones; with patches where the recipe has no more without."""
        for index in range(number):
            lap, place = divmod(index, len(self.usual_configurations))
            machine, compiler, variants = self.usual_configurations[place]
            if lap:
                patch = sha256(f"{self.name} {lap}".encode()).hexdigest()[:7]
                variants = canonical_variants([*variants, f"patches={patch}"])
            yield machine, compiler, variants


def make_recipe(draw: Draw, name: str, others: Sequence[str]) -> Recipe:
    """Make up a recipe for a package that depends on some of the others, most on the first ones."""
    machines = [it for it in MACHINES if it.platform == "linux" or name not in LINUX_ONLY]
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
    number = 1 + int(draw.random() * _MOST_DEPENDENCIES)
    others = [other for other in others if other not in COMPILERS]
    dependencies = {draw.pick_early(others) for _ in range(number) if others}
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
        first=first_version(name) or f"{number % 5}.{number % 17}.0",
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
