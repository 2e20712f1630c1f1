"""``cachelog find``: the specs of a revision that a query in Spack's language asks for."""

import re
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from snapshots.catalog.catalog import Catalog
from snapshots.contents import Content, Snapshot
from snapshots.models import SPEC_FACTS, Source, Spec
from tests.server.commands import Done, cachelog
from tests.snapshots.factories import a_snapshot, a_spec, day

LINE = re.compile(r"(?P<hash>[a-z2-7]{32}) (?P<short>\S.*?)(?:  \(stacks: [^()]+\))?")


def find(catalog: Path, *arguments: str) -> Done:
    """Run the command in a catalog."""
    return cachelog("find", *arguments, catalog=catalog)


def specs_in(catalog: Path, tag: str) -> list[Spec]:
    """Return the records of a tag's newest revision, in the order of the catalog."""
    opened = Catalog(str(catalog))
    frame = opened.load(opened.require_history().resolve(tag).digest)
    return [frame.spec(row) for row in range(len(frame))]


def test_words_are_one_query(demo_catalog: Path) -> None:
    """Words are joined to one query; its finds are printed in order, with their number."""
    matched = [
        spec
        for spec in specs_in(demo_catalog, "develop")
        if spec.platform == "linux" and spec.target == "x86_64_v3"
    ]
    code, out, err = find(demo_catalog, "platform=linux", "target=x86_64_v3")
    *lines, count = out.splitlines()
    found = [match.groups() for line in lines if (match := LINE.fullmatch(line))]
    assert found == [(spec.hash, spec.short) for spec in matched]
    assert re.fullmatch(rf"{len(matched)} specs in develop of [\d-]+ \([0-9a-f]{{12}}\)", count)
    assert (code, err) == (0, "")


def test_limit(demo_catalog: Path) -> None:
    """With a limit the first ones are printed; the count tells of all."""
    *lines, _ = find(demo_catalog, "*").out.splitlines()
    *some, count = find(demo_catalog, "*", "--limit", "3").out.splitlines()
    assert some == lines[:3]
    assert count.startswith(f"3 of {len(lines)} specs in develop")


def test_one_stack(demo_catalog: Path) -> None:
    """With a stack only its specs are printed and counted; a name that is none is a fault."""
    specs = specs_in(demo_catalog, "develop")
    stack = next(name for spec in specs for name in spec.stacks if name != "root")
    expected = [spec.hash for spec in specs if stack in spec.stacks]
    *lines, count = find(demo_catalog, "*", "--stack", stack).out.splitlines()
    assert [line[:32] for line in lines] == expected
    assert all(re.search(rf"\(stacks: [^()]*\b{stack}\b[^()]*\)$", line) for line in lines)
    assert count.startswith(f"{len(expected)} spec")
    assert f" in the stack {stack} of develop of " in count
    found = find(demo_catalog, "*", "--stack", stack, "--json").json
    assert [spec["hash"] for spec in found["specs"]] == expected
    assert (found["stack"], found["total"]) == (stack, len(expected))
    code, out, err = find(demo_catalog, "*", "--stack", f"{stack}x")
    assert (code, out) == (1, "")
    assert re.match(rf"cachelog: --stack: .* not have '{stack}x'; nearest: .*\b{stack}\b", err)


def test_packages_are_in_natural_order(tmp_path: Path) -> None:
    """As people sort them: lib2 stands before lib10; also in a difference."""
    specs = [replace(a_spec(name), name=name) for name in ("lib10", "lib2", "lib1")]
    states = [[], specs]
    Catalog(str(tmp_path)).publish(
        [a_snapshot(state, taken_at=day(number + 1)) for number, state in enumerate(states)]
    )
    *lines, _ = find(tmp_path, "*").out.splitlines()
    assert [line.split()[1].partition("@")[0] for line in lines] == ["lib1", "lib2", "lib10"]
    told = cachelog("diff", "develop~1..develop", "--stat", catalog=tmp_path).lines
    assert [line.partition(":")[0] for line in told[1:-1]] == ["lib1", "lib2", "lib10"]


def test_the_revision(demo_catalog: Path) -> None:
    """The newest revision is searched unless another one is named."""
    for tag in Catalog(str(demo_catalog)).require_history().tags:
        found = find(demo_catalog, "*", "--in", tag, "--json").json
        assert found["revision"]["tag"] == tag
        assert {spec["hash"] for spec in found["specs"]} == {
            spec.hash for spec in specs_in(demo_catalog, tag)
        }
    assert find(demo_catalog, "*") == find(demo_catalog, "*", "--in", "develop")


