"""The canonical spelling of each fact, and the short form of a spec."""

from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from snapshots.models import Spec
from snapshots.spack.notation import (
    canonical_compiler,
    canonical_variant,
    canonical_variants,
    checked_variants,
    flags_of,
    short_form,
    variant_of,
)
from snapshots.spack.query import parse
from tests.snapshots.factories import a_spec
from tests.snapshots.records import has_facts

VARIANTS = st.one_of(
    st.builds(
        "{}{}{}{}{}".format,
        st.sampled_from(["amdgpu_target", "patches", "cflags", "build_type"]),
        st.sampled_from(["=", ":=", "==", ":=="]),
        st.sampled_from(["", '"', "'"]),
        st.text("ab, \"'=:", max_size=6),
        st.sampled_from(["", '"', "'"]),
    ),
    st.sampled_from(["+mpi", "~mpi", "-mpi", "", "+", "mpi"]),
)


@pytest.mark.parametrize(
    ("text", "compiler"),
    [
        ("gcc@=13.2.0", "gcc@13.2.0"),
        ("gcc@13.2.0", "gcc@13.2.0"),
        ("apple-clang@=15.0.0", "apple-clang@15.0.0"),
        ("gcc", "gcc"),
        ("none", None),
        ("", None),
    ],
)
def test_compiler(text: str, compiler: str | None) -> None:
    """Both spellings of a compiler become one, and a placeholder becomes None."""
    assert canonical_compiler(text) == compiler
    if compiler is not None:
        assert canonical_compiler(compiler) == compiler


@pytest.mark.parametrize(
    ("text", "variant"),
    [
        ("+mpi", "+mpi"),
        ("~mpi", "~mpi"),
        ("-mpi", "~mpi"),
        ("amdgpu_target:=gfx90a", "amdgpu_target=gfx90a"),
        ("amdgpu_target==gfx90a", "amdgpu_target==gfx90a"),
        ("amdgpu_target:==gfx90a", "amdgpu_target==gfx90a"),
        ("patches:=b231fcc,26090f4", "patches=26090f4,b231fcc"),
        (f"patches=b231fcc{'0' * 57},26090f4{'0' * 57}", "patches=26090f4,b231fcc"),
        (f"patches:=26090f4{'0' * 57}", "patches=26090f4"),
        ("languages='c,c++,fortran'", "languages=c,c++,fortran"),
        ("build_type='Release'", "build_type=Release"),
        ("cflags='-O2 -g'", 'cflags="-O2 -g"'),
        ('cflags=="-O2"', "cflags==-O2"),
        ("ldflags=-Wl,-z,now,-a", "ldflags=-Wl,-z,now,-a"),
        ("note='a, b'", 'note="a, b"'),
        ("note='=a'", 'note="=a"'),
        ("note=:=a", "note=:=a"),
        ("cuda_arch=", "cuda_arch="),
        ("no variant", "no variant"),
    ],
)
def test_variant(text: str, variant: str) -> None:
    """Each variant has one canonical spelling; values are sorted if their order has no meaning."""
    assert canonical_variant(text) == variant


@given(VARIANTS)
def test_canonical_spelling_is_stable(text: str) -> None:
    """A canonical spelling is its own canonical spelling."""
    canonical = canonical_variant(text)
    assert canonical_variant(canonical) == canonical


@given(st.lists(VARIANTS, max_size=5), st.randoms())
def test_variants_are_a_set(texts: list[str], random: Random) -> None:
    """The order of variants, and a variant that is listed twice, have no meaning."""
    again = [*texts, *texts[:1]]
    random.shuffle(again)
    variants = canonical_variants(texts)
    assert canonical_variants(again) == variants
    assert list(variants) == sorted(set(variants))


@pytest.mark.parametrize(
    ("texts", "reason"),
    [
        (["+mpi", ""], "a variant is empty"),
        (["+mpi", "a=\x00"], "invisible characters"),
        ([f"a={'x' * 9_000}"], "is longer than 8,192 characters"),
        ([f"+a{number}" for number in range(1_001)], "there are 1,001 of them, more than 1,000"),
    ],
    ids=str,
)
def test_invalid_variants_are_refused(texts: list[str], reason: str) -> None:
    """Empty, long and invisible variants are refused, and so is a long list of them."""
    with pytest.raises(ValueError, match=reason):
        checked_variants(texts)


# -- short forms of specs


ARCHITECTURE = "linux-ubuntu24.04-x86_64_v3"


