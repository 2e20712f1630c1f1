"""The proof of hashes: proven hashes, changed contents, and reasons without a proof."""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots.changes.diff import SpecChangeKind
from snapshots.errors import SourceError
from snapshots.models import ProofCounts, UnprovenReason
from snapshots.sources.buildcache.database import (
    IndexSpecs,
    decode,
    unproven_reason,
)
from snapshots.sources.reports import Report
from snapshots.sources.settings import ReadSettings
from tests import real_data
from tests.snapshots.changes.states import compare
from tests.snapshots.sources.buildcache import rehashing
from tests.snapshots.sources.buildcache.indexes import edge, entry, node
from tests.snapshots.sources.readings import snapshots

REAL = sorted((real_data.folder() / "spack-history").glob("*/*/index.json"))
PROVING = ReadSettings(cache_dir=None)
GENERIC = {"platform": "linux", "platform_os": "ubuntu22.04", "target": "x86_64_v3"}
DESCRIBED = {"name": "skylake", "vendor": "GenuineIntel", "features": ["aes"]}
SKYLAKE = {**GENERIC, "target": DESCRIBED}


@cache
def real_nodes() -> list[dict[str, Any]]:
    """Return every cached node of the real indexes, each hash once."""
    nodes: dict[str, dict[str, Any]] = {}
    for file in REAL:
        installs = json.loads(file.read_bytes())["database"]["installs"]
        nodes |= {
            digest: record["spec"] for digest, record in installs.items() if record["in_buildcache"]
        }
    return list(nodes.values())


def is_written_once(node: dict[str, Any]) -> bool:
    """Return whether Spack changes nothing of a node but the order of a few values."""
    lists = [value for value in node["parameters"].values() if isinstance(value, list)]
    return isinstance(node["arch"]["target"], str) and max(map(len, lists)) <= 4


def hashed(name: str, **more: Any) -> dict[str, Any]:
    """Return a made-up node with its correct hash."""
    content = node(name, "", **more)
    return content | {"hash": rehashing.dag_hash(content)}


def index(*nodes: dict[str, Any], version: str = "8") -> dict[str, Any]:
    """Return an index of nodes that are all in the cache, under their stated hashes."""
    installs = {node["hash"]: entry(node) for node in nodes}
    return {"database": {"version": version, "installs": installs}}


def read(value: Any, report: Report | None = None, indent: int | None = None) -> IndexSpecs:
    """Decode an index from a JSON value, with proof."""
    separators = (",", ":") if indent is None else None
    text = json.dumps(value, separators=separators, indent=indent)
    return decode(text.encode(), "index.json", report or Report())


@pytest.mark.parametrize("file", REAL, ids=lambda file: "-".join(file.parts[-3:-1]))
def test_real_indexes_are_proven(file: Path) -> None:
    """Each hash in the cache of a real index is correct, also if it is formatted, hash first."""
    value = json.loads(file.read_bytes())
    for install in value["database"]["installs"].values():
        install["spec"] = {"hash": install["spec"]["hash"], **install["spec"]}
    formatted = read(value, indent=1) if file == REAL[0] else None
    for specs in filter(None, (decode(file.read_bytes(), str(file), Report()), formatted)):
        assert specs.in_cache
        assert {specs.unproven[digest] for digest in specs.in_cache} == {None}


@given(st.data())
def test_single_changed_character(data: st.DataObject) -> None:
    """A node with one changed character in any text is refused by name, if Spack rewrites none."""
    real = data.draw(st.sampled_from([node for node in real_nodes() if is_written_once(node)]))
    text = json.dumps({key: value for key, value in real.items() if key != "hash"})
    values = [match for match in re.finditer(r'"([^"]*)"(:?)', text) if match[1] and not match[2]]
    values = [value for value in values if value[1] != real["arch"]["target"]]
    value = data.draw(st.sampled_from(values))
    position = data.draw(st.integers(value.start(1), value.end(1) - 1))
    other = data.draw(
        st.sampled_from("abcdefgh01").filter(lambda character: character != text[position])
    )
    changed = json.loads(text[:position] + other + text[position + 1 :]) | {"hash": real["hash"]}
    report = Report(skip_bad=True)
    specs = read(index(changed), report)
    assert not specs.in_cache
    (skipped,) = report.skipped
    assert skipped.key is not None
    assert skipped.key.startswith(f"installs.{real['hash']}")


def test_forged_spec() -> None:
    """The error names the entry, the hash of its content, and what to do."""
    forged = hashed("zlib", arch=GENERIC) | {"version": "6.6.6"}
    with pytest.raises(SourceError) as caught:
        read(index(hashed("cmake"), forged))
    error = caught.value
    assert error.key == f"installs.{forged['hash']}"
    assert rehashing.dag_hash(forged) in error.reason
    assert "damaged or forged" in error.reason
    assert "--skip-bad" in error.reason


