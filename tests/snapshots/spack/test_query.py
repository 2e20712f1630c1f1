"""Spack's spec query language: parsed queries, the specs that they match, and syntax errors."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots.errors import ConstraintSyntaxError
from snapshots.spack.notation import canonical_variants
from snapshots.spack.query import is_target, parse, query_of, with_families
from tests.snapshots.factories import a_spec
from tests.snapshots.records import error_of, has_facts

ALL_TYPES = "hdf5 ^[deptypes=build,link,run,test virtuals=mpi] mpich"


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("+mpi %gcc", "* +mpi %gcc"),
        ("builtin.hdf5", "hdf5 namespace=builtin"),
        ("namespace=builtin hdf5=1", "* hdf5=1 namespace=builtin"),
        ("hdf5 @ 1.2 , 1.4:1.6", "hdf5@1.2,1.4:1.6"),
        ("hdf5+mpi~cxx -shared", "hdf5 ~cxx +mpi ~shared"),
        ("hdf5 mpi=true cxx=FALSE shared:=True", "hdf5 ~cxx +mpi +shared"),
        ("hdf5 fabrics=verbs,ofi,verbs", "hdf5 fabrics=ofi,verbs"),
        ("hdf5 fabrics:='ofi, verbs'", "hdf5 fabrics:=ofi,verbs"),
        ("gcc languages=c,c++ build=c++", "gcc build='c++' languages='c,c++'"),
        ('hdf5 cflags="-g -O2"', "hdf5 cflags='-O2 -g'"),
        ("hdf5 cflags='-O2 -g' cflags=-O2", "hdf5 cflags='-O2 -g'"),
        ("hdf5 cflags:='-O2' ldflags==-lm", "hdf5 cflags=-O2 ldflags=-lm"),
        ('hdf5 cflags=* cflags="-g"', "hdf5 cflags='* -g'"),
        ("hdf5 cflags=''", "hdf5"),
        ("hdf5 cflags='-O2'+mpi%gcc", "hdf5 cflags=-O2 +mpi %gcc"),
        (r"""hdf5 note="it's \"a\" \n" """, r"""hdf5 note="it's \"a\" \n" """.strip()),
        ('hdf5 note="a%b"', "hdf5 note='a%b'"),
        ("hdf5 operating_system=b,a platform=*", "hdf5 platform=* os=b,a"),
        ("hdf5 target=zen3:,zen2,:zen", "hdf5 target=zen2,:zen,zen3:"),
        ("hdf5 arch=linux-*-zen2:zen4", "hdf5 platform=linux os=* target=zen2:zen4"),
        ("arch=*", "* target=*"),
        ("hdf5 architecture=linux-None-zen2", "hdf5 platform=linux target=zen2"),
        ("% gcc @13:", "* %gcc@13:"),
        ("hdf5/abc%apple-clang@=16.0.0", "hdf5 /abc %apple-clang@=16.0.0"),
        ("hdf5 ^zlib@1.3 %clang ^mpich+pmi", "hdf5 ^mpich +pmi ^zlib@1.3 %llvm"),
        ("hdf5 ^/abc ^ +shared", "hdf5 ^* +shared ^* /abc"),
        ("^", "* ^*"),
        ("hdf5 %%gcc %cmake@3 +doc", "hdf5 %cmake@3 +doc %gcc"),
        (
            "hdf5 %[deptypes=build,link virtuals='c'] gcc",
            "hdf5 %[deptypes=build,link virtuals=c] gcc",
        ),
        ("hdf5 %cxx,c=clang@18", "hdf5 %[virtuals=c,cxx] llvm@18"),
        ("hdf5 ^[deptypes=all] mpi=mpich", ALL_TYPES),
        ("hdf5 ++mpi ~~cxx --pic", "hdf5 ~~cxx ++mpi ~~pic"),
        (
            "hdf5@1.14.5%gcc@13.2.0+mpi~cxx build_type=Release arch=linux-ubuntu24.04-x86_64_v3",
            "hdf5@1.14.5 %gcc@13.2.0 build_type=Release ~cxx +mpi"
            " platform=linux os=ubuntu24.04 target=x86_64_v3",
        ),
        ("hdf5\n  +mpi\n  ^zlib\n", "hdf5 +mpi ^zlib"),
    ],
)
def test_parse(text: str, canonical: str) -> None:
    """Different spellings of one query are parsed to the same constraint."""
    assert parse(text) == parse(canonical)


FRAGMENTS = st.one_of(
    st.sampled_from("@%^/+~-=:*,.[]'\"\\ \n"),
    st.sampled_from(["hdf5", "1.2", "gcc", ":=", "==", "os", "target=zen2", "arch=", "cflags="]),
    st.text(max_size=2),
)


@given(st.lists(FRAGMENTS).map("".join))
def test_any_text_parses_or_is_refused(text: str) -> None:
    """A text raises no other error than ConstraintSyntaxError, with a position in the text."""
    error = error_of(parse, text)
    if error is not None:
        assert 0 <= error.position <= len(text)
        assert str(error).count("\n") == 1


@pytest.mark.parametrize(
    ("words", "query"),
    [
        ((), "*"),
        (("hdf5", "cflags=-O2 -g"), "hdf5 cflags='-O2 -g'"),
        (("weird=it's",), 'weird="it\'s"'),
        (('weird="it',), "weird='\"it'"),
        (("target=zen2 %gcc@13",), "target=zen2 %gcc@13"),
        (("hdf5 cflags=-O2 -g",), "hdf5 cflags=-O2 -g"),
        (("foo=",), "foo="),
    ],
)
def test_query_of_command_line_words(words: tuple[str, ...], query: str) -> None:
    """A value whose quotes the shell removed is quoted again if it cannot be parsed without."""
    assert query_of(words) == query


# -- the specs that a query matches


VARIANTS = (
    "+mpi",
    "-cxx",
    "build_type=Release",
    "fabrics:=verbs,ofi",
    "languages=c,c++",
    'cflags="-O2 -g"',
    "ldflags='-Wl,--as-needed'",
    "patches:=26090f4,b231fcc",
)
SPEC = a_spec(variants=canonical_variants(VARIANTS))


# Spack ignores := and the order of values among compiler flags.
MATCHES = {
    "boolean variant": (
        "+mpi | ~cxx | mpi=true cxx=false | mpi=*",
        "~mpi | mpi=false | +unknown | ~unknown | unknown=* | +build_type | mpi=on",
    ),
    "single-valued variant": (
        "build_type=Release | build_type:=Release",
        "build_type=Debug | build_type=release",
    ),
    "multi-valued variant": (
        "fabrics=ofi | fabrics=verbs,ofi | fabrics:=ofi,verbs | fabrics=* | languages=c++",
        "fabrics=ofi,tcp | fabrics:=ofi",
    ),
    "compiler flags": (
        'cflags=-O2 | cflags="-g -O2" | cflags:=-O2 | cflags:="-O2 -g" | ldflags=-Wl,--as-needed',
        "cflags='-O3' | cflags=* | cxxflags=*",
    ),
    "patches": (
        "patches=26090f4 | patches=26090f4aaaaaaaaaaaaaaaa | patches=2609"
        " | patches:=b231fccaaa,26090f4aaa",
        "patches=26090f5 | patches:=26090f4",
    ),
}
"""Queries that SPEC meets, and queries that it does not meet, by the facts that they are about."""


@pytest.mark.parametrize("facts", MATCHES)
def test_matches(facts: str) -> None:
    """A spec matches if its variants meet those of the query."""
    matching, others = (texts.split(" | ") for texts in MATCHES[facts])
    queries = [text for text in (*matching, *others) if text]
    assert [text for text in queries if has_facts(parse(text), SPEC)] == matching


@pytest.mark.parametrize(
    ("query", "compiler", "expected"),
    [
        ("%clang@19", "llvm@19.1.0", True),
        ("%llvm", "clang@15.0.7", True),
        ("%oneapi@2025", "intel-oneapi-compilers@2025.1.0", True),
        ("%clang", "apple-clang@16.0.0", False),
        ("%gcc", "gcc-runtime@13.2.0", False),
        ("%@13", "gcc@13.2.0", True),
        ("%gcc languages=c", "gcc@13.2.0", False),
        ("%gcc os=centos7", "gcc@13.2.0", False),
    ],
)
def test_compiler_names(query: str, compiler: str, *, expected: bool) -> None:
    """A compiler matches by its old name or by its package's name; it has no other facts."""
    (dependency,) = parse(query).direct
    assert dependency.spec.is_compiler(compiler) is expected


