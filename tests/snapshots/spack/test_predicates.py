"""What a spec's own facts must be like to meet a query."""

import pytest

from snapshots.models import Spec
from snapshots.spack.query import parse
from snapshots.spack.spelling import canonical_variants
from tests.snapshots.records import has_facts

SPEC = Spec(
    hash="abcdefghijklmnopqrstuvwxyz234567",
    name="hdf5",
    namespace="builtin",
    version="1.14.5",
    compiler="gcc@13.2.0",
    operating_system="ubuntu24.04",
    platform="linux",
    target="x86_64_v3",
    variants=canonical_variants(
        (
            "+mpi",
            "-cxx",
            "build_type=Release",
            "fabrics:=verbs,ofi",
            "languages=c,c++",
            'cflags="-O2 -g"',
            "ldflags='-Wl,--as-needed'",
            "patches:=26090f4,b231fcc",
        )
    ),
    stacks=("e4s", "root"),
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("*", True),
        ("hdf5", True),
        ("zlib", False),
        ("builtin.hdf5", True),
        ("builtin.mock.hdf5", False),
        ("namespace=builtin", True),
        ("@1.14", True),
        ("@=1.14", False),
        ("@1.12:1.13,1.14.5:", True),
        ("@:1.13", False),
        ("+mpi", True),
        ("~mpi", False),
        ("~cxx", True),
        ("mpi=true cxx=false", True),
        ("mpi=false", False),
        ("mpi=*", True),
        ("+unknown", False),
        ("~unknown", False),
        ("unknown=*", False),
        ("build_type=Release", True),
        ("build_type:=Release", True),
        ("build_type=Debug", False),
        ("build_type=release", False),
        ("+build_type", False),
        ("mpi=on", False),
        ("fabrics=ofi", True),
        ("fabrics=verbs,ofi", True),
        ("fabrics=ofi,tcp", False),
        ("fabrics:=ofi,verbs", True),
        ("fabrics:=ofi", False),
        ("fabrics=*", True),
        ("languages=c++", True),
        ("cflags=-O2", True),
        ('cflags="-g -O2"', True),
        ("cflags='-O3'", False),
        ("cflags:=-O2", True),  # Spack heeds := among flags no more than their order
        ('cflags:="-O2 -g"', True),
        ("cflags=*", False),
        ("cxxflags=*", False),
        ("ldflags=-Wl,--as-needed", True),
        ("patches=26090f4", True),
        ("patches=26090f4aaaaaaaaaaaaaaaa", True),
        ("patches=2609", True),
        ("patches=26090f5", False),
        ("patches:=b231fccaaa,26090f4aaa", True),
        ("patches:=26090f4", False),
        ("platform=linux os=ubuntu24.04 target=x86_64_v3", True),
        ("platform=darwin", False),
        ("os=centos7", False),
        ("target=zen2,x86_64_v3", True),
        ("target=x86_64", False),
        ("target=*", True),
        ("target=x86_64:", True),
        ("target=x86_64_v3:", True),
        ("target=:x86_64_v3", True),
        ("target=:x86_64_v2", False),
        ("target=zen2,:haswell", True),
        ("target=x86_64_v2:icelake", True),
        ("target=x86_64_v4:", False),
        ("target=aarch64:", False),
        ("platform=* os=*", True),
        ("arch=linux-*-*", True),
        ("arch=linux-ubuntu24.04-x86_64_v3", True),
        ("arch=linux-None-x86_64_v3", True),
        ("os=None", False),
        ("arch=linux-centos7-x86_64_v3", False),
        ("/abcdefg", True),
        ("/abcdefghijklmnopqrstuvwxyz234567", True),
        ("/bcdefg", False),
        ("hdf5@1.12: +mpi~cxx target=x86_64_v3 fabrics=ofi", True),
        ("hdf5@1.12: +mpi+cxx target=x86_64_v3 fabrics=ofi", False),
        ("os=ubuntu24.04,centos7", False),  # one strange name to Spack
        ("hdf5 ^nothing-of-the-kind", True),  # dependencies are not in the record
    ],
)
def test_matches(text: str, *, expected: bool) -> None:
    """A spec matches where it meets every part of the query that is about itself."""
    assert has_facts(parse(text), SPEC) is expected


def test_unknown_facts_do_not_match() -> None:
    """A spec without a known namespace has none that could be asked for."""
    spec = Spec(
        hash=SPEC.hash,
        name="zlib",
        version="1.3",
        compiler=None,
        operating_system="centos7",
        platform="linux",
        target="zen2",
        variants=(),
        stacks=(),
    )
    assert has_facts(parse("zlib"), spec)
    assert not has_facts(parse("builtin.zlib"), spec)


@pytest.mark.parametrize(
    ("asked", "compiler", "expected"),
    [
        ("%clang@19", "llvm@19.1.0", True),
        ("%llvm", "clang@15.0.7", True),
        ("%oneapi@2025", "intel-oneapi-compilers@2025.1.0", True),
        ("%clang", "apple-clang@16.0.0", False),
        ("%gcc", "gcc-runtime@13.2.0", False),
        ("%gcc@13", "gcc", False),
        ("%@13", "gcc@13.2.0", True),
        ("%gcc languages=c", "gcc@13.2.0", False),
        ("%gcc os=centos7", "gcc@13.2.0", False),
    ],
)
def test_compilers(asked: str, compiler: str, *, expected: bool) -> None:
    """A compiler goes by its old name or by its package's; no more is known of it."""
    (dependency,) = parse(asked).direct
    assert dependency.spec.is_compiler(compiler) is expected


@pytest.mark.parametrize(
    ("asked", "spelled", "expected"),
    [
        ("patches=26090f4", "patches=26090f49d2c1e7aa,b231fcc0", True),
        ("patches:=26090f4", "patches=26090f49d2c1e7aa,b231fcc0", False),
        ("cflags=-g", 'cflags=="-O2 -g"', True),
        ("+mpi", "++mpi", True),
        ("+mpi", "mpi=True", True),
        ("fabrics=ofi", "fabrics='none,ofi'", True),
        ("note='a b'", 'note="a b"', True),
        ("mpi=x", "mpi-x=x", False),
    ],
)
def test_variants_in_other_spellings(asked: str, spelled: str, *, expected: bool) -> None:
    """Quotes, full checksums and propagated values in the data do not hide what is asked for."""
    (constraint,) = parse(asked).variants
    assert constraint.matches((spelled,)) is expected
