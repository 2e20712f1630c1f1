"""``cachelog find``: the specs of a revision that a query in Spack's language asks for."""

import re
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from snapshots.catalog.catalog import Catalog
from snapshots.models import SPEC_FACTS, Spec
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
    """Words are joined to one query; its specs are printed in order, with their number."""
    matched = [
        spec
        for spec in specs_in(demo_catalog, "develop")
        if spec.platform == "linux" and spec.target == "x86_64_v3"
    ]
    code, out, err = find(demo_catalog, "platform=linux", "target=x86_64_v3")
    *lines, count = out.splitlines()
    printed = [match.groups() for line in lines if (match := LINE.fullmatch(line))]
    assert printed == [(spec.hash, spec.short) for spec in matched]
    assert re.fullmatch(rf"{len(matched)} specs in develop of [\d-]+ \([0-9a-f]{{12}}\)", count)
    assert (code, err) == (0, "")


def test_limit(demo_catalog: Path) -> None:
    """With a limit the first ones are printed; the count is of all. No query matches all specs."""
    *lines, _ = find(demo_catalog, "*", "--in", "develop").lines
    assert find(demo_catalog).lines[:-1] == lines
    *some, count = find(demo_catalog, "*", "--limit", "3").lines
    assert some == lines[:3]
    assert count.startswith(f"3 of {len(lines)} specs in develop")


def test_one_stack(demo_catalog: Path) -> None:
    """With a stack only its specs are printed and counted."""
    specs = specs_in(demo_catalog, "develop")
    stack = next(name for spec in specs for name in spec.stacks if name != "root")
    expected = [spec.hash for spec in specs if stack in spec.stacks]
    *lines, count = find(demo_catalog, "*", "--stack", stack).lines
    assert [line[:32] for line in lines] == expected
    assert count.startswith(f"{len(expected)} spec")
    assert f" in the stack {stack} of develop of " in count
    document = find(demo_catalog, "*", "--stack", stack, "--json").json
    assert [spec["hash"] for spec in document["specs"]] == expected
    assert (document["stack"], document["total"]) == (stack, len(expected))


def test_packages_are_in_natural_order(tmp_path: Path) -> None:
    """As people sort them: lib2 stands before lib10; also in a difference."""
    specs = [replace(a_spec(name), name=name) for name in ("lib10", "lib2", "lib1")]
    states = [[], specs]
    Catalog(str(tmp_path)).publish(
        [a_snapshot(state, taken_at=day(number + 1)) for number, state in enumerate(states)]
    )
    *lines, _ = find(tmp_path, "*").out.splitlines()
    assert [line.split()[1].partition("@")[0] for line in lines] == ["lib1", "lib2", "lib10"]
    packages = cachelog("diff", "develop~1..develop", "--stat", catalog=tmp_path).lines[1:-1]
    assert [line.partition(":")[0] for line in packages] == ["lib1", "lib2", "lib10"]


def test_json(demo_catalog: Path) -> None:
    """The query, the revision, the number of specs, and every fact of each."""
    spec = specs_in(demo_catalog, "develop")[0]
    document = find(demo_catalog, spec.name, f"/{spec.hash[:9]}", "--json").json
    assert document["query"] == f"{spec.name} /{spec.hash[:9]}"
    assert document["revision"]["tag"] == "develop"
    assert document["total"] == 1
    facts = {name: getattr(spec, name) for name in SPEC_FACTS if name != "dependencies"}
    values = {name: list(it) if isinstance(it, tuple) else it for name, it in facts.items()}
    assert document["specs"] == [values | {"short": spec.short}]
    nothing = find(demo_catalog, f"{spec.name}@999:")
    assert (nothing.code, nothing.out) == (0, "")
    assert re.fullmatch(rf"No spec in develop of .* matches {spec.name}@999:\.\n", nothing.err)


@pytest.mark.parametrize(
    ("query", "unknown", "remark"),
    [
        ("hdf5 ^zlip", [{"name": "zlip", "nearest": ["zlib"]}], "'zlip'; nearest: zlib"),
        ("hdf5 %[deptypes=build] qqq", [{"name": "qqq", "nearest": []}], "'qqq'"),
    ],
)
def test_a_name_that_nothing_has(
    tmp_path: Path, query: str, unknown: list[Any], remark: str
) -> None:
    """Nothing matches, as Spack says; a remark has the nearest names."""
    specs = [a_spec(name, name=name, dependencies=()) for name in ("zlib", "hdf5")]
    Catalog(str(tmp_path)).publish([a_snapshot(specs)])
    code, out, err = find(tmp_path, query)
    assert (code, out) == (0, "")
    assert err.splitlines()[1:] == [f"In this catalog nothing is named {remark}."]
    document = find(tmp_path, query, "--json").json
    assert (document["specs"], document["total"], document["unknown_names"]) == ([], 0, unknown)
    assert cachelog("diff", "develop..develop", "--matching", query, catalog=tmp_path).code == 1


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