def test_json(demo_catalog: Path) -> None:
    """Programs get the query, how many there are, and every fact of each one."""
    spec = specs_in(demo_catalog, "develop")[0]
    found: dict[str, Any] = find(demo_catalog, spec.name, f"/{spec.hash[:9]}", "--json").json
    assert found["query"] == f"{spec.name} /{spec.hash[:9]}"
    assert found["total"] == 1
    facts = {name: getattr(spec, name) for name in SPEC_FACTS if name != "dependencies"}
    values = {name: list(it) if isinstance(it, tuple) else it for name, it in facts.items()}
    assert found["specs"] == [values | {"short": spec.short}]


def test_nothing_found(demo_catalog: Path) -> None:
    """That there is no such spec is an answer, not a failure."""
    name = specs_in(demo_catalog, "develop")[0].name
    code, out, err = find(demo_catalog, f"{name}@999:")
    assert (code, out) == (0, "")
    assert re.fullmatch(rf"No spec in develop of .* matches {name}@999:\.\n", err)
    found = find(demo_catalog, f"{name}@999:", "--json").json
    assert (found["total"], found["specs"]) == (0, [])


@pytest.mark.parametrize(
    ("query", "unknown", "remark"),
    [
        ("hdf5 ^zlip", [{"name": "zlip", "nearest": ["zlib"]}], "'zlip'; nearest: zlib"),
        ("HDF5", [{"name": "HDF5", "nearest": ["hdf5"]}], "'HDF5'; nearest: hdf5"),
        ("hdf5 %[deptypes=build] qqq", [{"name": "qqq", "nearest": []}], "'qqq'"),
    ],
)
def test_a_name_that_nothing_has(
    tmp_path: Path, query: str, unknown: list[Any], remark: str
) -> None:
    """Nothing matches, as Spack says; what may have been meant is a remark."""
    specs = [a_spec(name, name=name, dependencies=()) for name in ("zlib", "hdf5")]
    Catalog(str(tmp_path)).publish([a_snapshot(specs)])
    code, out, err = find(tmp_path, query)
    assert (code, out) == (0, "")
    assert err.splitlines()[1:] == [f"In this catalog nothing is named {remark}."]
    found = find(tmp_path, query, "--json").json
    assert (found["specs"], found["unknown_names"]) == ([], unknown)
    assert cachelog("diff", "develop..develop", "--matching", query, catalog=tmp_path).code == 1


def test_without_a_query(demo_catalog: Path) -> None:
    """All specs are printed, as Spack does."""
    assert find(demo_catalog) == find(demo_catalog, "*")
    assert find(demo_catalog, "--limit", "2") == find(demo_catalog, "*", "--limit", "2")


def test_a_package_that_only_another_revision_has(tmp_path: Path) -> None:
    """Nothing is found where the asked revision lacks a package that the catalog knows."""
    source = Source(kind="pages", location="_cache", importer="a test")
    contents = {name: Content.of([a_spec(name, name=name)]) for name in ("zlib", "hdf5")}
    Catalog(str(tmp_path)).publish(
        [Snapshot(tag=tag, content=it, source=source) for tag, it in contents.items()]
    )
    assert find(tmp_path, "zlib", "--in", "hdf5").code == 0
    code, out, err = find(tmp_path, "zlip", "--in", "hdf5")
    assert (code, out) == (1, "")
    where = "in this revision or in the newest of any tag"
    assert err == f"cachelog: no package 'zlip' {where}; nearest: zlib\n"


@pytest.mark.parametrize(
    ("words", "at_fault"), [(["hdf5@@"], "@"), (["hdf5", "+mpi", "zlib"], "z"), (["a^b", "!"], "!")]
)
def test_a_mistake_is_pointed_at(demo_catalog: Path, words: list[str], at_fault: str) -> None:
    """A query that cannot be read fails, with a caret under the character at fault."""
    code, out, err = find(demo_catalog, *words)
    message, caret = err.splitlines()
    assert (code, out) == (1, "")
    assert message.endswith(" ".join(words))
    assert message[caret.index("^")] == at_fault
    assert caret.index("^") >= len(message) - len(" ".join(words))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["*", "--in", "nope"], "no revision 'nope'"),
        (["* ^mpi@3"], "mpi is a virtual package"),
    ],
)
def test_other_faults(demo_catalog: Path, arguments: list[str], message: str) -> None:
    """Other faults of the request are one line too."""
    code, _, err = find(demo_catalog, *arguments)
    assert code == 1
    assert err.startswith("cachelog: ")
    assert message in err
    assert err.count("\n") == 1


def test_an_empty_catalog(tmp_path: Path) -> None:
    """An empty catalog says how to fill it."""
    code, _, err = find(tmp_path, "hdf5")
    assert code == 1
    assert "cachelog import" in err
