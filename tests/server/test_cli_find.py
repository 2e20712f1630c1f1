"""``cachelog find``: the specs of a revision that match a query in Spack's language."""

import re
from pathlib import Path
from typing import Any

import orjson
import pytest

from snapshots.catalog.catalog import Catalog
from snapshots.models import SPEC_FACTS, Spec
from tests.server.commands import CommandResult, cachelog
from tests.snapshots.factories import a_snapshot, a_spec
from tests.snapshots.templates import catalog_of

LINE = re.compile(r"(?P<hash>[a-z2-7]{32}) (?P<short>\S.*?)(?:  \(stacks: [^()]+\))?")


def find(catalog: Path, *arguments: str) -> CommandResult:
    """Run the command on a catalog."""
    return cachelog("find", *arguments, catalog=catalog)


def specs_in(catalog: Path, tag: str) -> list[Spec]:
    """Return the specs of the newest revision of a tag, in the order of the catalog."""
    opened = Catalog(str(catalog))
    frame = opened.reader().frame(opened.require_history().resolve(tag).digest)
    return [frame.spec(row) for row in range(len(frame))]


def test_limit_keeps_the_total_count(demo_catalog: Path) -> None:
    """The first specs are printed; the number is that of all. An empty query matches all specs."""
    *lines, _ = find(demo_catalog, "*", "--in", "develop").lines
    assert find(demo_catalog).lines[:-1] == lines
    *first, count = find(demo_catalog, "*", "--limit", "3").lines
    assert first == lines[:3]
    assert count.startswith(f"3 of {len(lines)} specs in develop")


def test_stack_restricts_the_specs(demo_catalog: Path) -> None:
    """Only specs of the stack are printed and counted."""
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


def test_json_has_all_facts(demo_catalog: Path) -> None:
    """The query, the revision, the number of specs, and all facts of each."""
    spec = specs_in(demo_catalog, "develop")[0]
    document = find(demo_catalog, spec.name, f"/{spec.hash[:9]}", "--json").json
    assert (document["query"], document["total"]) == (f"{spec.name} /{spec.hash[:9]}", 1)
    assert document["revision"]["tag"] == "develop"
    facts = {name: getattr(spec, name) for name in SPEC_FACTS if name != "dependencies"}
    assert document["specs"] == [orjson.loads(orjson.dumps(facts)) | {"short": spec.short}]
    result = find(demo_catalog, f"{spec.name}@999:")
    assert (result.code, result.out) == (0, "")
    assert re.fullmatch(rf"No spec in develop of .* matches {spec.name}@999:\.\n", result.err)


@pytest.mark.parametrize(
    ("query", "unknown", "hint"),
    [
        ("hdf5 ^zlip", [{"name": "zlip", "nearest": ["zlib"]}], "'zlip'; nearest: zlib"),
        ("hdf5 %[deptypes=build] qqq", [{"name": "qqq", "nearest": []}], "'qqq'"),
    ],
)
def test_unknown_name_matches_no_spec(
    tmp_path: Path, query: str, unknown: list[Any], hint: str
) -> None:
    """Nothing matches, as in Spack; a message lists the nearest names."""
    specs = [a_spec(name, name=name, dependencies=()) for name in ("zlib", "hdf5")]
    catalog_of(tmp_path, a_snapshot(specs))
    code, out, err = find(tmp_path, query)
    assert (code, out) == (0, "")
    assert err.splitlines()[1:] == [f"In this catalog nothing is named {hint}."]
    document = find(tmp_path, query, "--json").json
    assert (document["specs"], document["total"], document["unknown_names"]) == ([], 0, unknown)
    assert cachelog("diff", "develop..develop", "--matching", query, catalog=tmp_path).code == 1


@pytest.mark.parametrize(
    ("words", "character"),
    [(["hdf5@@"], "@"), (["hdf5", "+mpi", "zlib"], "z"), (["a^b", "!"], "!")],
)
def test_syntax_error_is_marked(demo_catalog: Path, words: list[str], character: str) -> None:
    """A caret below the query marks the invalid character."""
    code, out, err = find(demo_catalog, *words)
    message, caret = err.splitlines()
    assert (code, out) == (1, "")
    assert message.endswith(" ".join(words))
    assert message[caret.index("^")] == character
    assert caret.index("^") >= len(message) - len(" ".join(words))
