"""The names of the demo's packages and hashes, and what a dependency on each of them looks like."""

from base64 import b32encode
from collections.abc import Iterator
from itertools import count, product


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


# Real ones, in an order where what others need comes first.
_REAL_NAMES = _words("""
compiler-wrapper gcc-runtime glibc gmake zlib-ng cmake openssl python perl gcc pkgconf ncurses
openmpi hdf5 py-numpy openblas trilinos petsc boost curl libxml2 bzip2 xz zstd libiconv gettext
readline sqlite expat libffi m4 autoconf automake libtool bison flex ninja meson gmp mpfr hwloc
numactl libevent mpich libfabric ucx krb5 openssh git llvm cuda nccl hip rocblas intel-tbb fftw
netlib-lapack eigen metis parmetis hypre superlu-dist suite-sparse mumps strumpack slepc sundials
mfem amrex kokkos raja umpire conduit magma ginkgo netcdf-c netcdf-fortran adios2 zfp libpng
cairo glib mesa vtk paraview visit ascent gdal proj root geant4 pythia8 rust go julia node-js r
openjdk swig papi tau hpctoolkit legion hpx py-pip py-setuptools py-cython py-mpi4py py-h5py
py-scipy py-pandas py-matplotlib py-torch py-jax r-rcpp r-dplyr gromacs lammps cp2k nwchem wrf
abseil-cpp fmt spdlog nlohmann-json yaml-cpp googletest catch2 doctest benchmark protobuf re2 grpc
c-blosc lz4 snappy brotli libaec pcre2 libyaml nasm yasm gperf texinfo help2man tcl tk gawk gdbm
elfutils libunwind libpciaccess libnl rdma-core pmix prrte slurm armadillo arpack-ng butterflypack
camp chai blt caliper adiak hpddm heffte arborx cabana precice dealii nek5000 warpx py-wheel py-cffi
py-pyyaml py-jinja2 py-sympy py-numba py-scikit-learn py-xarray py-dask py-networkx py-pillow
py-tqdm py-requests py-click py-pytest py-sphinx py-torchvision py-tensorflow py-onnx py-horovod
r-ggplot2 r-tidyr r-stringr r-data-table perl-dbi perl-json parallel-netcdf cgns silo hdf h5hut
netcdf-cxx4 nco cdo esmf udunits geos postgresql mariadb valgrind gdb darshan-runtime
dyninst scorep otf2 likwid openfoam quantum-espresso siesta elpa scalapack libxc plumed namd charmpp
fenics-dolfinx xsdk sz mgard flecsi parsec slate blaspp lapackpp plasma papyrus unifyfs mercury
""")
_MADE_UP = _words("""
py-{} r-{} perl-{} lib{} {}-tools {}-io py-{}-bindings {}-plugins {}-mpi {}-bench
""")
_PREFIXES = ("lib", "perl-", "py-", "r-")


def package_names() -> Iterator[str]:
    """Yield different package names without end: real ones, then plausible ones."""
    yield from _REAL_NAMES
    plain = [name for name in _REAL_NAMES if not name.startswith(_PREFIXES)]
    for edition in count(1):
        for form, name in product(_MADE_UP, plain):
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
"""The virtual packages that a package provides to what depends on it."""

WITHOUT_COMPILER = (*_RUNTIMES, "compiler-wrapper", "cuda")
"""Packages that no compiler builds."""

COMPILERS = ("gcc", "llvm")
"""Packages that nothing in the cache is built with: compilers are outside of it."""

LINUX_ONLY = (*_RUNTIMES, "cuda", "nccl", "hip", "rocblas", "numactl", "hpctoolkit")
"""Packages that are not built on macOS."""


def dependency_types(name: str) -> tuple[str, ...]:
    """Return the types of a dependency on the package."""
    if name in _BUILD_TOOLS:
        return ("build",)
    if name in _RUNTIMES:
        return ("link",)
    return ("build", "run") if name.startswith(("py-", "r-", "perl-")) else ("build", "link")


def base32(digest: bytes) -> str:
    """Return a digest as Spack spells it."""
    return b32encode(digest).decode().lower()