@pytest.mark.parametrize(
    ("variants", "compiler", "short"),
    [
        ((), None, f"hdf5@1.14.5 arch={ARCHITECTURE}"),
        (
            ("+mpi", "build_type=Release", "~cxx"),
            "gcc@13.2.0",
            f"hdf5@1.14.5+mpi~cxx build_type=Release arch={ARCHITECTURE} %gcc@13.2.0",
        ),
        (('cflags="-O2 -g"',), None, f"hdf5@1.14.5 cflags='-O2 -g' arch={ARCHITECTURE}"),
        (('note="it\'s"',), None, f'hdf5@1.14.5 note="it\'s" arch={ARCHITECTURE}'),
        (('cflags="-DX="a b""',), None, f"hdf5@1.14.5 cflags='-DX=\"a b\"' arch={ARCHITECTURE}"),
        (('cflags=="-O2 -g"',), None, f"hdf5@1.14.5 cflags=='-O2 -g' arch={ARCHITECTURE}"),
        (('note="it\'s \\q"',), None, f'hdf5@1.14.5 note="it\'s \\q" arch={ARCHITECTURE}'),
        (("note=",), None, f"hdf5@1.14.5 note='' arch={ARCHITECTURE}"),
        (("", "+mpi"), None, f"hdf5@1.14.5+mpi arch={ARCHITECTURE}"),
    ],
)
def test_short_form(variants: Sequence[str], compiler: str | None, short: str) -> None:
    """Switches come first, then values, quoted as in Spack, and the compiler last."""
    assert short_form("hdf5", "1.14.5", variants, ARCHITECTURE, compiler) == short


WORDS = st.from_regex(r"[a-z][a-z0-9_]{0,5}", fullmatch=True)
VALUES = st.text(min_size=1).filter(lambda text: "*" not in text and not text.endswith("\\"))
PARAMETERS = st.dictionaries(
    WORDS.map("v{}".format),
    st.one_of(st.booleans(), VALUES.filter(lambda text: "," not in text), st.lists(WORDS)),
)
FLAGS = st.dictionaries(
    st.sampled_from(["cflags", "ldflags"]),
    st.lists(VALUES.filter(lambda text: text.split() == [text])),
)
RELEASES = st.from_regex(r"[1-9][0-9]?(\.[0-9]{1,2}){0,3}(-?(rc|alpha)[0-9]?)?", fullmatch=True)
VERSIONS = st.one_of(
    RELEASES,
    st.sampled_from(["develop", "main", "1.1.1w", "6.5-20250705"]),
    RELEASES.map("git.main={}".format),
)


@st.composite
def specs(draw: st.DrawFn) -> Spec:
    """Draw a spec as an index states it."""
    parameters = draw(PARAMETERS) | draw(FLAGS)
    texts = [variant_of(name, value) for name, value in parameters.items()]
    variants = canonical_variants(text for text in texts if text is not None)
    compiler = draw(st.sampled_from([None, "gcc@13.2.0", "clang@19.1"]))
    return a_spec(version=draw(VERSIONS), variants=variants, compiler=compiler)


@given(specs())
def test_short_form_is_a_query_that_matches_its_spec(spec: Spec) -> None:
    """The short form is a query that the spec itself matches, for any values of its facts."""
    query = parse(spec.short)
    assert has_facts(replace(query, direct=()), spec)
    assert [edge.spec.is_compiler(spec.compiler or "") for edge in query.direct] == (
        [True] if spec.compiler else []
    )


# -- parameters of specs, spelled as Spack spells variants


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("mpi", True, "+mpi"),
        ("cxx", False, "~cxx"),
        ("build_system", "cmake", "build_system=cmake"),
        ("amdgpu_target", ["gfx90a", "gfx908"], "amdgpu_target=gfx908,gfx90a"),
        ("patches", ["b231fcc4d5cf", "26090f418891"], "patches=26090f4,b231fcc"),
        ("cflags", ["-O2", "-g"], "cflags='-O2 -g'"),
        ("cppflags", ['-DX="1"'], "cppflags='-DX=\"1\"'"),
        ("ldflags", [], None),
        ("languages", ["fortran", "c", "c++"], "languages='c,c++,fortran'"),
        ("motd", "it's", 'motd="it\'s"'),
        ("motd", "", "motd=''"),
        ("cxxstd", 17, "cxxstd=17"),
        ("nothing", None, None),
        ("none", [], None),
    ],
)
def test_variant_of_a_parameter(name: str, value: object, expected: str | None) -> None:
    """A parameter is spelled as Spack, and so the cache pages, spell a variant."""
    assert variant_of(name, value) == expected


@pytest.mark.parametrize("value", [{}, [[]], [None], [{"a": 1}]])
def test_refused_parameter_value(value: object) -> None:
    """Objects, and lists of anything but plain values, are not the value of a variant."""
    with pytest.raises(ValueError, match="is not one of true, false"):
        variant_of("mpi", value)


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        ("", []),
        (" -O2\t-g ", ["-O2", "-g"]),
        ('-DX="a b" -g', ['-DX="a b"', "-g"]),
        ('-DX=\'a "b\' "-L/my libs"', ["-DX='a \"b'", '"-L/my libs"']),
        ('-DX="a -g', ['-DX="a', "-g"]),
        ("-DIT'S -g", ["-DIT'S", "-g"]),
    ],
)
def test_flags(text: str, flags: list[str]) -> None:
    """Flags are separated outside of quotes; an unpaired quote is an ordinary character."""
    assert flags_of(text) == flags