@pytest.mark.parametrize(
    ("query", "spelled", "expected"),
    [
        ("patches=26090f4", "patches=26090f49d2c1e7aa,b231fcc0", True),
        ("patches:=26090f4", "patches=26090f49d2c1e7aa,b231fcc0", False),
        ("cflags=-g", 'cflags=="-O2 -g"', True),
        ("cflags='-DX=\"a b\"'", "cflags='-DX=\"a b\" -g'", True),
        ("cflags='b\"'", "cflags='-DX=\"a b\" -g'", False),
        ("+mpi", "++mpi", True),
        ("+mpi", "mpi=True", True),
        ("fabrics=ofi", "fabrics='none,ofi'", True),
        ("note='a b'", 'note="a b"', True),
        ("mpi=x", "mpi-x=x", False),
    ],
)
def test_variants_in_other_spellings_match(query: str, spelled: str, *, expected: bool) -> None:
    """Quotes, full checksums and propagated values in the data do not prevent a match."""
    (constraint,) = parse(query).variants
    assert constraint.matches((spelled,)) is expected


# -- errors


@pytest.mark.parametrize(
    ("text", "position", "reason"),
    [
        ("", 0, "unexpected end, a spec is missing"),
        ("hdf5@", 5, "unexpected end, a version is missing"),
        ("hdf5@+mpi", 5, "unexpected '+'"),
        ("hdf5@1.2 @1.3", 9, "a version (commas make a list) is given twice"),
        ("hdf5@1.4:1.2", 5, "1.4:1.2 is an empty range"),
        ("hdf5:1.2", 4, "unexpected ':'"),
        ("hdf5 zlib", 5, "a second spec begins (a dependency is ^zlib)"),
        ("+mpi hdf5", 5, "a name comes first in a spec"),
        ("hdf5 key = value", 5, "a second spec begins"),
        ("hdf5 +", 6, "unexpected end, the name of a variant is missing"),
        ("hdf5 +-mpi", 6, "unexpected '-'"),
        ("hdf5 +mpi ~mpi", 10, "the variant mpi is given twice"),
        ("hdf5 +mpi=true", 9, "unexpected '='"),
        ("hdf5/", 5, "unexpected end, a hash is missing"),
        ("hdf5/a /b", 7, "a hash is given twice"),
        ("/" + "a" * 33, 1, "a hash has at most 32 characters"),
        ("hdf5 build_type=", 16, "unexpected end, a value is missing"),
        ("hdf5 build_type= Release", 16, "unexpected ' '"),
        ("hdf5 build_type=Release%gcc", 23, "unexpected '%' (put a space before it, or"),
        ("hdf5 languages=c+bootstrap", 16, "unexpected '+' (put a space before it, or"),
        ('hdf5 weird="a"b"', 14, "a second spec begins"),
        ("hdf5 ^mpi=mpich='a'", 15, "mpich is the package that provides it, and has no value"),
        ("hdf5 cflags=-O2 -g", 15, "several flags need quotes around them"),
        ("hdf5 cflags='-O2", 12, "a quote that is never closed"),
        ("hdf5 fabrics=ofi,,tcp", 13, "an empty value"),
        ("hdf5 fabrics=ofi,*", 13, "'*' is written alone"),
        ("builtin.hdf5 namespace=x", 13, "a namespace is given twice"),
        ("hdf5 namespace='a b'", 15, "this is not a namespace"),
        ("hdf5 arch=linux-zen2", 10, "arch is PLATFORM-OS-TARGET"),
        ("hdf5 arch=linux-centos7-zen2 target=zen3", 29, "target= is given twice"),
        ("hdf5 os=a os=b", 10, "os= is given twice"),
        ("hdf5 é", 5, "unexpected 'é'"),
        ("hdf5 when=+mpi", 5, "not supported: conditions (when=)"),
        ("hdf5@git.feature/x", 5, "not supported: git versions"),
        ("hdf5 %", 6, "unexpected end, a spec is missing"),
        ("hdf5 %gcc cmake", 10, "a second spec begins (a dependency is ^cmake)"),
        ("hdf5 %[virtuals=c gcc", 18, "unexpected 'g'"),
        ("hdf5 %[virtuals=c", 17, "unexpected end, ']' is missing"),
        ("hdf5 ^[deptypes=compile] mpich", 16, "'compile' is not a type: build, link, run, test"),
        ("hdf5 ^[color=red] mpich", 7, "an edge has deptypes=, virtuals= and no other"),
        ("hdf5 ^[when=+mpi] mpich", 7, "unexpected 'w'"),
        ("hdf5 ^[when='+mpi'] mpich", 7, "not supported: conditions (when=)"),
        ("hdf5 ^mpi=mpich,openmpi", 15, "unexpected ','"),
        ("hdf5 os=,a", 8, "this is not a valid os"),
        ("hdf5 target:=zen2", 11, "only '=' goes with an architecture"),
        ("hdf5 target=nowhere:", 12, "'nowhere' is not a target that ranges can have"),
        ("hdf5 target=zen2:fe", 12, "not supported: names that depend on the host"),
        ("hdf5 target=fe", 12, "not supported: names that depend on the host"),
        ("./hdf5.yaml", 0, "not supported: specs in files"),
    ],
)
def test_refused(text: str, position: int, reason: str) -> None:
    """Malformed queries, and those that only Spack can answer, are refused with a position."""
    with pytest.raises(ConstraintSyntaxError) as caught:
        parse(text)
    assert caught.value.reason.startswith(reason)
    assert (caught.value.position, caught.value.text) == (position, text)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("hdf5@1.2,,3", "unexpected ',' at character 10: hdf5@1.2,,3"),
        ("hdf5\t\n;", "unexpected ';' at character 7: hdf5  ;"),
        ("hdf5@", "unexpected end, a version is missing at character 6: hdf5@"),
    ],
)
def test_error_message(text: str, line: str) -> None:
    """The message counts from 1, quotes the text in one line, and marks the position by a caret."""
    with pytest.raises(ConstraintSyntaxError) as caught:
        parse(text)
    first, second = str(caught.value).split("\n")
    assert first == line
    assert second == " " * (len(line) - len(text) + caught.value.position) + "^"


@pytest.mark.parametrize(
    ("target", "name", "is_meant"),
    [
        ("neoverse_v1", "aarch64", True),
        ("m1", "aarch64", True),
        ("aarch64", "aarch64", True),
        ("neoverse_v1", "neoverse_v1", True),
        ("x86_64_v3", "aarch64", False),
        ("x86_64_v3", "x86_64_v2", False),  # no family
        ("unknown", "unknown", True),
        ("unknown", "aarch64", False),
        (None, "aarch64", False),
    ],
)
def test_name_of_a_family_is_all_its_targets(target: str | None, name: str, is_meant: bool) -> None:
    """Where a person chooses; in a query, only on request."""
    assert is_target(target, name) is is_meant
    if target is not None:
        constraint = with_families(parse(f"target={name}"))
        assert constraint.targets is not None
        assert constraint.targets.includes(target) is is_meant
