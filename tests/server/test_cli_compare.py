"""``cachelog diff`` and ``cachelog notes``: what changed between two revisions."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import orjson
import pytest

from snapshots.catalog.library import Library
from snapshots.changes.diff import Comparison, SpecChangeKind
from tests.schema.worlds import World
from tests.server.commands import Done, ask, good

BASE, HEAD = "develop-2025-01-05", "develop"
SIGNS = "+-="
PAIRS = "~"
TITLE = re.compile(
    r"develop-2025-01-05 of 2025-01-05 \(([0-9a-f]{12})\)"
    r" -> develop of 2025-01-20 \(([0-9a-f]{12})\)"
)


def compared(world: World) -> Comparison:
    """Return what the library says changed."""
    base, head = (world.states[number].info.digest for number in (0, 5))
    return Library(world.catalog).compare(base, head)


# -- diff


def printed_hashes(done: Done) -> list[str]:
    """Return the first hash of each line of a spec, as far as it is printed."""
    return re.findall(r"^  [-+=~] ([a-z2-7]+)", done.out, re.MULTILINE)


def test_a_difference_hash_by_hash(world: World) -> None:
    """Package by package: + added, - removed, ~ took a place, = has other facts, which follow.

    ``--stat`` prints the lines of packages and the totals alone.
    """
    done = good(world, "diff", BASE, HEAD)
    match = TITLE.fullmatch(done.lines[0])
    assert match is not None
    assert list(match.groups()) == [world.states[number].info.digest[:12] for number in (0, 5)]
    assert {line[2] for line in done.lines if re.match("  [^ ]", line)} == {*SIGNS, PAIRS}
    comparison = compared(world)
    hashes = [change.hash for change in comparison.specs]
    assert all(any(whole.startswith(text) for whole in hashes) for text in printed_hashes(done))
    heads = [line.partition(":")[0] for line in done.lines[1:-1] if not line.startswith(" ")]
    assert heads == sorted({change.name for change in comparison.specs})
    kinds = Counter(change.kind for change in comparison.specs)
    totals = ", ".join(f"{kinds[kind]} {kind.value}" for kind in SpecChangeKind)
    assert done.lines[-1].startswith(totals)
    fields = re.findall("^      (\\w+): ", done.out, re.MULTILINE)
    assert fields == [
        it.path for change in comparison.specs for it in comparison.field_changes(change)
    ]
    totals_alone = [line for line in done.lines if not line.startswith(" ")]
    assert good(world, "diff", BASE, HEAD, "--stat").lines == totals_alone


def test_a_difference_of_a_stack(world: World) -> None:
    """Only its changes; of a spec whose successor is not in it, what replaced it."""
    done = good(world, "diff", BASE, HEAD, "--stack", "hep")
    assert 0 < len(printed_hashes(done)) < len(compared(world).specs)
    assert re.search("^      replaced by [a-z2-7]{7}$", done.out, re.MULTILINE)


def test_a_difference_as_json(world: World) -> None:
    """The hashes by kind, with the fields of those that changed, and all that the notes have."""
    comparison = compared(world)
    facts = good(world, "diff", BASE, HEAD, "--json").json
    for kind in SpecChangeKind:
        listed = [(it["hash"], it["name"]) for it in facts["specs"][kind.value]]
        assert listed == [(it.hash, it.name) for it in comparison.specs if it.kind is kind]
    changed = [it for it in comparison.specs if it.kind is SpecChangeKind.CHANGED]
    assert [it["fields"] for it in facts["specs"]["changed"]] == [
        msgspec.to_builtins(comparison.field_changes(it)) for it in changed
    ]
    assert facts["stack_changes"] == orjson.loads(msgspec.json.encode(list(comparison.stacks)))
    document = notes(world)
    assert [it["hash"] for it in document.pop("specs")["added"]] == [
        it["hash"] for it in facts["specs"]["added"]
    ]
    assert document.items() <= facts.items()


@pytest.mark.parametrize(
    ("refs", "options", "code"),
    [
        ((BASE, HEAD), ("--stat",), 1),
        ((BASE, HEAD), ("--json",), 1),
        ((HEAD, HEAD), (), 0),
        ((HEAD, "develop~0"), ("--json",), 0),
    ],
    ids=str,
)
def test_the_exit_code_tells_whether_anything_differs(
    world: World, refs: tuple[str, str], options: tuple[str, ...], code: int
) -> None:
    """With ``--exit-code``; without it a difference is a success."""
    assert ask(world, "diff", *refs, *options, "--exit-code").code == code
    assert ask(world, "diff", *refs, *options).code == 0


@pytest.mark.parametrize("arguments", [("nope", HEAD), (BASE, HEAD, "--package", "nope")])
def test_an_error_is_no_difference(world: World, arguments: tuple[str, ...]) -> None:
    """With ``--exit-code`` it leaves with 2, without with 1."""
    done = ask(world, "diff", *arguments, "--exit-code")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("cachelog: ")
    assert ask(world, "diff", *arguments) == done._replace(code=1)


@pytest.mark.parametrize("command", ["diff", "notes", "why"])
def test_dots_name_both_revisions(world: World, command: str) -> None:
    """Two as in git, or three as in the addresses of pages; each side may be any ref."""
    expected = good(world, command, BASE, HEAD).out
    for dots in ("..", "..."):
        assert good(world, command, f"{BASE}{dots}{HEAD}").out == expected
    assert good(world, command, f"{HEAD}~1..{HEAD}@2025-01-20").out


# -- notes


def test_release_notes_for_people(world: World) -> None:
    """Markdown, to the terminal or into a file, the same to the byte."""
    done = good(world, "notes", BASE, HEAD)
    assert done.out.startswith("# Spack build cache: develop-2025-01-05 → develop\n")
    assert done.out == good(world, "notes", BASE, HEAD, "--format", "markdown").out
    assert all(f"- `{change.name}`" in done.out for change in compared(world).packages)
    page = good(world, "notes", BASE, HEAD, "--format", "html").out
    assert page.startswith("<!DOCTYPE html>\n")
    assert page.endswith("</html>\n")


def test_release_notes_into_a_file(world: World, tmp_path: Path) -> None:
    """What would have been printed, in UTF-8; the earlier content is replaced."""
    file = tmp_path / "notes"
    file.write_text("old" * 9_999)
    assert good(world, "notes", BASE, HEAD, "--output", file).out == ""
    assert file.read_text("utf-8") == good(world, "notes", BASE, HEAD).out
    done = ask(world, "notes", BASE, HEAD, "-o", file / "notes.md")
    assert (done.code, done.out) == (1, "")
    reason = "cannot be written: Not a directory"
    assert done.err == f"cachelog: {file / 'notes.md'}: {reason}\n"


def notes(world: World, *options: object) -> Any:
    """Return the notes as JSON."""
    return good(world, "notes", BASE, HEAD, "--format", "json", *options).json


def test_release_notes_of_a_query(world: World) -> None:
    """Only the specs in scope are listed and counted; the causes add up."""
    query = "hdf5 target=x86_64_v3"
    facts = notes(world, "--matching", query)
    assert facts["only"] == {"package": None, "stack": None, "matching": query}
    assert {it["name"] for entries in facts["packages"].values() for it in entries} == {"hdf5"}
    causes = sum(cause["num_specs"] for cause in facts["causes"])
    assert causes == facts["summary"]["specs_rebuilt"] + facts["summary"]["specs_replaced"]


def test_release_notes_by_a_template(world: World, tmp_path: Path) -> None:
    """A file, or one of cachelog's; an error in it is one line."""
    file = tmp_path / "own.md"
    file.write_text("{{ base.tag }}: {{ summary.specs_added }}\n{{ nothing }}")
    done = ask(world, "notes", BASE, HEAD, "--template", file)
    assert (done.code, done.err) == (1, f"cachelog: {file}, line 2: 'nothing' is undefined\n")
    file.write_text("{{ base.tag }}: {{ summary.specs_added }}\n")
    document = notes(world)
    added = document["summary"]["specs_added"]
    assert good(world, "notes", BASE, HEAD, "--template", file).out == f"{BASE}: {added}\n"
    assert document["highlights"][0] in good(world, "notes", BASE, HEAD, "--template", "chat").out
