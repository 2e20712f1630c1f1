"""The names of the demo's packages and hashes, and what a dependency on each of them looks like."""

from base64 import b32encode
from collections.abc import Iterator
from itertools import count, product


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


# Real ones, in an order where what others need comes first, and where their versions begin here.
_REAL = dict(
    word.split("@")
    for word in _words("""
compiler-wrapper@1.0.0 gcc-runtime@12.2.0 glibc@2.26 gmake@4.3.0 zlib-ng@2.1.0 cmake@3.28.0
openssl@3.2.0 python@3.11.0 perl@5.38.0 gcc@12.2.0 pkgconf@2.1.0 ncurses@6.4.0 openmpi@4.0.0
hdf5@1.13.0 py-numpy@1.25.0 openblas@0.3.15 trilinos@15.0.0 petsc@3.20.0 boost@1.83.0 curl@8.6.0
libxml2@2.11.0 bzip2@1.0.2 xz@5.3.0 zstd@1.4.0 libiconv@1.8 gettext@0.21.0 readline@8.1.0
sqlite@3.42.0 expat@2.5.0 libffi@3.3.0 m4@1.4.10 autoconf@2.62 automake@1.15.0 libtool@2.4.0
bison@3.7.0 flex@2.6.0 ninja@1.11.0 meson@1.3.0 gmp@6.2.0 mpfr@4.1.0 hwloc@2.9.0 numactl@2.0.10
libevent@2.1.5 mpich@4.1.0 libfabric@1.20.0 ucx@1.15.0 krb5@1.20.0 openssh@9.0 git@2.42.0
llvm@17.0.0 cuda@12.2.0 nccl@2.20.0 hip@6.0.0 rocblas@6.0.0 intel-tbb@2021.8.0 fftw@3.3.2
netlib-lapack@3.10.0 eigen@3.3.0 metis@5.0.0 parmetis@4.0.0 hypre@2.30.0 superlu-dist@8.1.0
suite-sparse@7.2.0 mumps@5.6.0 strumpack@7.1.0 slepc@3.20.0 sundials@6.6.0 mfem@4.5.0 amrex@24.1
kokkos@4.2.0 raja@2023.6.0 umpire@2023.6.0 conduit@0.8.0 magma@2.7.0 ginkgo@1.7.0 netcdf-c@4.8.0
netcdf-fortran@4.5.0 adios2@2.9.0 zfp@1.0.0 libpng@1.6.32 cairo@1.16.0 glib@2.76.0 mesa@23.2.0
vtk@9.2.0 paraview@5.11.0 visit@3.3.0 ascent@0.8.0 gdal@3.8.0 proj@9.2.0 root@6.30.0 geant4@11.1.0
pythia8@8.303 rust@1.76.0 go@1.21.0 julia@1.9.0 node-js@21.6.0 r@4.3.0 openjdk@17.0.0 swig@4.1.0
papi@7.0.0 tau@2.32.0 hpctoolkit@2022.1 legion@23.2.0 hpx@1.9.0 py-pip@23.2.0 py-setuptools@68.1.0
py-cython@3.0.0 py-mpi4py@3.1.0 py-h5py@3.10.0 py-scipy@1.11.0 py-pandas@2.1.0 py-matplotlib@3.8.0
py-torch@2.2.0 py-jax@0.4.18 r-rcpp@1.0.4 r-dplyr@1.1.0 gromacs@2022.1 lammps@2022.1 cp2k@2022.1
nwchem@7.2.0 wrf@4.5.0 abseil-cpp@2022.1 fmt@10.1.0 spdlog@1.12.0 nlohmann-json@3.11.0
yaml-cpp@0.7.0 googletest@1.13.0 catch2@3.4.0 doctest@2.4.3 benchmark@1.7.0 protobuf@3.25.0
re2@2022.1 grpc@1.62.0 c-blosc@1.20.0 lz4@1.9.0 snappy@1.1.2 brotli@1.0.1 libaec@1.0.0 pcre2@10.33
libyaml@0.2.0 nasm@2.15.0 yasm@1.2.0 gperf@3.0.0 texinfo@7.0.0 help2man@1.47.8 tcl@8.6.5 tk@8.6.5
gawk@5.2.0 gdbm@1.14 elfutils@0.181 libunwind@1.6.0 libpciaccess@0.16.0 libnl@3.7.0 rdma-core@41.0
pmix@4.2.0 prrte@3.0.0 slurm@23.2.0 armadillo@12.6.0 arpack-ng@3.8.0 butterflypack@2.3.0
camp@2023.6.0 chai@2023.6.0 blt@0.5.0 caliper@2.10.0 adiak@0.3.0 hpddm@2.2.0 heffte@2.3.0
arborx@1.4.0 cabana@0.6.0 precice@3.0.0 dealii@9.5.0 nek5000@19.0 warpx@24.1 py-wheel@0.41.0
py-cffi@1.15.0 py-pyyaml@6.0.0 py-jinja2@3.1.0 py-sympy@1.4 py-numba@0.58.0 py-scikit-learn@1.4.0
py-xarray@2022.1 py-dask@2022.1 py-networkx@3.1.0 py-pillow@10.2.0 py-tqdm@4.65.0 py-requests@2.31.0
py-click@8.1.0 py-pytest@8.1.0 py-sphinx@7.2.0 py-torchvision@0.17.0 py-tensorflow@2.15.0
py-onnx@1.15.0 py-horovod@0.27.0 r-ggplot2@3.4.0 r-tidyr@1.2.0 r-stringr@1.4.0 r-data-table@1.14.0
perl-dbi@1.636 perl-json@4.2 parallel-netcdf@1.12.0 cgns@4.3.0 silo@4.10.0 hdf@4.2.8 h5hut@2.0.0
netcdf-cxx4@4.3.0 nco@5.1.0 cdo@2.2.0 esmf@8.5.0 udunits@2.2.20 geos@3.11.0 postgresql@15.2
mariadb@10.9.0 valgrind@3.12 gdb@13.1 darshan-runtime@3.4.0 dyninst@12.2.0 scorep@8.0 otf2@3.0.0
likwid@5.2.0 openfoam@2022.1 quantum-espresso@7.2.0 siesta@4.1.0 elpa@2022.1 scalapack@2.1.0
libxc@6.1.0 plumed@2.8.0 namd@2.14.0 charmpp@7.0.0 fenics-dolfinx@0.6.0 xsdk@0.8.0 sz@2.1.5
mgard@1.4.0 flecsi@2.2.0 parsec@3.0.0 slate@2022.1 blaspp@2022.1 lapackpp@2022.1 plasma@22.2.0
papyrus@1.0.0 unifyfs@1.1.0 mercury@2.2.0
""")
)
_MADE_UP = _words("""
py-{} r-{} perl-{} lib{} {}-tools {}-io py-{}-bindings {}-plugins {}-mpi {}-bench
""")
_PREFIXES = ("lib", "perl-", "py-", "r-")


def package_names() -> Iterator[str]:
    """Yield different package names without end: real ones, then plausible ones."""
    yield from _REAL
    plain = [name for name in _REAL if not name.startswith(_PREFIXES)]
    for edition in count(1):
        for form, name in product(_MADE_UP, plain):
            yield form.format(name) + (str(edition) if edition > 1 else "")


def first_version(name: str) -> str | None:
    """Return the version that a real package begins with in the demo; None for one made up."""
    return _REAL.get(name)


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
