"""How the demo's packages are built: versions, variants and machines, made up for each name."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from snapshots.demo.draws import Draw
from snapshots.demo.machines import LINUX_MACHINES, MACHINES, Machine
from snapshots.demo.names import LINUX_ONLY, WITHOUT_COMPILER
from snapshots.spack.spelling import canonical_variants

VariantLists = tuple[tuple[str, ...], ...]

MULTI_VALUED = frozenset(("amdgpu_target", "cuda_arch"))
"""The variants that can have several values, which newer cache pages spell with ``:=``."""

_GPU = (
    ("+cuda", "cuda_arch=80", "~rocm"),
    ("+cuda", "cuda_arch=80,90", "~rocm"),
    ("+rocm", "amdgpu_target=gfx90a", "~cuda"),
    ("+rocm", "amdgpu_target=gfx90a,gfx942", "~cuda"),
)
_SWITCHES = ("shared", "mpi", "openmp", "pic", "fortran", "cxx", "hl", "int64", "threads", "tools")
_BUILD_SYSTEMS_BY_PREFIX = {"py-": "python_pip", "r-": "generic", "perl-": "perl"}
_BUILD_SYSTEMS = ("cmake", "cmake", "cmake", "autotools", "autotools", "makefile")
_BRANCHES = ("develop", "main", "master")
_FIRST_RUNG = 6


def _semantic(base: int, rung: int) -> str:
    return f"{base % 5}.{base % 17 + rung // 3}.{rung % 3}"


def _minor(base: int, rung: int) -> str:
    return f"{base % 9 + 1}.{base % 31 + rung}"


def _lettered(_base: int, rung: int) -> str:
    return f"1.1.{1 + rung // 26}{chr(ord('a') + rung % 26)}"


def _quarterly(_base: int, rung: int) -> str:
    return f"{2021 + rung // 4}.{1 + 3 * (rung % 4)}"


def _dated(base: int, rung: int) -> str:
    return f"{2021 + rung // 4}{1 + 3 * (rung % 4):02}{1 + base % 28:02}"


_NUMBERINGS = (_semantic, _semantic, _semantic, _minor)
_NUMBERINGS_BY_NAME = {
    "openssl": _lettered,
    **dict.fromkeys(("ca-certificates-mozilla", "lammps"), _dated),
    **dict.fromkeys(("camp", "chai", "gromacs", "hpctoolkit", "raja", "umpire"), _quarterly),
    **dict.fromkeys(("intel-oneapi-mkl", "intel-oneapi-mpi", "py-dask", "py-xarray"), _quarterly),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How one package of the demo is built.

    ``variants`` are variant lists for every machine, ``gpu_variants`` further ones for Linux;
    ``branch`` is the development version, if there is one, and ``size`` a usual size in bytes.
    """

    name: str
    machines: tuple[Machine, ...]
    variants: VariantLists
    gpu_variants: VariantLists
    size: int
    branch: str | None
    numbering: Callable[[int, int], str]
    base: int

    @property
    def first_rung(self) -> int:
        """The rung of the newest version that the package begins with."""
        return _FIRST_RUNG + self.base % 7

    @property
    def has_compiler(self) -> bool:
        """Whether a compiler builds the package."""
        return self.name not in WITHOUT_COMPILER

    def version(self, rung: int) -> str:
        """Return the version on a rung of the ladder, which goes up from 0 without end."""
        return self.numbering(self.base, rung)

    def variants_on(self, machine: Machine) -> VariantLists:
        """Return the variant lists that the machine can build."""
        return self.variants + self.gpu_variants if machine.platform == "linux" else self.variants


def make_recipe(draw: Draw, name: str) -> Recipe:
    """Make up a recipe for the package."""
    machines = LINUX_MACHINES if name in LINUX_ONLY else MACHINES
    variety = 1 + int(draw.low() * len(machines))
    variants, gpu_variants = _variants(draw, name)
    return Recipe(
        name=name,
        machines=machines[:variety] if draw.random() < 0.7 else tuple(draw.some(machines, variety)),
        variants=variants,
        gpu_variants=gpu_variants,
        size=int(100_000 / (0.0002 + draw.low())),
        branch=draw.pick(_BRANCHES) if draw.random() < 0.05 else None,
        numbering=_NUMBERINGS_BY_NAME.get(name) or draw.pick(_NUMBERINGS),
        base=int(draw.random() * 1_000_000),
    )


def _variants(draw: Draw, name: str) -> tuple[VariantLists, VariantLists]:
    if name in WITHOUT_COMPILER:
        return (("build_system=generic",),), ()
    for prefix, build_system in _BUILD_SYSTEMS_BY_PREFIX.items():
        if name.startswith(prefix):
            return ((f"build_system={build_system}",),), ()
    build_system = draw.pick(_BUILD_SYSTEMS)
    common = [f"build_system={build_system}"]
    if build_system == "cmake":
        common += ["build_type=Release", "generator=make", "~ipo"]
    switches = draw.some(_SWITCHES, int(draw.random() * 6))
    usual = [draw.pick("+~") + switch for switch in switches]
    lists = [usual, *(_flipped(usual, switch) for switch in draw.some(switches, 3))]
    if draw.random() < 0.03:
        lists.append([*usual, 'cflags="-O2 -g"'])
    if draw.random() > 0.12:
        return _spell(common, lists), ()
    gpu = _spell([*common, *usual], draw.some(_GPU, 2))
    return _spell([*common, "~cuda", "~rocm"], lists), gpu


def _flipped(settings: Sequence[str], switch: str) -> list[str]:
    opposite = {f"+{switch}": f"~{switch}", f"~{switch}": f"+{switch}"}
    return [opposite.get(setting, setting) for setting in settings]


def _spell(common: Sequence[str], lists: Sequence[Sequence[str]]) -> VariantLists:
    return tuple(canonical_variants([*common, *variants]) for variants in lists)