@pytest.mark.parametrize(
    ("more", "version", "reason"),
    [
        ({"annotations": {"original_specfile_version": 4}}, "8", UnprovenReason.CONVERTED),
        ({"build_spec": {"name": "zlib", "hash": "a" * 32}}, "8", UnprovenReason.SPLICED),
        ({"external": {"path": "/usr", "module": None}}, "8", UnprovenReason.EXTERNAL),
        ({"annotations": {}}, "8", UnprovenReason.FORMAT_UNKNOWN),
        ({"annotations": None}, "7", UnprovenReason.FORMAT_UNKNOWN),
    ],
)
def test_unproven_hashes(more: dict[str, Any], version: str, reason: UnprovenReason) -> None:
    """A node whose hash covers another text is accepted, and counted with the reason."""
    specs = read(index(node("zlib", "b" * 32, **more), version=version))
    assert specs.unproven == {"b" * 32: reason}
    right = hashed("zlib", **more)
    assert read(index(right, version=version)).unproven == {right["hash"]: None}


def test_texts_beyond_ascii() -> None:
    """Spack hashes them as escapes, in either spelling of the file."""
    right = hashed("zlib", parameters={"flavor": "süß"})
    text = json.dumps(right, ensure_ascii=False).encode()
    assert unproven_reason(text, right["hash"], 5, "index.json", "installs") is None


def test_proof_by_one_of_several_indexes(tmp_path: Path) -> None:
    """A spec is proven if its node in one of several stacks is."""
    right = hashed("zlib")
    bare = right | {"annotations": {"original_specfile_version": 5, "compiler": None}}
    listed = {}
    for label, spec in (("a", right | {"annotations": {}}), ("b", right), ("c", bare)):
        (tmp_path / f"{label}.json").write_text(json.dumps(index(spec, version="7")))
        listed[label] = {"label": label, "url": f"{label}.json"}
    (tmp_path / "list.json").write_text(json.dumps({"develop": list(listed.values())}))
    (snapshot,) = snapshots(tmp_path / "list.json", settings=PROVING)
    assert snapshot.proof == ProofCounts(1)


@pytest.mark.parametrize(
    ("written", "again"),
    [
        (SKYLAKE, {**GENERIC, "target": {**DESCRIBED, "features": ["abm", "aes"]}}),
        (SKYLAKE, {**GENERIC, "target": "skylake"}),
        ({**GENERIC, "target": "skylake"}, SKYLAKE),
        ({**GENERIC, "target": "newer_than_archspec"}, {**GENERIC, "target": "other"}),
    ],
)
def test_described_anew(written: dict[str, Any], again: dict[str, Any]) -> None:
    """A target that another Spack describes otherwise, or only names, is rewritten, not forged."""
    node = hashed("zlib", arch=written) | {"arch": again}
    assert read(index(node)).unproven == {node["hash"]: UnprovenReason.REWRITTEN}


CONTRADICTIONS: dict[str, dict[str, Any]] = {
    "version": {"version": "6.6.6"},
    "variants": {"parameters": {"pic": False}},
    "dependencies": {"dependencies": [edge("zlib", "a" * 32, ["link"], [])]},
}


@pytest.mark.parametrize("fact", CONTRADICTIONS)
@pytest.mark.parametrize("order", [1, -1])
def test_contradiction_in_another_stack(fact: str, order: int, tmp_path: Path) -> None:
    """A rewritten node that contradicts the same hash in another index is forged."""
    node = hashed("cmake", arch=SKYLAKE)
    again = node | {"arch": {**GENERIC, "target": "skylake"}}
    listed: list[dict[str, str]] = []
    for label, spec in [("a", node), ("b", again | CONTRADICTIONS[fact])][::order]:
        (tmp_path / f"{label}.json").write_text(json.dumps(index(spec)))
        listed.append({"label": f"s{len(listed)}", "url": f"{label}.json"})
    (tmp_path / "list.json").write_text(json.dumps({"develop": listed}))
    with pytest.raises(SourceError, match=f"its {fact} contradicts another record") as caught:
        snapshots(tmp_path / "list.json", settings=PROVING)
    assert caught.value.key == f"installs.{node['hash']}"


@pytest.mark.parametrize(
    ("fact", "before", "after"),
    [("version", "1.0", "6.6.6"), ("variants", ["build_system=generic"], ["~pic"])],
)
def test_contradiction_to_an_earlier_revision(fact: str, before: Any, after: Any) -> None:
    """It is unproven, and the comparison of both revisions tells the hash and the fact as changed.

    A node that is only written again changes nothing.
    """
    node = hashed("cmake", arch=SKYLAKE)
    again = node | {"arch": {**GENERIC, "target": "skylake"}}
    base, same, head = (read(index(it)) for it in (node, again, again | CONTRADICTIONS[fact]))
    assert head.unproven == same.unproven == {node["hash"]: UnprovenReason.REWRITTEN}
    assert not len(compare([*base.in_cache.values()], [*same.in_cache.values()]).specs)
    comparison = compare([*base.in_cache.values()], [*head.in_cache.values()])
    (change,) = comparison.specs
    assert (change.kind, change.hash) == (SpecChangeKind.CHANGED, node["hash"])
    ((field,),) = comparison.specs.fields()
    assert (field.path, field.before, field.after) == (fact, before, after)
