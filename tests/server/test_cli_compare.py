"""``cachelog diff`` and ``cachelog notes``: changes between two revisions."""

import re
from collections import Counter
from pathlib import Path

import msgspec
import orjson
import pytest

from snapshots.catalog.library import Library
from snapshots.changes.diff import Comparison, SpecChangeKind
from tests.schema.worlds import World
from tests.server.commands import CommandResult, run_in, succeed_in

BASE, HEAD = "develop-2025-01-05", "develop"


def comparison_of(world: World) -> Comparison:
    """Return the comparison of the two revisions, as computed by the library."""
    base, head = (world.states[number].info for number in (0, 5))
    return Library(world.catalog).compare(base, head)


def printed_hashes(result: CommandResult) -> list[str]:
    """Return the first hash of each line of a spec, as abbreviated as it is printed."""
    return re.findall(r"^  [-+=~] ([a-z2-7]+)", result.out, re.MULTILINE)


def test_diff_lists_specs(world: World) -> None:
    """By package: + added, - removed, ~ replaced, = changed facts, which follow.

    ``--stat`` prints only the lines of packages and the totals.
    """
    result = succeed_in(world, "diff", BASE, HEAD)
    assert {line[2] for line in result.lines if re.match("  [^ ]", line)} == {*"+-=~"}
    comparison = comparison_of(world)
    hashes = [change.hash for change in comparison.specs]
    assert all(any(digest.startswith(text) for digest in hashes) for text in printed_hashes(result))
    heads = [line.partition(":")[0] for line in result.lines[1:-1] if not line.startswith(" ")]
    assert heads == sorted({change.name for change in comparison.specs})
    kinds = Counter(change.kind for change in comparison.specs)
    totals = ", ".join(f"{kinds[kind]} {kind.value}" for kind in SpecChangeKind)
    assert result.lines[-1].startswith(totals)
    fields = re.findall("^      (\\w+): ", result.out, re.MULTILINE)
    assert fields == [
        field_change.path
        for change in comparison.specs
        for field_change in comparison.field_changes(change)
    ]
    totals_alone = [line for line in result.lines if not line.startswith(" ")]
    assert succeed_in(world, "diff", BASE, HEAD, "--stat").lines == totals_alone


def test_scope_restricts_changes(world: World) -> None:
    """Only changes in a stack, or of specs that match a query.

    A spec whose replacement is not in the stack names the replacement.
    """
    result = succeed_in(world, "diff", BASE, HEAD, "--stack", "hep")
    assert 0 < len(printed_hashes(result)) < len(comparison_of(world).specs)
    assert re.search("^      replaced by [a-z2-7]{7}$", result.out, re.MULTILINE)
    query = "hdf5 target=x86_64_v3"
    report = succeed_in(world, "diff", BASE, HEAD, "--matching", query, "--json").json
    assert report["only"] == {"package": None, "stack": None, "matching": query}
    assert {spec["name"] for specs in report["specs"].values() for spec in specs} == {"hdf5"}


def test_diff_json_includes_the_notes(world: World) -> None:
    """The hashes by kind, the fields of those that changed, and all keys of the notes."""
    comparison = comparison_of(world)
    report = succeed_in(world, "diff", BASE, HEAD, "--json").json
    for kind in SpecChangeKind:
        listed = [(spec["hash"], spec["name"]) for spec in report["specs"][kind.value]]
        assert listed == [(spec.hash, spec.name) for spec in comparison.specs if spec.kind is kind]
    changed = [spec for spec in comparison.specs if spec.kind is SpecChangeKind.CHANGED]
    assert [spec["fields"] for spec in report["specs"]["changed"]] == [
        msgspec.to_builtins(comparison.field_changes(spec)) for spec in changed
    ]
    assert report["stack_changes"] == orjson.loads(msgspec.json.encode(list(comparison.stacks)))
    all_notes = succeed_in(world, "notes", BASE, HEAD, "--format", "json").json
    assert [spec["hash"] for spec in all_notes.pop("specs")["added"]] == [
        spec["hash"] for spec in report["specs"]["added"]
    ]
    assert all_notes.items() <= report.items()


@pytest.mark.parametrize(
    ("refs", "options", "code"),
    [((BASE, HEAD), ("--stat",), 1), ((HEAD, "develop~0"), ("--json",), 0)],
    ids=str,
)
def test_differences_exit_with_1(
    world: World, refs: tuple[str, str], options: tuple[str, ...], code: int
) -> None:
    """1 with ``--exit-code``; otherwise 0."""
    assert run_in(world, "diff", *refs, *options, "--exit-code").code == code
    assert run_in(world, "diff", *refs, *options).code == 0


@pytest.mark.parametrize("arguments", [("nope", HEAD), (BASE, HEAD, "--package", "nope")])
def test_errors_exit_with_2(world: World, arguments: tuple[str, ...]) -> None:
    """2 with ``--exit-code``, otherwise 1."""
    result = run_in(world, "diff", *arguments, "--exit-code")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("cachelog: ")
    assert run_in(world, "diff", *arguments) == result._replace(code=1)


@pytest.mark.parametrize("command", ["diff", "notes", "why"])
def test_dots_separate_two_revisions(world: World, command: str) -> None:
    """With two dots as in git, or three as in the URLs of pages; each side is any ref."""
    expected = succeed_in(world, command, BASE, HEAD).out
    for dots in ("..", "..."):
        assert succeed_in(world, command, f"{BASE}{dots}{HEAD}").out == expected
    assert succeed_in(world, command, f"{HEAD}~1..{HEAD}@2025-01-20").out


def test_notes_are_written_to_a_file(world: World, tmp_path: Path) -> None:
    """It contains the text of the standard output, in UTF-8; its folder is created."""
    file = tmp_path / "new" / "notes"
    assert succeed_in(world, "notes", BASE, HEAD, "--output", file).out == ""
    assert file.read_text("utf-8") == succeed_in(world, "notes", BASE, HEAD).out


def test_error_in_a_template_has_its_line(world: World, tmp_path: Path) -> None:
    """It is one line with its position."""
    file = tmp_path / "own.md"
    file.write_text("{{ base.tag }}: {{ summary.specs_added }}\n{{ nothing }}")
    result = run_in(world, "notes", BASE, HEAD, "--template", file)
    assert (result.code, result.err) == (1, f"cachelog: {file}, line 2: 'nothing' is undefined\n")
