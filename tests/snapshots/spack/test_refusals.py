"""What is no query, or one that Spack alone can answer, is refused with its place."""

import pytest

from snapshots.errors import ConstraintSyntaxError
from snapshots.spack.query import parse


@pytest.mark.parametrize(
    ("text", "position", "reason"),
    [
        ("", 0, "unexpected end, a spec is missing"),
        ("  ", 2, "unexpected end, a spec is missing"),
        ("hdf5@1.2,,3", 9, "unexpected ','"),
        ("hdf5@", 5, "unexpected end, a version is missing"),
        ("hdf5@+mpi", 5, "unexpected '+'"),
        ("hdf5@1.2 @1.3", 9, "a version (commas make a list) is given twice"),
        ("hdf5@1.4:1.2", 5, "1.4:1.2 is an empty range"),
        ("hdf5:1.2", 4, "unexpected ':'"),
        ("hdf5 zlib", 5, "a second spec begins (a dependency is ^zlib)"),
        ("hdf5 ^zlib mpich", 11, "a second spec begins (a dependency is ^mpich)"),
        ("+mpi hdf5", 5, "a name stands first in a spec"),
        ("hdf5 key = value", 5, "a second spec begins"),
        ("hdf5 +", 6, "unexpected end, the name of a variant is missing"),
        ("hdf5 +-mpi", 6, "unexpected '-'"),
        ("hdf5 +mpi ~mpi", 10, "the variant mpi is given twice"),
        ("hdf5 +mpi mpi=true", 10, "the variant mpi is given twice"),
        ("hdf5 +mpi=true", 9, "unexpected '='"),
        ("hdf5/", 5, "unexpected end, a hash is missing"),
        ("hdf5/a /b", 7, "a hash is given twice"),
        ("/" + "a" * 33, 1, "a hash has at most 32 characters"),
        ("hdf5 build_type=", 16, "unexpected end, a value is missing"),
        ("hdf5 build_type= Release", 16, "unexpected ' '"),
        ("hdf5 build_type=Release%gcc", 23, "unexpected '%' (put a space before it, or"),
        ("hdf5 languages=c+bootstrap", 16, "unexpected '+' (put a space before it, or"),
        ('hdf5 weird="a"b"', 14, "a second spec begins"),
        ("hdf5 weird='it's'", 15, "a second spec begins"),
        ("hdf5 ^mpi=mpich='a'", 15, "mpich is the package that provides it, and has no value"),
        ("hdf5 cflags=-O2 -g", 15, "several flags need quotes around them"),
        ("hdf5 cflags='-O2", 12, "a quote that is never closed"),
        ("hdf5 fabrics=ofi,,tcp", 13, "an empty value"),
        ("hdf5 fabrics=ofi,*", 13, "'*' stands alone"),
        ("hdf5 fabrics:=*", 14, "'*' stands alone"),
        ("builtin.hdf5 namespace=x", 13, "a namespace is given twice"),
        ("hdf5 namespace='a b'", 15, "this is no namespace"),
        ("hdf5 arch=linux-zen2", 10, "arch is PLATFORM-OS-TARGET"),
        ("hdf5 arch=linux-centos7-zen2 target=zen3", 29, "target= is given twice"),
        ("hdf5 os=a os=b", 10, "os= is given twice"),
        ("hdf5 é", 5, "unexpected 'é'"),
        ("hdf5 when=+mpi", 5, "not supported: conditions (when=)"),
        ("hdf5@git.feature/x", 5, "not supported: git versions"),
        ("hdf5@0123456789abcdef0123456789abcdef01234567", 5, "not supported: git versions"),
        ("hdf5 %gcc@git.master", 10, "not supported: git versions"),
        ("hdf5 %", 6, "unexpected end, a spec is missing"),
        ("hdf5 %gcc cmake", 10, "a second spec begins (a dependency is ^cmake)"),
        ("hdf5 %[virtuals=c gcc", 18, "unexpected 'g'"),
        ("hdf5 %[virtuals=c", 17, "unexpected end, ']' is missing"),
        ("hdf5 ^[deptypes=compile] mpich", 16, "'compile' is no type: build, link, run, test"),
        ("hdf5 ^[color=red] mpich", 7, "an edge has deptypes=, virtuals= and no other"),
        ("hdf5 ^[when=+mpi] mpich", 7, "unexpected 'w'"),
        ("hdf5 ^[when='+mpi'] mpich", 7, "not supported: conditions (when=)"),
        ("hdf5 ^mpi=mpich,openmpi", 15, "unexpected ','"),
        ("hdf5 os=,a", 8, "this is no os"),
        ("hdf5 target=zen2,", 12, "this is no target"),
        ("hdf5 target:=zen2", 11, "only '=' goes with an architecture"),
        ("hdf5 os==centos7", 7, "only '=' goes with an architecture"),
        ("hdf5 target=nowhere:", 12, "'nowhere' is no target that ranges can have"),
        ("hdf5 arch=linux-centos7-:x", 10, "'x' is no target that ranges can have"),
        ("hdf5 arch=linux-fe-zen2", 10, "not supported: names that depend on the host"),
        ("hdf5 target=zen2:fe", 12, "not supported: names that depend on the host"),
        ("hdf5 os=default_os", 8, "not supported: names that depend on the host"),
        ("hdf5 target=fe", 12, "not supported: names that depend on the host"),
        ("./hdf5.yaml", 0, "not supported: specs in files"),
        ("hdf5 ^/tmp/zlib.json", 6, "not supported: specs in files"),
    ],
)
def test_refused(text: str, position: int, reason: str) -> None:
    """What is malformed, and what Spack alone knows, is refused with the reason and the place."""
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
def test_message(text: str, line: str) -> None:
    """The message counts from 1, quotes the text in one line, and has a caret under the place."""
    with pytest.raises(ConstraintSyntaxError) as caught:
        parse(text)
    first, second = str(caught.value).split("\n")
    assert first == line
    assert second == " " * (len(line) - len(text) + caught.value.position) + "^"


@pytest.mark.parametrize("before", [0, 20, 500])
@pytest.mark.parametrize("after", [0, 20, 500])
def test_a_long_text_is_quoted_around_the_place(before: int, after: int) -> None:
    """However long the text is, the message stays short and its caret finds the character."""
    text = "a" * before + "!" + "b" * after
    with pytest.raises(ConstraintSyntaxError) as caught:
        parse(text)
    line, caret = str(caught.value).split("\n")
    assert line[caret.index("^")] == "!"
    assert len(line) < 140
    assert ("..." in line) == (before + after > 60)
