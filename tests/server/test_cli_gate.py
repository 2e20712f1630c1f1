"""``cachelog gate``: the verdict in each format, and what the command leaves with."""

import re
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest
from junitparser import JUnitXml

from server.terminal.printing.verdicts import FEW, GateReport, annotations, junit
from snapshots.changes.rules.rules import (
    Breach,
    Breaches,
    Forbid,
    Forbidden,
    RuleLevel,
    RuleResult,
    Verdict,
)
from tests.schema.comparisons.test_causes import BASE, HEAD, published
from tests.schema.worlds import World
from tests.server.commands import Done, cachelog, succeed
from tests.snapshots.factories import a_revision

REFS = ("develop~1", "develop")
RULES = """\
[[rule]]
name = "No package goes"
forbid = "package-removed"

[[rule]]
name = "No spec goes"
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
    """Return a catalog of base and of head."""
    return published(tmp_path_factory.mktemp("catalog"), BASE, HEAD)


@pytest.fixture(scope="module")
def rules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file of rules."""
    return written(tmp_path_factory.mktemp("rules"), RULES)


def written(folder: Path, text: str) -> Path:
    """Write a file of rules."""
    file = folder / "rules.toml"
    file.write_text(text, "utf-8")
    return file


def gate(world: World, *arguments: object) -> Done:
    """Run the command on the catalog."""
    return cachelog("gate", *arguments, catalog=world.catalog.location)


def packages_gone() -> list[str]:
    """Return the packages that head has no spec of."""
    names = [{spec.name for spec in side.specs.values()} for side in (BASE, HEAD)]
    return sorted(names[0] - names[1])


def specs_gone() -> set[str]:
    """Return the hashes that head has not."""
    return BASE.specs.keys() - HEAD.specs.keys()


def test_text(world: World, rules: Path) -> None:
    """The result of each rule, its breaches below it, and the number of broken rules at the end."""
    done = gate(world, *REFS, "--rules", rules)
    assert (done.code, done.err) == (1, "")
    gone = packages_gone()
    assert gone
    heads = [line for line in done.lines[1:-1] if not line.startswith(" ")]
    noun = "package" if len(gone) == 1 else "packages"
    assert heads == [
        f"error: No package goes: {len(gone)} {noun} removed",
        f"warning: No spec goes: {len(specs_gone())} specs removed",
        f"passed: Something may change: {len(specs_gone())} specs removed "
        f"({100 * len(specs_gone()) / len(BASE.specs):.2f} % of {len(BASE.specs)}), at most 100 %",
        "passed: There is an app: 1 spec found",
    ]
    start = done.lines.index(heads[0]) + 1
    assert [line.split()[0] for line in done.lines[start : start + len(gone)]] == gone
    assert done.lines[-1] == "1 error and 1 warning in 4 rules"
    assert gate(world, "..".join(REFS), "--rules", rules).out == done.out


def test_json(world: World, rules: Path) -> None:
    """Every breach with the hashes of its specs."""
    facts = gate(world, *REFS, "--rules", rules, "--format", "json").json
    assert facts["passed"] is False
    assert facts["rules_file"] == str(rules)
    assert [facts[side]["tag"] for side in ("base", "head")] == ["develop", "develop"]
    assert [(it["name"], it["passed"], it["line"]) for it in facts["rules"]] == [
        ("No package goes", False, 1),
        ("No spec goes", False, 5),
        ("Something may change", True, 11),
        ("There is an app", True, 16),
    ]
    first, second, *_ = facts["rules"]
    assert [it["package"] for it in first["breaches"]] == packages_gone()
    assert second["num_breaches"] == len(second["breaches"])
    assert {spec for it in second["breaches"] for spec in it["specs"]} == specs_gone()


def test_warnings_alone_leave_with_0(world: World, tmp_path: Path) -> None:
    """So do rules that all hold."""
    text = RULES.split("[[rule]]")[2:]
    file = written(tmp_path, "[[rule]]".join(["", *text]))
    done = gate(world, *REFS, "--rules", file)
    assert (done.code, done.lines[-1]) == (0, "1 warning in 3 rules")
    file = written(tmp_path, "[[rule]]".join(["", *text[1:]]))
    done = gate(world, *REFS, "--rules", file)
    assert (done.code, done.lines[-1]) == (0, "2 rules passed")


def test_one_revision_alone(world: World, tmp_path: Path) -> None:
    """Rules that need no base judge it; others are a fault that names the rule's line."""
    file = written(tmp_path, RULES[RULES.index('[[rule]]\nname = "There') :])
    done = gate(world, "develop", "--rules", file)
    assert (done.code, done.err) == (0, "")
    assert " -> " not in done.lines[0]
    facts = gate(world, "develop", "--rules", file, "--format", "json").json
    assert facts["base"] is None
    done = gate(world, "develop", "--rules", written(tmp_path, RULES))
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        f"cachelog: {file}, line 1, forbid: rule 'No package goes': needs a base to compare with\n"
    )


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[[rule]]\nname = 'a'\nforbit = 1", "line 3, forbit: is not a key of a rule"),
        (
            "[[rule]]\nname = 'a'\nforbid = 'spec-removed'\nstack = 'hpe'",
            "line 1, stack: rule 'a': neither revision has 'hpe'; nearest: hep",
        ),
        (
            "[[rule]]\nname = 'a'\nforbid = 'spec-removed'\nmatching = 'apq'",
            "line 1, matching: rule 'a': no package 'apq'",
        ),
    ],
)
def test_what_cannot_be_judged_leaves_with_2(
    world: World, tmp_path: Path, text: str, fault: str
) -> None:
    """A bad file, and a rule that the revisions cannot answer: no result is printed."""
    done = gate(world, *REFS, "--rules", written(tmp_path, text))
    assert (done.code, done.out) == (2, "")
    assert fault in done.err


