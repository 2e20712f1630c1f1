"""``cachelog gate`` and ``import --gate``: the verdict in each format, and the exit code."""

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest
from jsonschema.validators import validator_for
from junitparser import JUnitXml

from server.terminal.printing.verdicts import GateReport, annotations, gatekeeper, junit
from snapshots.catalog.catalog import Catalog
from snapshots.changes.rules.rules import (
    FEW,
    Breach,
    Breaches,
    Forbid,
    Forbidden,
    RuleLevel,
    RuleResult,
    Verdict,
)
from snapshots.errors import RefusedByRules
from snapshots.models import Spec
from snapshots.texts import counted
from tests.schema.comparisons.test_causes import BASE, HEAD, published
from tests.schema.worlds import World
from tests.server.cache_pages import detail, history_of, page, write_page
from tests.server.commands import CommandResult, cachelog, fail, succeed, succeed_in
from tests.snapshots.factories import a_revision, a_snapshot, a_spec, day, hash_of

REFS = ("develop~1", "develop")
RULES = """\
[[rule]]
name = "No package is removed"
forbid = "package-removed"

[[rule]]
name = "No spec is removed"
level = "warning"
forbid = "spec-removed"
except = ["py-*"]

[[rule]]
name = "Something may change"
limit = "specs-removed"
at-most = "100 %"

[[rule]]
name = "There is an app"
require = "app"
"""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Return a catalog of the revisions base and head."""
    return published(tmp_path_factory.mktemp("catalog"), BASE, HEAD)


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    """Return a file of rules."""
    file = tmp_path / "rules.toml"
    file.write_text(RULES, "utf-8")
    return file


def gate(world: World, rules: Path, *options: object, refs: Sequence[str] = REFS) -> CommandResult:
    """Run the command on the catalog."""
    return cachelog("gate", *refs, "--rules", rules, *options, catalog=world.catalog.location)


REMOVED_PACKAGES = sorted(
    {spec.name for spec in BASE.specs.values()} - {spec.name for spec in HEAD.specs.values()}
)
REMOVED_SPECS = BASE.specs.keys() - HEAD.specs.keys()


def test_text_lists_results_and_breaches(world: World, rules: Path) -> None:
    """The result of each rule with its breaches, followed by the number of broken rules."""
    result = gate(world, rules)
    assert (result.code, result.err) == (1, "")
    num_specs = len(REMOVED_SPECS)
    heads = [line for line in result.lines[1:-1] if not line.startswith(" ")]
    share = f"{100 * num_specs / len(BASE.specs):.2f} % of {len(BASE.specs)}"
    assert heads == [
        f"error: No package is removed: {counted(len(REMOVED_PACKAGES), 'package')} removed",
        f"warning: No spec is removed: {num_specs} specs removed",
        f"passed: Something may change: {num_specs} specs removed ({share}), at most 100 %",
        "passed: There is an app: 1 spec found",
    ]
    breaches = result.lines[2 : 2 + len(REMOVED_PACKAGES)]
    assert [line.split()[0] for line in breaches] == REMOVED_PACKAGES
    assert result.lines[-1] == "1 error and 1 warning in 4 rules"
    assert gate(world, rules, refs=["..".join(REFS)]).out == result.out


def test_warnings_exit_with_0(world: World, rules: Path) -> None:
    """So do rules that all pass."""
    for num_dropped, summary in ((1, "1 warning in 3 rules"), (2, "2 rules passed")):
        rules.write_text(RULES.split("\n\n", num_dropped)[-1])
        result = gate(world, rules)
        assert (result.code, result.lines[-1]) == (0, summary)


def test_single_revision_is_judged_without_a_base(world: World, rules: Path) -> None:
    """Rules without a base judge it; the error about any other rule names its line."""
    command = ("gate", "develop", "--rules", rules)
    assert fail(*command, code=2, catalog=world.catalog.location) == (
        f"cachelog: {rules}, line 1, forbid: rule 'No package is removed'"
        ": needs a base to compare with\n"
    )
    rules.write_text(RULES.split("\n\n")[-1])
    assert " -> " not in succeed_in(world, *command).lines[0]
    assert gate(world, rules, "--format", "json", refs=["develop"]).json["base"] is None


def test_errors_exit_with_2(world: World, rules: Path) -> None:
    """Of the file, and of rules that do not apply to the revisions; no result is printed."""
    wrong, hpe = "forbid = 'x'\nlevel = 'y'", "forbid = 'spec-removed'\nstack = 'hpe'"
    unknown = "line 1, stack: rule 'a': neither revision has 'hpe'; nearest: hep"
    for text, errors in ((wrong, ["line 3, forbid: ", "line 4, level: "]), (hpe, [unknown])):
        rules.write_text(f"[[rule]]\nname = 'a'\n{text}")
        error = fail("gate", *REFS, "--rules", rules, code=2, catalog=world.catalog.location)
        lines = error.removeprefix("cachelog: ").splitlines()
        for line, start in zip(lines, errors, strict=True):
            assert line.strip().startswith(f"{rules}, {start}")


def test_schema_accepts_rules() -> None:
    """It needs no catalog, accepts the rules of this module, and no rule without a name."""
    schema = succeed("gate", "--schema").json
    validator = validator_for(schema)(schema)
    assert validator.is_valid(tomllib.loads(RULES))
    assert not validator.is_valid({"rule": [{"forbid": "package-removed"}]})


JUNIT_ATTRIBUTES = {
    "testsuites": {"name", "tests", "failures", "errors", "time"},
    "testsuite": {"name", "tests", "failures", "errors", "time", "timestamp"},
    "properties": set(),
    "property": {"name", "value"},
    "testcase": {"name", "classname", "time"},
    "failure": {"message", "type"},
    "system-out": set(),
}
"""The attributes that all common schemas of JUnit allow."""


def test_junit_has_a_case_per_rule(world: World, rules: Path) -> None:
    """A broken rule of level warning is no failure; annotations have a command for each."""
    result = gate(world, rules, "--format", "junit")
    assert result.code == 1
    (suite,) = JUnitXml.fromstring(result.out.encode())
    assert (suite.tests, suite.failures, suite.errors) == (4, 1, 0)
    cases = list(suite)
    assert [case.name for case in cases] == re.findall(r'^name = "(.*)"$', RULES, re.MULTILINE)
    assert {case.classname for case in cases} == {str(rules)}
    assert [len(case.result) for case in cases] == [1, 0, 0, 0]
    (failure,) = cases[0].result
    assert failure.type == "forbid"
    assert failure.text.startswith(f"{rules}:1: ")
    assert REMOVED_PACKAGES[0] in failure.text
    assert cases[1].system_out.startswith("warning: ")
    for element in ElementTree.fromstring(result.out).iter():  # noqa: S314 - our own
        assert {*element.keys()} <= JUNIT_ATTRIBUTES[element.tag]
    *commands, summary = gate(world, rules, "--format", "github").lines
    assert commands[0].startswith(f"::error file={rules},line=1,title=No package is removed::")
    assert commands[1].startswith(f"::warning file={rules},line=5,title=No spec is removed::")
    assert summary == "1 error and 1 warning in 4 rules"


ODD = "a\x00b\x1b[1m ]]> <&\"'% ::error::,: \u202e\ud800\n\r\x85"


def odd_report(level: RuleLevel = RuleLevel.ERROR) -> GateReport:
    """Return a verdict in which each text contains special characters."""
    rule = Forbid(name=ODD, level=level, forbid=Forbidden.SPEC_REMOVED, line=7)
    breaches = Breaches(range(FEW + 5), lambda number: Breach(f"{number} {ODD}", ODD))
    result = RuleResult(rule, f"found {ODD}", breaches)
    return GateReport(ODD, None, a_revision("develop", 1), Verdict((result,)))


@pytest.mark.parametrize("level", RuleLevel)
def test_junit_escapes_texts(level: RuleLevel) -> None:
    """Characters that XML excludes are escaped, and all others are unchanged."""
    (suite,) = JUnitXml.fromstring(junit(odd_report(level)).encode())
    (case,) = suite
    output = case.result[0].text if level is RuleLevel.ERROR else case.system_out
    escaped = "a\\x00b\\x1b[1m ]]> <&\"'% ::error::,: \\u202e\\ud800\\n"
    for text in (case.name, case.classname, output):
        assert escaped in text.replace("\\x0a", "\\n")
    assert output.count("\n") == FEW + 1
    assert output.endswith("... and 5 more")


def test_annotations_escape_texts() -> None:
    """No text of a rule or package starts another command, or ends one early."""
    first, _ = annotations(odd_report())
    assert len(first.splitlines()) == 1
    command = re.fullmatch(r"::error file=([^,:]*),line=7,title=([^,:]*)::(.*)", first)
    assert command is not None
    assert "%3A%3Aerror%3A%3A%2C%3A" in command[2]
    assert "%25" in command[3]
    assert command[3].count("%0A") == FEW + 1


def import_pages(tmp_path: Path, rules: Path, *packages: str) -> CommandResult:
    """Import pages of packages as the current state of the cache."""
    folder = tmp_path / f"pages of {' '.join(packages)}"
    for package in packages:
        content = page(package, spec_details=[detail(hash_of(package))])
        write_page(folder, content, f"develop/{package}/specs.md")
    return cachelog("import", folder, "--gate", rules, catalog=tmp_path / "catalog")


def test_broken_rules_prevent_publication(tmp_path: Path, rules: Path) -> None:
    """The verdict is printed, and the catalog is unchanged; a revision that passes is published."""
    result = import_pages(tmp_path, rules, "hdf5")  # by the rules without a base
    assert "error: There is an app: no package 'app'" in result.err
    assert "No package is removed" not in result.err
    assert "there is no catalog" in fail("revisions", catalog=tmp_path / "catalog")
    result = import_pages(tmp_path, rules, "hdf5", "app")
    assert (result.code, result.err) == (0, "")
    result = import_pages(tmp_path, rules, "app")
    assert (result.code, result.out) == (1, "")
    assert "\nerror: No package is removed: 1 package removed\n" in result.err
    assert "\n  hdf5 was removed: " in result.err
    assert result.err.endswith(f"cachelog: {rules}: rules are broken, so nothing was published\n")
    assert len(history_of(tmp_path / "catalog").revisions) == 1
    result = import_pages(tmp_path, rules, "hdf5", "app", "zstd")
    assert (result.code, result.err) == (0, "")
    assert len(history_of(tmp_path / "catalog").revisions) == 2


def test_invalid_rules_prevent_the_import(tmp_path: Path, rules: Path) -> None:
    """The file is rejected before anything is imported; a rule that does not apply, by its line."""
    rules.write_text("[[rule]]\nname = 'a'\n", "utf-8")
    error = fail("import", tmp_path / "none", "--gate", rules, catalog=tmp_path / "catalog")
    assert f"{rules}, line 1: the rule asks for nothing" in error
    assert "none" not in error.replace(str(rules), "")
    rules.write_text("[[rule]]\nname = 'a'\nforbid = 'spec-removed'\nstack = 'x'", "utf-8")
    assert import_pages(tmp_path, rules, "app").code == 0
    result = import_pages(tmp_path, rules, "hdf5")
    assert result.code == 1
    assert f"{rules}, line 1, stack: rule 'a': neither revision has 'x'" in result.err


SPECS = [a_spec("a", name="app"), a_spec("b", name="hdf5"), a_spec("c", name="zstd")]


def publish(catalog: Catalog, rules: Path, *revisions: tuple[int, Sequence[Spec]]) -> None:
    """Publish revisions by their days; raises RefusedByRules."""
    snapshots = [a_snapshot(specs, taken_at=day(number)) for number, specs in revisions]
    catalog.publish(snapshots, approve=gatekeeper(str(rules), lambda: ()))


def test_base_is_the_preceding_revision(tmp_path: Path, rules: Path) -> None:
    """Also within one import, and if a revision is inserted; an unchanged one is not judged."""
    catalog = Catalog(str(tmp_path / "catalog"))
    publish(catalog, rules, (0, SPECS), (9, [*SPECS, a_spec("d", name="new")]))
    publish(catalog, rules, (4, [*SPECS, a_spec("e", name="app", version="2")]))
    with pytest.raises(RefusedByRules):
        publish(catalog, rules, (20, SPECS), (21, SPECS[:2]))
    assert [revision.taken_at.day for revision in catalog.history.revisions] == [14, 9, 5]
    rules.write_text('[[rule]]\nname = "b"\nrequire = "nothing"')
    publish(catalog, rules, (30, [*SPECS, a_spec("d", name="new")]))


def test_rebuilt_specs_are_counted_before_publication(tmp_path: Path, rules: Path) -> None:
    """Their reasons need the graphs of contents that no revision names yet."""
    rules.write_text('[[rule]]\nname = "rebuilt"\nlimit = "specs-rebuilt"\nat-most = 1')
    catalog = Catalog(str(tmp_path / "catalog"))
    rebuilt = [a_spec(f"again {spec.name}", name=spec.name) for spec in SPECS]
    publish(catalog, rules, (0, SPECS), (1, [*rebuilt[:1], *SPECS[1:]]))
    with pytest.raises(RefusedByRules):
        publish(catalog, rules, (2, rebuilt))
