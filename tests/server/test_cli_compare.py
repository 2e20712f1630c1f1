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


def told_hashes(done: Done) -> list[str]:
    """Return the first hash of each line of a spec, as far as it is printed."""
    return re.findall(r"^  [-+=~] ([a-z2-7]+)", done.out, re.MULTILINE)


def test_a_difference_is_told_hash_by_hash(world: World) -> None:
    """Package by package: + added, - removed, ~ took a place, = has other facts, which follow."""
    done = good(world, "diff", BASE, HEAD)
    match = TITLE.fullmatch(done.lines[0])
    assert match is not None
    assert list(match.groups()) == [world.states[number].info.digest[:12] for number in (0, 5)]
    assert {line[2] for line in done.lines if re.match("  [^ ]", line)} == {*SIGNS, PAIRS}
    comparison = compared(world)
    hashes = [change.hash for change in comparison.specs]
    assert all(any(whole.startswith(text) for whole in hashes) for text in told_hashes(done))
    heads = [line.partition(":")[0] for line in done.lines[1:-1] if not line.startswith(" ")]
    assert heads == sorted({change.name for change in comparison.specs})
    kinds = Counter(change.kind for change in comparison.specs)
    totals = ", ".join(f"{kinds[kind]} {kind.value}" for kind in SpecChangeKind)
    assert done.lines[-1].startswith(totals)
    fields = re.findall("^      (\\w+): ", done.out, re.MULTILINE)
    assert fields == [
        it.path for change in comparison.specs for it in comparison.field_changes(change)
    ]


@pytest.mark.parametrize(
    ("option", "name", "nearest"), [("--package", "hdf5", "hdf"), ("--stack", "hep", "hop")]
)
def test_a_difference_of_a_part(world: World, option: str, name: str, nearest: str) -> None:
    """Only its changes; a name that neither revision has is a fault with a hint."""
    part = told_hashes(good(world, "diff", BASE, HEAD, option, name))
    assert part
    assert len(part) < len(told_hashes(good(world, "diff", BASE, HEAD)))
    done = ask(world, "diff", BASE, HEAD, option, nearest)
    fault = f"cachelog: {option}: neither revision has {nearest!r}; nearest: {name}\n"
    assert (done.code, done.out, done.err) == (1, "", fault)


def test_a_difference_in_numbers(world: World) -> None:
    """One line a package, and the totals."""
    whole, stat = good(world, "diff", BASE, HEAD), good(world, "diff", BASE, HEAD, "--stat")
    assert stat.lines == [line for line in whole.lines if not line.startswith(" ")]


def assert_holds_notes(facts: dict[str, Any], notes: dict[str, Any]) -> None:
    """Hold that a difference has all that notes have; of hashes it says more."""
    hashes = notes.pop("specs")
    assert notes.items() <= facts.items()
    for kind, inside in hashes.items():
        for less, more in zip(inside, facts["specs"][kind], strict=True):
            assert less.items() <= more.items()


def test_a_difference_as_json(world: World) -> None:
    """The hashes by kind, with the fields of those that changed, beside the notes."""
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
    assert_holds_notes(facts, told(world))


def test_a_narrowed_difference_is_narrow_in_all_its_parts(world: World) -> None:
    """The specs and the notes are those in scope."""
    options = ("--package", "hdf5", "--stack", "hep")
    facts = good(world, "diff", BASE, HEAD, "--json", *options).json
    assert facts["only"] == {"package": "hdf5", "stack": "hep", "matching": None}
    assert {it["name"] for inside in facts["specs"].values() for it in inside} == {"hdf5"}
    for kind, inside in facts["specs"].items():
        assert facts["summary"][f"specs_{kind}"] == len(inside)
    assert_holds_notes(facts, told(world, *options))