def test_all_errors_of_a_file_are_printed(world: World, tmp_path: Path) -> None:
    """With file, line and key each."""
    file = written(tmp_path, "[[rule]]\nname = 'a'\nforbid = 'x'\nlevel = 'y'")
    first, second = gate(world, *REFS, "--rules", file).err.splitlines()
    assert first.startswith(f"cachelog: {file}, line 3, forbid: ")
    assert second.startswith(f"          {file}, line 4, level: ")


def test_the_schema_is_printed(rules: Path) -> None:
    """Without a catalog; the file of this test is one that it accepts."""
    import tomllib

    done = succeed("gate", "--schema")
    jsonschema.validate(tomllib.loads(rules.read_text("utf-8")), done.json)


JUNIT_ATTRIBUTES = {
    "testsuites": {"name", "tests", "failures", "errors", "time"},
    "testsuite": {"name", "tests", "failures", "errors", "time", "timestamp"},
    "properties": set(),
    "property": {"name", "value"},
    "testcase": {"name", "classname", "time"},
    "failure": {"message", "type"},
    "system-out": set(),
}
"""What the schemas of JUnit that are about have in common, of what is used."""


def test_junit(world: World, rules: Path) -> None:
    """A test case for each rule; a broken warning is no failure."""
    done = gate(world, *REFS, "--rules", rules, "--format", "junit")
    assert done.code == 1
    (suite,) = JUnitXml.fromstring(done.out.encode())
    assert (suite.tests, suite.failures, suite.errors) == (4, 1, 0)
    cases = list(suite)
    assert [it.name for it in cases] == re.findall(r'^name = "(.*)"$', RULES, re.MULTILINE)
    assert {it.classname for it in cases} == {str(rules)}
    assert [len(it.result) for it in cases] == [1, 0, 0, 0]
    (failure,) = cases[0].result
    assert failure.type == "forbid"
    assert failure.text.startswith(f"{rules}:1: ")
    assert packages_gone()[0] in failure.text
    assert cases[1].system_out.startswith("warning: ")
    for element in ElementTree.fromstring(done.out).iter():  # noqa: S314 - our own
        assert {*element.keys()} <= JUNIT_ATTRIBUTES[element.tag]


ODD = "a\x00b\x1b[1m ]]> <&\"'% ::error::,: \u202e\ud800\n\r\x85"


def odd_report(level: RuleLevel = RuleLevel.ERROR) -> GateReport:
    """Return a verdict of which every text is odd."""
    rule = Forbid(name=ODD, level=level, forbid=Forbidden.SPEC_REMOVED, line=7)
    breaches = Breaches(FEW + 5, lambda number: Breach(f"{number} {ODD}", ODD))
    result = RuleResult(rule, f"found {ODD}", breaches)
    return GateReport(ODD, None, a_revision("develop", 1), Verdict((result,)))


@pytest.mark.parametrize("level", RuleLevel)
def test_junit_of_odd_texts_is_xml(level: RuleLevel) -> None:
    """What XML cannot hold is written out, and all of it is read back."""
    (suite,) = JUnitXml.fromstring(junit(odd_report(level)).encode())
    (case,) = suite
    output = case.result[0].text if level is RuleLevel.ERROR else case.system_out
    for text in (case.name, case.classname, output):
        assert "a\\x00b\\x1b[1m ]]> <&\"'% ::error::,: \\u202e\\ud800\\n" in text.replace(
            "\\x0a", "\\n"
        )
    assert output.count("\n") == FEW + 1
    assert output.endswith("... and 5 more")


def test_annotations(world: World, rules: Path) -> None:
    """A command for each broken rule, at its line of the file."""
    done = gate(world, *REFS, "--rules", rules, "--format", "github")
    assert done.code == 1
    first, second, summary = done.lines
    prefix = f"::error file={rules},line=1,title=No package goes::"
    assert first.startswith(prefix)
    message, *breaches = first.removeprefix(prefix).split("%0A")
    assert message.endswith("removed")
    assert [it.split()[0] for it in breaches] == packages_gone()
    assert second.startswith(f"::warning file={rules},line=5,title=No spec goes::")
    assert summary == "1 error and 1 warning in 4 rules"


def test_annotations_of_odd_texts_are_one_line_each() -> None:
    """No text of a rule or package can begin a command of its own, or end one early."""
    first, _ = annotations(odd_report())
    assert len(first.splitlines()) == 1
    command = re.fullmatch(r"::error file=([^,:]*),line=7,title=([^,:]*)::(.*)", first)
    assert command is not None
    assert "%3A%3Aerror%3A%3A%2C%3A" in command[2]
    assert "%25" in command[3]
    assert command[3].count("%0A") == FEW + 1
