"""The names of the demo's packages, and what a dependency on each of them looks like.

The names are real ones of Spack's package repository as far as they reach, in an order where what
others need comes first.
"""

from collections.abc import Iterator
from itertools import count


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_REAL_NAMES = _words("""
compiler-wrapper gcc-runtime glibc gmake zlib-ng cmake openssl python perl gcc pkgconf ncurses
openmpi hdf5 py-numpy openblas trilinos petsc boost curl libxml2 bzip2 xz zstd libiconv gettext
readline sqlite expat libffi gdbm diffutils findutils tar m4 autoconf automake libtool bison flex
texinfo ninja meson re2c berkeley-db libbsd libmd util-macros util-linux-uuid pcre2 pcre libsigsegv
gmp mpfr mpc isl hwloc libpciaccess numactl libevent pmix prrte mpich libfabric ucx ucc rdma-core
slurm munge krb5 openssh libedit ca-certificates-mozilla nghttp2 git llvm llvm-amdgpu cuda cudnn
nccl hip rocblas rocfft rocm-cmake hsa-rocr-dev rccl intel-oneapi-mkl intel-oneapi-mpi intel-tbb
fftw netlib-lapack netlib-scalapack amdblis amdlibflame eigen metis parmetis scotch hypre superlu
superlu-dist suite-sparse mumps strumpack slepc sundials mfem amrex kokkos kokkos-kernels raja
umpire camp chai axom conduit blt magma slate ginkgo butterflypack arpack-ng py-petsc4py dealii
libceed netcdf-c netcdf-cxx4 netcdf-fortran parallel-netcdf adios2 silo c-blosc c-blosc2 lz4 snappy
zfp sz sz3 h5z-zfp hdf5-vol-async libpng libjpeg-turbo libtiff giflib freetype fontconfig cairo
pango harfbuzz glib libx11 libxcb libxext xproto mesa glew qt-base vtk paraview visit vtk-m ascent
libcatalyst gdal proj geos root geant4 xerces-c clhep pythia8 hepmc3 lhapdf fastjet acts dd4hep
gaudi vecgeom podio edm4hep rust go julia node-js ruby lua r openjdk nasm yasm swig doxygen graphviz
papi tau hpctoolkit caliper scorep cubelib otf2 dyninst valgrind gdb flux-core flux-sched legion
charmpp upcxx hpx arborx cabana heffte py-pip py-setuptools py-wheel py-packaging py-cython
py-pybind11 py-mpi4py py-h5py py-scipy py-pandas py-matplotlib py-pillow py-pyyaml py-six
py-requests py-jinja2 py-markupsafe py-attrs py-torch py-torchvision py-tensorflow py-jaxlib py-jax
py-safetensors py-tokenizers py-transformers py-scikit-learn py-llvmlite py-numba py-dask py-xarray
py-sympy py-networkx py-pytest py-ipython py-jupyterlab perl-xml-parser perl-test-simple perl-dbi
r-rcpp r-rlang r-ggplot2 r-dplyr r-data-table r-matrix gromacs lammps cp2k quantum-espresso nwchem
openfoam wrf namd osu-micro-benchmarks hpl
""")

# With the joint between the two words that follow.
_PREFIXES = (("py-", "-"), ("r-", ""), ("py-", "-"), ("", "-"), ("perl-", "-"), ("py-", ""))
_STEMS = _words("""
array async atom auto bayes bio cell chem cloud cluster code core crypto deep dense edge event fast
fiber field flow fluid flux gene geo grid hash hyper image lattice lazy linear logic mesh meta micro
mini mobile nano neuro ocean optic orbit phase pixel plasma pulse quant ray signal solar spark spin
table tensor time vector wave
""")
_ENDINGS = _words("""
align arrow bench bind box bridge cast check config dist engine fit format forge gen graph guard
index io kit learn link loop maps model parse path plot pool query reader scan sim solve stats
stream tools trace view
""")


def package_names() -> Iterator[str]:
    """Yield different package names without end: real ones, then plausible ones."""
    yield from _REAL_NAMES
    for number in count():
        prefix, joint = _PREFIXES[number % len(_PREFIXES)]
        lap, place = divmod(number, len(_STEMS))
        # Neighbours differ in the ending too; a lap goes on one ending further, so that each
        # stem meets each ending once an edition.
        edition, shift = divmod(lap, len(_ENDINGS))
        ending = _ENDINGS[(place + shift) % len(_ENDINGS)]
        yield f"{prefix}{_STEMS[place]}{joint}{ending}{edition + 1 if edition else ''}"


_BUILD_TOOLS = frozenset(
    _words("""
    cmake gmake ninja meson autoconf automake libtool m4 pkgconf bison flex texinfo diffutils
    findutils nasm yasm swig doxygen compiler-wrapper gcc py-pip py-setuptools py-wheel
    """)
)
_RUNTIMES = frozenset(("gcc-runtime", "glibc"))
WITHOUT_COMPILER = _RUNTIMES | {"compiler-wrapper", "ca-certificates-mozilla", "cuda", "cudnn"}
"""Packages that no compiler builds."""

LINUX_ONLY = frozenset(
    _words("""
    glibc gcc-runtime cuda cudnn nccl hip rocblas rocfft rocm-cmake hsa-rocr-dev rccl llvm-amdgpu
    numactl rdma-core slurm munge libpciaccess hpctoolkit valgrind
    """)
)
"""Packages that are not built on macOS."""

_VIRTUALS = {
    "gcc": ("c", "cxx", "fortran"),
    "glibc": ("libc",),
    "libiconv": ("iconv",),
    "mpich": ("mpi",),
    "openblas": ("blas", "lapack"),
    "openmpi": ("mpi",),
    "zlib-ng": ("zlib-api",),
}


def virtuals(name: str) -> tuple[str, ...]:
    """Return the virtual packages that the package provides to what depends on it."""
    return _VIRTUALS.get(name, ())


def dependency_types(name: str) -> tuple[str, ...]:
    """Return the types of a dependency on the package."""
    if name in _BUILD_TOOLS:
        return ("build",)
    if name in _RUNTIMES:
        return ("link",)
    return ("build", "run") if name.startswith(("py-", "r-", "perl-")) else ("build", "link")
