"""docs/gates.md: its tables are those of the code, and its file of rules judges the demo."""

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
    """Return the rows of the table that begins so: the first cell, and the others."""
    table = TEXT[TEXT.index(head) :].split("\n\n")[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]
    return {first: others for first, *others in rows}


def test_every_key_is_described_where_it_goes() -> None:
    """In the order of the schema, with the kinds of rules that may have it."""
    rows = rows_of("| Key | With |")
    assert [*rows] == [f"`{key}`" for key in KEYS]
    for key in KEYS:
        expected = {kind for kind, keys in KEYS_OF.items() if key in keys} - {key}
        expected = {"all"} if expected == {*KEYS_OF} else expected
        named = {*re.findall(r"\b(forbid|require|limit|cover|all)\b", rows[f"`{key}`"][0])}
        assert named == expected, key


@pytest.mark.parametrize(
    ("head", "names"),
    [
        ("| Value | Broken by |", [it.value for it in Forbidden]),
        ("| Value | Counts |", [*MEASURES]),
    ],
)
def test_every_value_is_defined(head: str, names: list[str]) -> None:
    """Each of them once."""
    assert sorted(re.findall(r"`([a-z-]+)`", " ".join(rows_of(head)))) == sorted(names)


def test_the_file_in_the_text_judges_the_demo(demo_catalog: Path, tmp_path: Path) -> None:
    """With the command in the text, and every name of the JSON that it leads to is described."""
    (command,) = re.findall(r"^```console\n\$ cachelog (gate .*)\n```$", TEXT, re.M)
    file = tmp_path / "rules.toml"
    file.write_text(EXAMPLE, "utf-8")
    words = [str(file) if it == "rules.toml" else it for it in command.split()]
    done = cachelog(*words, catalog=demo_catalog)
    assert done.code in (0, 1)
    assert done.err == ""
    names = [it.name for it in parse_rules(EXAMPLE, "rules.toml")]
    printed = [line.split(": ")[1] for line in done.lines[1:-1] if not line.startswith(" ")]
    assert printed == names
    facts = cachelog(*words, "--format", "json", catalog=demo_catalog).json
    assert facts["passed"] is (done.code == 0)
    assert facts.keys() | facts["rules"][0].keys() <= {*re.findall(r"`([a-z_]+)`", TEXT)}


def test_the_faults_in_the_text_are_those_of_the_code() -> None:
    """Of a file with these mistakes."""
    bad = EXAMPLE.replace("package-removed", "packages-removed").replace("5 %", "5 GiB")
    with pytest.raises(RulesError) as caught:
        parse_rules(bad, "rules.toml")
    shown = re.findall(r"rules\.toml, line \d+, .*", TEXT)
    faults = str(caught.value).split("\n")
    assert len(shown) == len(faults)
    for line, whole in zip(shown, faults, strict=True):
        assert whole.startswith(line.removesuffix(" ..."))
