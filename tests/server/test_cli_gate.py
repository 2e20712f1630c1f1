"""``cachelog gate``: the verdict in each format, and the exit code."""

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest
from junitparser import JUnitXml

from server.terminal.printing.verdicts import GateReport, annotations, junit
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
from snapshots.texts import counted
from tests.schema.comparisons.test_causes import BASE, HEAD, published
from tests.schema.worlds import World
from tests.server.commands import CommandResult, cachelog, fail, succeed, succeed_in
from tests.snapshots.factories import a_revision

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
    assert heads == [
        f"error: No package is removed: {counted(len(REMOVED_PACKAGES), 'package')} removed",
        f"warning: No spec is removed: {num_specs} specs removed",
        f"passed: Something may change: {num_specs} specs removed "
        f"({100 * num_specs / len(BASE.specs):.2f} % of {len(BASE.specs)}), at most 100 %",
        "passed: There is an app: 1 spec found",
    ]
    breaches = result.lines[2 : 2 + len(REMOVED_PACKAGES)]
    assert [line.split()[0] for line in breaches] == REMOVED_PACKAGES
    assert result.lines[-1] == "1 error and 1 warning in 4 rules"
    assert gate(world, rules, refs=["..".join(REFS)]).out == result.out


def test_json_lists_the_hashes_of_breaches(world: World, rules: Path) -> None:
    """Each breach contains the hashes of its specs."""
    report = gate(world, rules, "--format", "json").json
    assert report["passed"] is False
    assert report["rules_file"] == str(rules)
    assert [report[side]["tag"] for side in ("base", "head")] == ["develop", "develop"]
    assert [(rule["name"], rule["passed"], rule["line"]) for rule in report["rules"]] == [
        ("No package is removed", False, 1),
        ("No spec is removed", False, 5),
        ("Something may change", True, 11),
        ("There is an app", True, 16),
    ]
    first, second, *_ = report["rules"]
    assert [breach["package"] for breach in first["breaches"]] == REMOVED_PACKAGES
    assert second["num_breaches"] == len(second["breaches"])
    assert {spec for breach in second["breaches"] for spec in breach["specs"]} == REMOVED_SPECS


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


@pytest.mark.parametrize(
    ("text", "errors"),
    [
        ("forbid = 'x'\nlevel = 'y'", ["line 3, forbid: ", "line 4, level: "]),
        (
            "forbid = 'spec-removed'\nstack = 'hpe'",
            ["line 1, stack: rule 'a': neither revision has 'hpe'; nearest: hep"],
        ),
        (
            "forbid = 'spec-removed'\nmatching = 'apq'",
            ["line 1, matching: rule 'a': no package 'apq'"],
        ),
    ],
)
def test_errors_exit_with_2(world: World, rules: Path, text: str, errors: list[str]) -> None:
    """Of the file, and of rules that do not apply to the revisions; no result is printed."""
    rules.write_text(f"[[rule]]\nname = 'a'\n{text}")
    error = fail("gate", *REFS, "--rules", rules, code=2, catalog=world.catalog.location)
    lines = error.removeprefix("cachelog: ").splitlines()
    for line, error in zip(lines, errors, strict=True):
        assert line.strip().startswith(f"{rules}, {error}")


def test_schema_accepts_rules() -> None:
    """It needs no catalog, and accepts the rules of this module."""
    jsonschema.validate(tomllib.loads(RULES), succeed("gate", "--schema").json)


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
    """Each rule is a test case; a broken rule of level warning is no failure."""
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
    for text in (case.name, case.classname, output):
        assert "a\\x00b\\x1b[1m ]]> <&\"'% ::error::,: \\u202e\\ud800\\n" in text.replace(
            "\\x0a", "\\n"
        )
    assert output.count("\n") == FEW + 1
    assert output.endswith("... and 5 more")


def test_annotations_are_commands_of_github(world: World, rules: Path) -> None:
    """One command for each broken rule, at its line of the file."""
    result = gate(world, rules, "--format", "github")
    assert result.code == 1
    first, second, summary = result.lines
    prefix = f"::error file={rules},line=1,title=No package is removed::"
    assert first.startswith(prefix)
    message, *breaches = first.removeprefix(prefix).split("%0A")
    assert message.endswith("removed")
    assert [breach.split()[0] for breach in breaches] == REMOVED_PACKAGES
    assert second.startswith(f"::warning file={rules},line=5,title=No spec is removed::")
    assert summary == "1 error and 1 warning in 4 rules"


def test_annotations_escape_texts() -> None:
    """No text of a rule or package starts another command, or ends one early."""
    first, _ = annotations(odd_report())
    assert len(first.splitlines()) == 1
    command = re.fullmatch(r"::error file=([^,:]*),line=7,title=([^,:]*)::(.*)", first)
    assert command is not None
    assert "%3A%3Aerror%3A%3A%2C%3A" in command[2]
    assert "%25" in command[3]
    assert command[3].count("%0A") == FEW + 1
