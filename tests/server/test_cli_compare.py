"""``cachelog diff`` and ``cachelog notes``: what changed between two revisions."""

import re
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from snapshots.models import Spec
from tests.schema import naive
from tests.schema.worlds import State, World, known_world
from tests.server.commands import Done, cachelog
from tests.snapshots.changes.oracle import states as oracle
from tests.snapshots.changes.oracle.counterparts import counterparts

BASE, HEAD = "develop-2025-01-05", "develop"
SIGNS = {"+": "added", "-": "removed", "=": "changed"}
PAIRS = "~"
TITLE = re.compile(
    r"develop-2025-01-05 of 2025-01-05 \(([0-9a-f]{12})\)"
    r" -> develop of 2025-01-20 \(([0-9a-f]{12})\)"
)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Return a small catalog whose records are known."""
    return known_world(tmp_path_factory.mktemp("catalog"))


def ask(world: World, *arguments: object) -> Done:
    """Run a command on the catalog."""
    return cachelog(*arguments, catalog=world.catalog.location)


def good(world: World, *arguments: object) -> Done:
    """Run a command that must succeed without a word beside its result."""
    done = ask(world, *arguments)
    assert (done.code, done.err) == (0, "")
    return done


def changes(base: State, head: State) -> list[tuple[str, Spec, Spec]]:
    """Return sign, record before and record after of each hash that differs, by package and hash.

    Where one of the two is not there, both are the other one. Counterparts are not looked for.
    """
    old, new = ({spec.hash: spec for spec in side.specs} for side in (base, head))
    found = [("+", new[it], new[it]) for it in new.keys() - old.keys()]
    found += [("-", old[it], old[it]) for it in old.keys() - new.keys()]
    found += [
        ("=", old[it], new[it])
        for it in old.keys() & new.keys()
        if naive.changed_fields(old[it], new[it])
    ]
    return sorted(found, key=lambda it: (it[2].name, it[2].hash))


# -- diff


def stories(world: World, expected: list[tuple[str, Spec, Spec]]) -> list[tuple[str, Spec, Spec]]:
    """Return the changes with counterparts as one; those whose counterpart is not among them stay.

    What took the place of what is what the walk over records says.
    """
    base, head = (oracle.State(world.states[number].specs) for number in (0, 5))
    inside = {after.hash for _, _, after in expected}
    pairs = {new: old for new, old in counterparts(base, head).items() if new in inside}
    replaced = set(pairs.values())
    found = []
    for sign, before, after in expected:
        if sign == "+" and after.hash in pairs:
            found.append((PAIRS, base.specs[pairs[after.hash]], after))
        elif sign != "-" or before.hash not in replaced:
            found.append((sign, before, after))
    return found


def shown(sign: str, before: Spec, after: Spec) -> str:
    """Return how the line of a change begins."""
    if sign != PAIRS:
        return f"  {sign} {after.hash} {after.short}"
    version = after.version
    if before.version != version:
        version = f"{before.version} → {version}"
    return f"  ~ {before.hash[:7]} → {after.hash[:7]} {after.name}@{version}"


def assert_lines(done: Done, world: World, expected: list[tuple[str, Spec, Spec]]) -> None:
    """Hold that the text of a difference tells just these changes."""
    title, *lines, totals = done.lines
    match = TITLE.fullmatch(title)
    assert match is not None
    digests = [world.states[number].info.digest[:12] for number in (0, 5)]
    assert list(match.groups()) == digests
    told = [line for line in lines if line[:2] == "  " and line[2] in (*SIGNS, PAIRS)]
    inside = stories(world, expected)
    for line, story in zip(told, inside, strict=True):
        assert line.startswith(shown(*story))
    fields = [
        line.strip().split(":")[0] for line in lines if line.startswith("      ") and ": " in line
    ]
    assert fields == [
        field["path"]
        for sign, before, after in inside
        if sign == "="
        for field in naive.changed_fields(before, after)
    ]
    assert totals.startswith(counted(expected))
    heads = [line for line in lines if not line.startswith(" ")]
    names = [name for name, _ in groupby(inside, key=lambda it: it[2].name)]
    assert [head.split(":")[0] for head in heads] == names


def counted(expected: list[tuple[str, Spec, Spec]]) -> str:
    """Return how many of the changes are of which kind."""
    signs = [sign for sign, _, _ in expected]
    return ", ".join(f"{signs.count(sign)} {name}" for sign, name in SIGNS.items())


def test_a_difference_is_told_hash_by_hash(world: World) -> None:
    """Package by package: + added, - removed, ~ took a place, = has other facts, which follow."""
    expected = changes(world.states[0], world.states[5])
    assert {sign for sign, _, _ in stories(world, expected)} == {*SIGNS, PAIRS}
    assert_lines(good(world, "diff", BASE, HEAD), world, expected)


def test_a_difference_of_one_package(world: World) -> None:
    """Only its changes; a name that neither revision has is a fault with a hint."""
    expected = [it for it in changes(world.states[0], world.states[5]) if it[2].name == "hdf5"]
    assert expected
    assert_lines(good(world, "diff", BASE, HEAD, "--package", "hdf5"), world, expected)
    done = ask(world, "diff", BASE, HEAD, "--package", "hdf")
    assert (done.code, done.out) == (1, "")
    assert done.err == "cachelog: --package: neither revision has 'hdf'; nearest: hdf5\n"


def test_a_difference_of_one_stack(world: World) -> None:
    """The specs that the stack has on either side."""
    expected = [
        it
        for it in changes(world.states[0], world.states[5])
        if "hep" in it[1].stacks or "hep" in it[2].stacks
    ]
    assert expected
    assert_lines(good(world, "diff", BASE, HEAD, "--stack", "hep"), world, expected)
    done = ask(world, "diff", BASE, HEAD, "--stack", "hop")
    assert (done.code, done.err) == (
        1,
        "cachelog: --stack: neither revision has 'hop'; nearest: hep\n",
    )


def test_a_difference_in_numbers(world: World) -> None:
    """One line a package, and the totals."""
    whole, stat = good(world, "diff", BASE, HEAD), good(world, "diff", BASE, HEAD, "--stat")
    assert stat.lines == [line for line in whole.lines if not line.startswith(" ")]


def test_a_difference_as_json(world: World) -> None:
    """The exact hashes by kind, with the fields of those that changed, and both revisions."""
    expected = changes(world.states[0], world.states[5])
    facts = good(world, "diff", BASE, HEAD, "--json").json
    for sign, kind in SIGNS.items():
        told = [(it["hash"], it["name"]) for it in facts["specs"][kind]]
        assert told == [(after.hash, after.name) for it, _, after in expected if it == sign]
    by_hash = {after.hash: (before, after) for _, before, after in expected}
    for change in facts["specs"]["changed"]:
        assert change["fields"] == naive.changed_fields(*by_hash[change["hash"]])
    assert facts["base"]["digest"] == world.states[0].info.digest
    assert facts["head"]["digest"] == world.states[5].info.digest
    assert facts["summary"]["specs_added"] == len(facts["specs"]["added"])
    assert {*packages_of(facts)} == {after.name for _, _, after in expected}
    assert facts["left_out"]


def packages_of(facts: Any) -> dict[str, tuple[str, Any]]:
    """Return section and facts of each package of a document, by name."""
    return {it["name"]: (name, it) for name, inside in facts["packages"].items() for it in inside}


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        (("--package", "hdf5"), {"packages": ["hdf5"]}),
        (("--stack", "hep"), {"stacks": ["hep"]}),
        (("--package", "hdf5", "--stack", "hep"), {"packages": ["hdf5"], "stacks": ["hep"]}),
    ],
    ids=str,
)
def test_a_narrowed_difference_is_narrow_in_all_its_parts(
    world: World, options: tuple[str, ...], wanted: dict[str, list[str]]
) -> None:
    """Summary, packages and stacks are those of the specs that are chosen on either side."""
    sides = world.states[0].specs, world.states[5].specs
    hashes = {it.hash for side in sides for it in side if naive.matches(it, wanted)}
    base, head = ({it.hash: it for it in side if it.hash in hashes} for side in sides)
    expected = [it for it in changes(world.states[0], world.states[5]) if it[2].hash in hashes]
    facts = good(world, "diff", BASE, HEAD, "--json", *options).json

    summary = facts["summary"]
    for sign, kind in SIGNS.items():
        told = [after.hash for it, _, after in expected if it == sign]
        assert [it["hash"] for it in facts["specs"][kind]] == told
        assert summary[f"specs_{kind}"] == len(told)
    assert summary["specs_unchanged"] == len({*base, *head}) - len(expected)
    assert summary["total_size_before"] == naive.total_size([*base.values()])
    assert summary["total_size_after"] == naive.total_size([*head.values()])

    packages = packages_of(facts)
    assert packages.keys() == {after.name for _, _, after in expected}
    for name, (section, package) in packages.items():
        old, new = ([it for it in side.values() if it.name == name] for side in (base, head))
        kind = "rebuilt" if section in ("more_builds", "fewer_builds") else section
        assert kind == str(naive.package_kind(old, new)).lower()
        added = [it for sign, _, it in expected if sign == "+" and it.name == name]
        assert package["specs_added"] == len(added)
        assert package["size_after"] == (naive.total_size(new) if new else 0)
    counts = [count for kind, count in summary.items() if kind.startswith("packages_")]
    names = {it.name for side in (base, head) for it in side.values()}
    assert sum(counts) == len(names)

    for stack in facts["stack_changes"]:
        inside = [
            {it.hash for it in side.values() if stack["name"] in it.stacks} for side in (base, head)
        ]
        assert stack["num_specs_before"] == len(inside[0])
        assert stack["num_specs_after"] == len(inside[1])
        assert stack["specs_added"] == len(inside[1] - inside[0])
    assert facts["only"] == {
        "package": wanted.get("packages", [None])[0],
        "stack": wanted.get("stacks", [None])[0],
        "matching": None,
    }


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


@pytest.mark.parametrize("command", ["diff", "notes"])
def test_two_dots_name_both_revisions(world: World, command: str) -> None:
    """As in git; each side may be any ref."""
    done = good(world, command, f"{BASE}..{HEAD}")
    assert done.out == good(world, command, BASE, HEAD).out
    assert good(world, command, f"{HEAD}~1..{HEAD}@2025-01-20").out


def test_a_change_of_a_list_is_what_was_added_and_removed(world: World) -> None:
    """Not both whole lists; variants are quoted, for they have signs of their own."""
    told, stacks = [], 0
    for _, before, after in changes(world.states[0], world.states[5]):
        for field in naive.changed_fields(before, after):
            if field["path"] in ("stacks", "variants"):
                old, new = set(field["before"]), set(field["after"])
                stacks += field["path"] == "stacks"
                items = [f"+{quoted(it)}" for it in sorted(new - old)]
                items += [f"-{quoted(it)}" for it in sorted(old - new)]
                told.append(f"      {field['path']}: {' '.join(items)}")
    assert stacks
    lines = good(world, "diff", BASE, HEAD).lines
    found = [line for line in lines if line.startswith(("      stacks:", "      variants:"))]
    assert sorted(found) == sorted(told)


def quoted(item: str) -> str:
    """Return an item of a list as it is told."""
    return f"'{item}'" if item[0] in "+~" or " " in item else item


def test_the_exit_code_counts_only_what_is_shown(world: World) -> None:
    """A package that is the same on both sides makes no difference."""
    differing = {after.name for _, _, after in changes(world.states[4], world.states[5])}
    same = sorted({spec.name for spec in world.newest.specs} - differing)
    for name in same:
        assert ask(world, "diff", "develop~1", HEAD, "--package", name, "--exit-code").code == 0
    for name in sorted(differing):
        assert ask(world, "diff", "develop~1", HEAD, "--package", name, "--exit-code").code == 1


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
    names = {after.name for _, _, after in changes(world.states[0], world.states[5])}
    assert all(f"- `{name}`" in done.out for name in names)


def test_release_notes_for_programs(world: World) -> None:
    """JSON with the same packages."""
    facts = good(world, "notes", BASE, HEAD, "--format", "json").json
    told = {it["name"] for entries in facts["packages"].values() for it in entries}
    assert told == {after.name for _, _, after in changes(world.states[0], world.states[5])}


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


@pytest.mark.parametrize(
    ("options", "only"),
    [
        (("--package", "hdf5"), {"package": "hdf5"}),
        (("--stack", "hep"), {"stack": "hep"}),
        (("--matching", "hdf5 target=x86_64_v3"), {"matching": "hdf5 target=x86_64_v3"}),
        (("--package", "hdf5", "--stack", "hep"), {"package": "hdf5", "stack": "hep"}),
    ],
)
def test_release_notes_of_a_scope(
    world: World, options: tuple[str, ...], only: dict[str, str]
) -> None:
    """Only the specs in scope on either side are told and counted; the causes still add up."""
    facts = told(world, *options)
    assert facts["only"] == {"package": None, "stack": None, "matching": None} | only

    def is_in_scope(spec: Spec) -> bool:
        is_matching = (spec.name, spec.target) == ("hdf5", "x86_64_v3")
        return (
            spec.name == only.get("package", spec.name)
            and ("stack" not in only or only["stack"] in spec.stacks)
            and ("matching" not in only or is_matching)
        )

    expected = [
        (sign, after)
        for sign, before, after in changes(world.states[0], world.states[5])
        if is_in_scope(before) or is_in_scope(after)
    ]
    assert expected
    summary = facts["summary"]
    for sign, kind in SIGNS.items():
        assert summary[f"specs_{kind}"] == [it for it, _ in expected].count(sign)
    names = {it["name"] for entries in facts["packages"].values() for it in entries}
    assert names == {after.name for _, after in expected}
    causes = sum(cause["num_specs"] for cause in facts["causes"])
    assert causes == summary["specs_rebuilt"] + summary["specs_replaced"]


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
