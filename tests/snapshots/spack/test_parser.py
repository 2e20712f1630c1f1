"""Spack's spec query language: what texts say."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots.errors import ConstraintSyntaxError
from snapshots.spack.query import (
    DependencyConstraint,
    SpecConstraint,
    TargetRange,
    TargetSet,
    VariantConstraint,
    parse,
    query_of,
)
from snapshots.spack.versions import parse_versions

ALL_TYPES = "hdf5 ^[deptypes=build,link,run,test virtuals=mpi] mpich"


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("hdf5", "hdf5"),
        (" hdf5 ", "hdf5"),
        ("*", "*"),
        ("+mpi %gcc", "* +mpi %gcc"),
        ("builtin.hdf5", "hdf5 namespace=builtin"),
        ("builtin.mock.hdf5@1.2", "hdf5@1.2 namespace=builtin.mock"),
        ("namespace=builtin hdf5=1", "* hdf5=1 namespace=builtin"),
        ("hdf5@1.12: %gcc@13 target=zen2", "hdf5@1.12: %gcc@13 target=zen2"),
        ("hdf5 @ 1.2 , 1.4:1.6", "hdf5@1.2,1.4:1.6"),
        ("hdf5@1.2:+mpi", "hdf5@1.2: +mpi"),
        ("hdf5@1.2:target=zen2", "hdf5@1.2: target=zen2"),
        ("hdf5@=1.14.5", "hdf5@=1.14.5"),
        ("hdf5@develop", "hdf5@develop"),
        ("hdf5+mpi~cxx -shared", "hdf5 ~cxx +mpi ~shared"),
        ("hdf5 + mpi ~ cxx - shared", "hdf5 ~cxx +mpi ~shared"),
        ("hdf5 mpi=true cxx=FALSE shared:=True", "hdf5 ~cxx +mpi +shared"),
        ("hdf5 fabrics=verbs,ofi,verbs", "hdf5 fabrics=ofi,verbs"),
        ("hdf5 fabrics:='ofi, verbs'", "hdf5 fabrics:=ofi,verbs"),
        ("gcc languages=c,c++ build=c++", "gcc build='c++' languages='c,c++'"),
        ("hdf5 fabrics=*", "hdf5 fabrics=*"),
        ('hdf5 cflags="-g -O2"', "hdf5 cflags='-O2 -g'"),
        ("hdf5 cflags='-O2'", "hdf5 cflags=-O2"),
        ("hdf5 cflags='-O2 -g' cflags=-O2", "hdf5 cflags='-O2 -g'"),
        ("hdf5 cflags:='-O2' ldflags==-lm", "hdf5 cflags=-O2 ldflags=-lm"),
        ('hdf5 cflags=* cflags="-g"', "hdf5 cflags='* -g'"),
        ("hdf5 cflags=''", "hdf5"),
        ("hdf5 cflags='-O2'+mpi%gcc", "hdf5 cflags=-O2 +mpi %gcc"),
        (r"""hdf5 note='-DX=\"a\" "b"'""", r"""hdf5 note='-DX=\"a\" "b"'"""),
        (r"""hdf5 note="it's \"a\" \n" """, r"""hdf5 note="it's \"a\" \n" """.strip()),
        ('hdf5 note="a%b"', "hdf5 note='a%b'"),
        ("hdf5 note=''", "hdf5 note=''"),
        ("hdf5 os=ubuntu24.04", "hdf5 os=ubuntu24.04"),
        ("hdf5 operating_system=b,a platform=*", "hdf5 platform=* os=b,a"),
        ("hdf5 target=zen3,zen2", "hdf5 target=zen2,zen3"),
        ("hdf5 target=zen3:,zen2,:zen", "hdf5 target=zen2,:zen,zen3:"),
        ("hdf5 arch=linux-*-zen2:zen4", "hdf5 platform=linux os=* target=zen2:zen4"),
        (
            "hdf5 arch=linux-ubuntu24.04-x86_64_v3",
            "hdf5 platform=linux os=ubuntu24.04 target=x86_64_v3",
        ),
        ("arch=*", "* target=*"),
        ("hdf5 arch=zen2:,m1", "hdf5 target=m1,zen2:"),
        ("hdf5 architecture=linux-None-zen2", "hdf5 platform=linux target=zen2"),
        ("/abcdefg", "* /abcdefg"),
        ("hdf5/abc123", "hdf5 /abc123"),
        ("% gcc @13:", "* %gcc@13:"),
        ("hdf5/abc%apple-clang@=16.0.0", "hdf5 /abc %apple-clang@=16.0.0"),
        ("hdf5 ^zlib@1.3 %clang ^mpich+pmi", "hdf5 ^mpich +pmi ^zlib@1.3 %llvm"),
        ("hdf5 ^/abc ^ +shared", "hdf5 ^* +shared ^* /abc"),
        ("^zlib", "* ^zlib"),
        ("^", "* ^*"),
        ("hdf5 ^ ^zlib", "hdf5 ^* ^zlib"),
        ("hdf5 %%gcc %cmake@3 +doc", "hdf5 %cmake@3 +doc %gcc"),
        ("hdf5 %gcc %gcc", "hdf5 %gcc"),
        ("hdf5 %@13", "hdf5 %*@13"),
        (
            "hdf5 %[deptypes=build,link virtuals='c'] gcc",
            "hdf5 %[deptypes=build,link virtuals=c] gcc",
        ),
        ("hdf5 %cxx,c=clang@18", "hdf5 %[virtuals=c,cxx] llvm@18"),
        ("hdf5 ^[deptypes=all] mpi=mpich", ALL_TYPES),
        ("hdf5 ^[virtuals=mpi]", "hdf5 ^[virtuals=mpi] *"),
        ("hdf5 ^ mpi=openmpi", "hdf5 ^[virtuals=mpi] openmpi"),
        ("hdf5 ^clang", "hdf5 ^clang"),
        ("hdf5 ++mpi ~~cxx --pic", "hdf5 ~~cxx ++mpi ~~pic"),
        ("hdf5 fabrics==ofi languages:==c", "hdf5 fabrics==ofi languages:==c"),
        ("hdf5==1.2", "* hdf5==1.2"),
        ("hdf5@git.main=1.14+mpi", "hdf5@git.main=1.14 +mpi"),
        ("hdf5 cflags='-O2' -mpi", "hdf5 cflags=-O2 ~mpi"),
        ("hdf5 ^* build_type=Release", "hdf5 ^* build_type=Release"),
        (
            "hdf5@1.14.5%gcc@13.2.0+mpi~cxx build_type=Release arch=linux-ubuntu24.04-x86_64_v3",
            "hdf5@1.14.5 %gcc@13.2.0 build_type=Release ~cxx +mpi"
            " platform=linux os=ubuntu24.04 target=x86_64_v3",
        ),
        ("hdf5\n  +mpi\n  ^zlib\n", "hdf5 +mpi ^zlib"),
        ("hdf5 dev_path=/home/me/hdf5", "hdf5 dev_path=/home/me/hdf5"),
    ],
)
def test_parse(text: str, canonical: str) -> None:
    """One query can be written in many ways, and they all have one canonical text."""
    constraint = parse(text)
    assert str(constraint) == canonical
    assert parse(canonical) == constraint


def test_records() -> None:
    """The parts of a query are in the fields that are named for them."""
    text = "builtin.hdf5@1.12: +mpi fabrics:=ofi arch=linux-centos7-zen2: /abc %c=gcc@13 ^zlib~pic"
    gcc = SpecConstraint(name="gcc", versions=parse_versions("13"))
    zlib = SpecConstraint(name="zlib", variants=(VariantConstraint("pic", False),))
    assert parse(text) == SpecConstraint(
        name="hdf5",
        namespace="builtin",
        versions=parse_versions("1.12:"),
        variants=(
            VariantConstraint("fabrics", ("ofi",), exact=True),
            VariantConstraint("mpi", True),
        ),
        platform="linux",
        operating_system="centos7",
        targets=TargetSet(ranges=(TargetRange("zen2", ""),)),
        hash_prefix="abc",
        direct=(DependencyConstraint(gcc, virtuals=("c",)),),
        transitive=(DependencyConstraint(zlib),),
    )


def test_what_follows_a_dependency_belongs_to_it() -> None:
    """What stands behind ``%`` or ``^`` is asked of that dependency, up to the next of them."""
    constraint = parse("hdf5 %gcc +binutils ^zlib@1.3 %clang@19 ~pic os=centos7")
    assert constraint.variants == ()
    assert constraint.direct == (DependencyConstraint(parse("gcc +binutils")),)
    assert constraint.transitive == (
        DependencyConstraint(parse("zlib@1.3 %clang@19 ~pic os=centos7")),
    )
    assert constraint.transitive[0].spec.direct == (
        DependencyConstraint(parse("llvm@19 ~pic os=centos7")),
    )


WORDS = st.from_regex(r"[a-z0-9_][a-z0-9_-]{0,5}", fullmatch=True)
# Spack has no way to end a quoted value with a backslash where another quote follows.
QUOTABLE = st.text(min_size=1).filter(
    lambda text: text.strip() and "*" not in text and not text.endswith("\\")
)
VERSIONS = st.sampled_from(["1.2", "=1.2.3", ":1.4,2:", "develop", "1.2:1.4", "3:"])
HASHES = st.text("abcdef234567", min_size=1, max_size=32)
VARIANTS = st.dictionaries(
    WORDS.map("v{}".format) | st.sampled_from(["cflags", "patches"]),
    st.one_of(
        st.booleans(),
        QUOTABLE.filter(lambda text: "," not in text),
        st.lists(WORDS, min_size=1).map(",".join),
    ),
)
EDGES = st.builds(
    "{}{}{}".format,
    st.sampled_from(["%", "^"]),
    st.sampled_from(["", "[virtuals=c,cxx] ", "[deptypes=build virtuals=mpi]", "mpi="]),
    WORDS.filter(lambda word: word != "when"),
)


@st.composite
def queries(draw: st.DrawFn) -> str:
    """Draw a query that is well formed, with any characters in its quoted values."""
    parts = [draw(st.sampled_from(["", "*", "hdf5", "builtin.hdf5"]))]
    for name, value in draw(VARIANTS).items():
        if isinstance(value, bool):
            parts.append(f"{draw(st.sampled_from(['+', '~', '++', '--']))}{name}")
        else:
            text = value.replace("'", r"\'")
            parts.append(f"{name}{draw(st.sampled_from(['=', ':=', '==']))}'{text}'")
    for template, values in (
        ("@{}", VERSIONS),
        ("os={}", st.lists(WORDS.map("os{}".format), min_size=1).map(",".join)),
        ("target={}", st.sampled_from(["zen2", "zen2:", ":zen4,m1", "*"])),
        ("/{}", HASHES),
        ("{} +shared", EDGES),
        ("{} /abc", EDGES),
        ("%{}", WORDS),
        ("^* /{}", HASHES),
    ):
        if draw(st.booleans()):
            parts.append(template.format(draw(values)))
    return " ".join(parts).strip() or "*"


@given(queries())
def test_str_parses_to_an_equal_constraint(text: str) -> None:
    """What ``str`` writes is read as the same query, and written the same again."""
    constraint = parse(text)
    canonical = str(constraint)
    assert parse(canonical) == constraint
    assert str(parse(canonical)) == canonical


FRAGMENTS = st.one_of(
    st.sampled_from("@%^/+~-=:*,.[]'\"\\ \n"),
    st.sampled_from(["hdf5", "1.2", "gcc", ":=", "==", "os", "target=zen2", "arch=", "cflags="]),
    st.text(max_size=2),
)


@given(st.lists(FRAGMENTS).map("".join))
def test_any_text_parses_or_is_refused(text: str) -> None:
    """No text ends in another error than ConstraintSyntaxError, with a place in the text."""
    error = refusal(text)
    if error is None:
        assert parse(str(parse(text))) == parse(text)
    else:
        assert 0 <= error.position <= len(text)
        assert str(error).count("\n") == 1


def refusal(text: str) -> ConstraintSyntaxError | None:
    """Return the error that the text is refused with, None where it is a query."""
    try:
        parse(text)
    except ConstraintSyntaxError as error:
        return error
    return None


@pytest.mark.parametrize(
    ("words", "query"),
    [
        ((), "*"),
        (("hdf5", "+mpi", "%gcc"), "hdf5 +mpi %gcc"),
        (("hdf5", "cflags=-O2 -g"), "hdf5 cflags='-O2 -g'"),
        (("hdf5", "cflags=-O2"), "hdf5 cflags=-O2"),
        (("weird=it's",), 'weird="it\'s"'),
        (('weird="it',), "weird='\"it'"),
        (("target=zen2 %gcc@13",), "target=zen2 %gcc@13"),
        (("hdf5 cflags=-O2 -g",), "hdf5 cflags=-O2 -g"),
        (("foo=",), "foo="),
    ],
)
def test_words_of_a_command_line(words: tuple[str, ...], query: str) -> None:
    """A value whose quotes the shell took away gets them again, where it cannot be read without."""
    assert query_of(words) == query
