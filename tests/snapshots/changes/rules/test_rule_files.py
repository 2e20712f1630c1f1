"""Files of rules: parsed rules, errors with their lines, and the lines of statements."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import UNSET

from snapshots.changes.coverage import CoverageDimension
from snapshots.changes.rules.measures import RuleScope
from snapshots.changes.rules.rule_files import (
    LARGEST_FILE,
    parse_rules,
    read_rules,
)
from snapshots.changes.rules.rules import (
    MAX_RULES_IN_FILE,
    Cover,
    Forbid,
    Forbidden,
    Limit,
    Require,
    RuleLevel,
)
from snapshots.errors import RulesError
from tests.snapshots.sources.buildcache.indexes import node
from tests.snapshots.sources.lockfiles.locks import ZLIB, lock_file

GOOD = """\
# Before publishing.
[[rule]]
name = "Users of e4s lose nothing"
forbid = "package-removed"
stack = "e4s"
except = [
  "py-*",  # ] not the end
]

[[rule]]
name = 'MPI users find HDF5 everywhere'
require = "hdf5+mpi"
for-each = ["target", "compiler-name"]

[[rule]]
name = "No flood"
level = "warning"
limit = "size-removed"
at-most = "20 GiB"
package = "lib*"
matching = "+shared"
"""


def test_valid_file() -> None:
    """Each rule is a record with the line of its header; omitted keys have defaults."""
    first, second, third = parse_rules(GOOD, "rules.toml")
    assert (first.line, second.line, third.line) == (2, 10, 15)
    assert first.name == "Users of e4s lose nothing"
    assert first.level is RuleLevel.ERROR
    assert isinstance(first, Forbid)
    assert (first.forbid, first.for_each) == (Forbidden.PACKAGE_REMOVED, UNSET)
    assert first.scope == RuleScope(stack="e4s", except_=("py-*",))
    assert isinstance(second, Require)
    dimensions = (CoverageDimension.TARGET, CoverageDimension.COMPILER_NAME)
    assert (second.require, second.for_each) == ("hdf5+mpi", dimensions)
    assert isinstance(third, Limit)
    assert third.level is RuleLevel.WARNING
    assert (third.limit, third.at_most) == ("size-removed", "20 GiB")
    assert third.scope == RuleScope(package=("lib*",), matching="+shared")
    assert [item.needs_base for item in (first, second, third)] == [True, True, True]


def rule(text: str) -> str:
    """Return a file with a rule that has a name, and these lines from the third on."""
    return f'[[rule]]\nname = "a"\n{text}'


FAULTS = {
    "": (1, None, "has no rules"),
    "[rule]\nname = 'a'": (1, "rule", "write [[rule]]"),
    "\n[rules]\n": (2, "rules", "is outside of a rule"),
    "[[rule]]\n\nname = ": (3, None, "is not TOML: Invalid value"),
    "[[rule]]\nname = 'a": (2, None, "is not TOML"),
    "x = " + "[" * 9_999: (None, None, "nests too deeply"),
    "[[rule]]\n" + "a." * 100_000 + "a = 1": (2, None, "nests too deeply"),
    "[" + "'a' . " * 100_000 + "a]": (1, None, "nests too deeply"),
    "x = {" + r'"\"" .b. ' * 100_000 + "a = 1}": (1, None, "nests too deeply"),
    "x = " + "9" * 5_000: (1, None, "is not TOML"),
    "[[rule]]\nforbid = 'spec-removed'": (1, "name", "is missing"),
    rule(""): (1, None, "asks for nothing: each rule has exactly one of forbid, require"),
    rule("forbid = 'spec-removed'\nlimit = 'specs-added'\nat-most = 1"): (
        1,
        None,
        "has forbid and limit: each rule has exactly one",
    ),
    rule("forbit = 'spec-removed'"): (3, "forbit", "is not a key of a rule; nearest: forbid"),
    rule("forbid = 'specs-removed'"): (3, "forbid", "'specs-removed' is not one of package-rem"),
    rule("forbid = 'spec-removed'\nfor-each = ['stack']"): (
        4,
        "for-each",
        "is only for forbid = 'coverage-lost' and require",
    ),
    rule("forbid = 'coverage-lost'\nfor-each = ['stacks']"): (
        4,
        "for-each",
        "'stacks' is not one of stack, target, operating-system",
    ),
    rule("forbid = 'coverage-lost'\nfor-each = []"): (4, "for-each", "is not a list of stack"),
    rule("require = 'a'\nfor-each = ['stack', 'stack']"): (4, "for-each", "names something twice"),
    rule("require = 'hdf5@'"): (3, "require", "at character 6"),
    rule("require = '+mpi'"): (3, "require", "names no package"),
    rule("require = 1"): (3, "require", "1 is not in Spack's spec syntax"),
    rule("require = 'a'\npackage = 'b'"): (4, "package", "is not a key of require rules"),
    rule("limit = 'specs-removed'"): (1, "at-most", "is missing: limit needs it"),
    rule("limit = 'specs-removed'\nat-most = '5 GiB'"): (4, "at-most", "'5 GiB' is a size"),
    rule("limit = 'specs-removed'\nat-most = 5.5"): (4, "at-most", "5.5 is not a number (100), "),
    rule("limit = 'specs-removed'\nat-most = true"): (4, "at-most", "a boolean is not a number"),
    rule("cover = ''"): (3, "cover", "'' is not a path"),
    rule("cover = 'none.lock'"): (3, "cover", "none.lock: does not exist"),
    rule("cover = 'a'\nat-least = '101 %'"): (4, "at-least", "'101 %' is not a number"),
    rule("forbid = 'spec-removed'\nstack = ''"): (4, "stack", "'' is not a text of 1 to 200"),
    rule("forbid = 'spec-removed'\nexcept = [\n  'a',\n  3,\n]"): (4, "except", "nor a list of"),
    rule("forbid = 'spec-removed'\n") + rule("forbid = 'spec-removed'"): (
        5,
        "name",
        "another rule is called 'a' as well",
    ),
}


@pytest.mark.parametrize(("text", "expected"), FAULTS.items())
def test_error_of_a_rule(
    text: str, expected: tuple[int | None, str | None, str], tmp_path: Path
) -> None:
    """The error has file, line and key, the problem, and the valid values."""
    line, key, reason = expected
    file = tmp_path / "rules.toml"
    file.write_text(text, "utf-8")
    with pytest.raises(RulesError) as caught:
        read_rules(str(file))
    (error,) = caught.value.errors
    assert (error.location, error.line, error.key) == (str(file), line, key)
    assert reason in error.reason
    assert str(caught.value) == str(error)


@pytest.mark.parametrize(
    ("write", "line", "reason"),
    [
        (lambda _file: None, None, "does not exist"),
        (lambda file: file.mkdir(), None, "is not a file"),
        (lambda file: file.write_bytes(b"\n#\xff"), 2, "is not UTF-8"),
        (lambda file: file.write_bytes(b"#" * (LARGEST_FILE + 1)), None, "more than 1,048,576"),
        (
            lambda file: file.write_text("[[rule]]\n" * (MAX_RULES_IN_FILE + 1)),
            1,
            f"there may be {MAX_RULES_IN_FILE}",
        ),
    ],
)
def test_invalid_file(
    write: Callable[[Path], object], line: int | None, reason: str, tmp_path: Path
) -> None:
    """A file that cannot be parsed is an error of the same form."""
    file = tmp_path / "rules.toml"
    write(file)
    with pytest.raises(RulesError) as caught:
        read_rules(str(file))
    (error,) = caught.value.errors
    assert error.line == line
    assert reason in error.reason


def test_lock_files(tmp_path: Path) -> None:
    """Paths are relative to the file of rules; specs that no cache has are left out."""
    lock = lock_file([node("zlib", ZLIB)], [ZLIB])
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "spack.lock").write_text(json.dumps(lock), "utf-8")
    file = tmp_path / "rules.toml"
    file.write_text(rule("cover = 'site/spack.lock'"), "utf-8")
    (cover,) = read_rules(str(file))
    assert isinstance(cover, Cover)
    assert [(spec.hash, spec.name, spec.is_root) for spec in cover.specs] == [(ZLIB, "zlib", True)]
    assert cover.at_least == "100 %"
    assert cover.cover == "site/spack.lock"
    (tmp_path / "site" / "spack.lock").write_text("{", "utf-8")
    with pytest.raises(RulesError, match=r"rules\.toml, line 3, cover: .*spack\.lock"):
        read_rules(str(file))