@pytest.mark.parametrize(
    ("refs", "options", "code"),
    [
        ((BASE, HEAD), (), 1),
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
    """Where that is asked for; without it a difference is a success."""
    assert ask(world, "diff", *refs, *options, "--exit-code").code == code
    assert ask(world, "diff", *refs, *options).code == 0


@pytest.mark.parametrize("arguments", [("nope", HEAD), (BASE, HEAD, "--package", "nope")])
def test_an_error_is_no_difference(world: World, arguments: tuple[str, ...]) -> None:
    """Who asks by the exit code can tell the two apart; for others an error leaves with 1."""
    done = ask(world, "diff", *arguments, "--exit-code")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("cachelog: ")
    assert ask(world, "diff", *arguments) == done._replace(code=1)


@pytest.mark.parametrize("command", ["diff", "notes", "why"])
def test_dots_name_both_revisions(world: World, command: str) -> None:
    """Two as in git, or three as in the addresses of pages; each side may be any ref."""
    for dots in ("..", "..."):
        done = good(world, command, f"{BASE}{dots}{HEAD}")
        assert done.out == good(world, command, BASE, HEAD).out
    assert good(world, command, f"{HEAD}~1..{HEAD}@2025-01-20").out


def test_the_exit_code_counts_only_what_is_shown(world: World) -> None:
    """A package that is the same on both sides makes no difference."""
    base, head = (world.states[number].info.digest for number in (4, 5))
    changes = Library(world.catalog).compare(base, head)
    differing = {change.name for change in changes.specs}
    for name in {spec.name for spec in world.newest.specs}:
        done = ask(world, "diff", "develop~1", HEAD, "--package", name, "--exit-code")
        assert done.code == (name in differing)


@pytest.mark.parametrize("command", ["diff", "notes"])
@pytest.mark.parametrize(
    ("refs", "said"),
    [
        (("devlop", HEAD), "no revision 'devlop': there is no tag devlop; nearest: develop"),
        ((BASE, "develop~5"), "no revision 'develop~5': only 1 revision stands before develop"),
        ((BASE, "~"), "ref: '~' is none of TAG, TAG~N, TAG@DATE or a digest"),
        ((BASE, "develop@tomorrow"), "'tomorrow' is no date"),
        (("0" * 64, HEAD), "no digest begins so"),
    ],
    ids=str,
)
def test_a_ref_of_nothing_is_a_fault(
    world: World, command: str, refs: tuple[str, str], said: str
) -> None:
    """One line that names the nearest refs."""
    done = ask(world, command, *refs)
    assert (done.code, done.out) == (1, "")
    assert said in done.err
    assert done.err.count("\n") == 1


# -- notes


def test_release_notes_for_people(world: World) -> None:
    """Markdown, to the terminal or into a file, the same to the byte."""
    done = good(world, "notes", BASE, HEAD)
    assert done.out.startswith("# Spack build cache: develop-2025-01-05 → develop\n")
    assert done.out == good(world, "notes", BASE, HEAD, "--format", "markdown").out
    assert all(f"- `{change.name}`" in done.out for change in compared(world).packages)


def test_release_notes_for_programs(world: World) -> None:
    """JSON with the same packages."""
    listed = {it["name"] for entries in told(world)["packages"].values() for it in entries}
    assert listed == {change.name for change in compared(world).packages}


@pytest.mark.parametrize("form", ["markdown", "html", "json"])
@pytest.mark.parametrize("option", ["--output", "-o"])
def test_release_notes_into_a_file(world: World, tmp_path: Path, form: str, option: str) -> None:
    """What would have been printed, in UTF-8; what was there before is gone."""
    file = tmp_path / "notes"
    file.write_text("old" * 9_999)
    done = good(world, "notes", BASE, HEAD, "--format", form, option, file)
    assert done.out == ""
    assert file.read_text("utf-8") == good(world, "notes", BASE, HEAD, "--format", form).out


def test_a_file_that_cannot_be_written_is_a_fault(world: World, tmp_path: Path) -> None:
    """The file and the reason are told."""
    file = tmp_path / "nothing" / "notes.md"
    done = ask(world, "notes", BASE, HEAD, "-o", file)
    assert (done.code, done.out) == (1, "")
    assert done.err == f"cachelog: {file}: cannot be written: No such file or directory\n"


def test_release_notes_as_a_page(world: World) -> None:
    """HTML that needs nothing else."""
    page = good(world, "notes", BASE, HEAD, "--format", "html").out
    assert page.startswith("<!DOCTYPE html>\n")
    assert page.endswith("</html>\n")


def told(world: World, *options: object) -> Any:
    """Return the notes for programs."""
    return good(world, "notes", BASE, HEAD, "--format", "json", *options).json


def test_release_notes_of_a_query(world: World) -> None:
    """Only the specs in scope are told and counted; the causes still add up."""
    query = "hdf5 target=x86_64_v3"
    facts = told(world, "--matching", query)
    assert facts["only"] == {"package": None, "stack": None, "matching": query}
    assert {it["name"] for entries in facts["packages"].values() for it in entries} == {"hdf5"}
    causes = sum(cause["num_specs"] for cause in facts["causes"])
    assert causes == facts["summary"]["specs_rebuilt"] + facts["summary"]["specs_replaced"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--package", "hdf"), "--package: neither revision has 'hdf'; nearest: hdf5"),
        (("--stack", "hop"), "--stack: neither revision has 'hop'; nearest: hep"),
        (("--matching", "hdf5 ++"), "the name of a variant is missing at character 8"),
        (("--template", "nothing.md"), "nothing.md: No such file or directory"),
    ],
)
def test_a_scope_or_template_of_nothing_is_a_fault(
    world: World, options: tuple[str, ...], said: str
) -> None:
    """With the nearest names, or the place in the query."""
    done = ask(world, "notes", BASE, HEAD, *options)
    assert (done.code, done.out) == (1, "")
    assert said in done.err


def test_release_notes_by_a_template(world: World, tmp_path: Path) -> None:
    """One's own, or one that comes along; a fault in it is told in one line."""
    file = tmp_path / "own.md"
    file.write_text("{{ base.tag }}: {{ summary.specs_added }}\n{{ nothing }}")
    done = ask(world, "notes", BASE, HEAD, "--template", file)
    assert (done.code, done.err) == (1, f"cachelog: {file}, line 2: 'nothing' is undefined\n")
    file.write_text("{{ base.tag }}: {{ summary.specs_added }}\n")
    added = told(world)["summary"]["specs_added"]
    assert good(world, "notes", BASE, HEAD, "--template", file).out == f"{BASE}: {added}\n"
    for name in ("chat", "github-release"):
        text = good(world, "notes", BASE, HEAD, "--template", name).out
        assert told(world)["highlights"][0] in text


def test_a_template_leaves_no_choice_of_format(world: World) -> None:
    """It is wrong usage to ask for both."""
    done = ask(world, "notes", BASE, HEAD, "--template", "chat", "--format", "html")
    assert (done.code, done.out) == (2, "")
    assert "--template says how notes are written" in done.err
