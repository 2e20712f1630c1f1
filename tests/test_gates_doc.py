"""docs/gates.md: its tables match the code, and its file of rules judges the demo."""

import re
from pathlib import Path

import pytest

from snapshots.changes.rules.measures import MEASURES
from snapshots.changes.rules.rule_files import parse_rules
from snapshots.changes.rules.rules import KEYS, KEYS_OF, Forbidden
from snapshots.errors import RulesError
from tests.server.commands import cachelog

TEXT = (Path(__file__).parents[1] / "docs" / "gates.md").read_text("utf-8")
(EXAMPLE,) = re.findall(r"```toml\n(.+?)```", TEXT, re.S)


def rows_of(head: str) -> dict[str, list[str]]:
    """Return the rows of the table with this header: the first cell, and the others."""
    table = TEXT[TEXT.index(head) :].split("\n\n")[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]
    return {first: others for first, *others in rows}


def test_keys_are_documented_with_their_kinds() -> None:
    """In the order of the schema, with the kinds of rules that allow them."""
    rows = rows_of("| Key | With |")
    assert [*rows] == [f"`{key}`" for key in KEYS]
    for key in KEYS:
        expected = {kind for kind, keys in KEYS_OF.items() if key in keys} - {key}
        expected = {"all"} if expected == {*KEYS_OF} else expected
        kinds = {*re.findall(r"\b(forbid|require|limit|cover|all)\b", rows[f"`{key}`"][0])}
        assert kinds == expected, key


@pytest.mark.parametrize(
    ("head", "names"),
    [
        ("| Value | Broken by |", [member.value for member in Forbidden]),
        ("| Value | Counts |", [*MEASURES]),
    ],
)
def test_values_are_documented_once(head: str, names: list[str]) -> None:
    """Each is described once."""
    assert sorted(re.findall(r"`([a-z-]+)`", " ".join(rows_of(head)))) == sorted(names)


def test_example_of_rules_judges_the_demo(demo_catalog: Path, tmp_path: Path) -> None:
    """The documented command judges the demo; all names in its JSON are described."""
    (command,) = re.findall(r"^```console\n\$ cachelog (gate .*)\n```$", TEXT, re.M)
    file = tmp_path / "rules.toml"
    file.write_text(EXAMPLE, "utf-8")
    words = [str(file) if word == "rules.toml" else word for word in command.split()]
    result = cachelog(*words, catalog=demo_catalog)
    assert result.code in (0, 1)
    assert result.err == ""
    names = [rule.name for rule in parse_rules(EXAMPLE, "rules.toml")]
    printed = [line.split(": ")[1] for line in result.lines[1:-1] if not line.startswith(" ")]
    assert printed == names
    report = cachelog(*words, "--format", "json", catalog=demo_catalog).json
    assert report["hasPassed"] is (result.code == 0)
    assert report.keys() | report["rules"][0].keys() <= {*re.findall(r"`([A-Za-z_]+)`", TEXT)}


def test_documented_errors_occur() -> None:
    """A file with these mistakes has them."""
    bad = EXAMPLE.replace("package-removed", "packages-removed").replace("5 %", "5 GiB")
    with pytest.raises(RulesError) as error_info:
        parse_rules(bad, "rules.toml")
    documented = re.findall(r"rules\.toml, line \d+, .*", TEXT)
    errors = str(error_info.value).split("\n")
    assert len(documented) == len(errors)
    for line, error in zip(documented, errors, strict=True):
        assert error.startswith(line.removesuffix(" ..."))
