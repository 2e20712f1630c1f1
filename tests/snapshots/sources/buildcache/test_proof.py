"""The proof of hashes: right ones are proven, changed content is noticed, the rest has a reason."""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots.errors import SourceError
from snapshots.models import ProofCounts, UnprovenReason
from snapshots.sources.buildcache.database import IndexSpecs, decode, unproven_reason
from snapshots.sources.reports import Report
from snapshots.sources.settings import ReadSettings
from tests import real_data
from tests.snapshots.sources.buildcache import rehashing
from tests.snapshots.sources.buildcache.indexes import entry, node
from tests.snapshots.sources.buildcache.readings import snapshots

REAL = sorted((real_data.folder() / "spack-history").glob("*/*/index.json"))
PROVING = ReadSettings(cache_dir=None)


@cache
def real_nodes() -> list[dict[str, Any]]:
    """Return every node of the real indexes that is in the cache, each hash once."""
    nodes: dict[str, dict[str, Any]] = {}
    for file in REAL:
        installs = json.loads(file.read_bytes())["database"]["installs"]
        nodes |= {
            digest: record["spec"] for digest, record in installs.items() if record["in_buildcache"]
        }
    return list(nodes.values())


def hashed(name: str, **more: Any) -> dict[str, Any]:
    """Return a made-up node with its right hash."""
    content = node(name, "", **more)
    return content | {"hash": rehashing.dag_hash(content)}


def index(*nodes: dict[str, Any], version: str = "8") -> dict[str, Any]:
    """Return an index of nodes that are all in the cache, under the hashes that they state."""
    installs = {node["hash"]: entry(node) for node in nodes}
    return {"database": {"version": version, "installs": installs}}


def read(value: Any, report: Report | None = None, indent: int | None = None) -> IndexSpecs:
    """Decode an index given as a JSON value, with proof."""
    separators = (",", ":") if indent is None else None
    text = json.dumps(value, separators=separators, indent=indent)
    return decode(text.encode(), "index.json", report or Report())


@pytest.mark.parametrize("file", REAL, ids=lambda file: "-".join(file.parts[-3:-1]))
def test_real_indexes_are_proven(file: Path) -> None:
    """Each hash that is in the cache of a real index is right."""
    specs = decode(file.read_bytes(), str(file), Report())
    assert specs.in_cache
    assert {specs.unproven[digest] for digest in specs.in_cache} == {None}


@pytest.mark.parametrize("file", REAL[:1], ids=lambda file: "-".join(file.parts[-3:-1]))
def test_white_space_and_the_place_of_the_hash_say_nothing(file: Path) -> None:
    """An index that a program formatted, with the hash first in a node, is proven as well."""
    value = json.loads(file.read_bytes())
    for install in value["database"]["installs"].values():
        install["spec"] = {"hash": install["spec"]["hash"], **install["spec"]}
    specs = read(value, indent=1)
    assert {specs.unproven[digest] for digest in specs.in_cache} == {None}


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path to each text in a JSON value that is not empty."""
    if isinstance(value, str) and value:
        yield path
    elif isinstance(value, dict | list):
        for key, below in value.items() if isinstance(value, dict) else enumerate(value):
            yield from paths(below, (*path, key))


@given(st.data())
def test_one_other_character_is_noticed(data: st.DataObject) -> None:
    """Whatever text of a real node is changed in one character, the node is refused by name."""
    real = data.draw(st.sampled_from(real_nodes()))
    changed = json.loads(json.dumps({key: value for key, value in real.items() if key != "hash"}))
    *parents, last = data.draw(st.sampled_from(list(paths(changed))))
    holder = changed
    for key in parents:
        holder = holder[key]
    text = holder[last]
    place = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(
        st.sampled_from("abcdefgh01").filter(lambda character: character != text[place])
    )
    holder[last] = text[:place] + other + text[place + 1 :]
    changed["hash"] = real["hash"]
    report = Report(skip_bad=True)
    specs = read(index(changed), report)
    assert not specs.in_cache
    (skipped,) = report.skipped
    assert skipped.key is not None
    assert skipped.key.startswith(f"installs.{real['hash']}")


def test_a_forged_spec_is_refused_with_its_index() -> None:
    """The error names the entry, what its content hashes to, and what to do."""
    forged = hashed("zlib") | {"version": "6.6.6"}
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
def test_why_a_hash_cannot_be_computed(
    more: dict[str, Any], version: str, reason: UnprovenReason
) -> None:
    """A node whose hash is that of another text is believed, and counted with the reason."""
    specs = read(index(node("zlib", "b" * 32, **more), version=version))
    assert specs.unproven == {"b" * 32: reason}
    right = hashed("zlib", **more)
    assert read(index(right, version=version)).unproven == {right["hash"]: None}


def test_a_node_of_a_newer_format_is_not_called_forged() -> None:
    """What its hash covers nobody knows yet: it is refused for its format."""
    newer = node("zlib", "b" * 32, annotations={"original_specfile_version": 7})
    with pytest.raises(SourceError, match="7 is not a format of specs that can be read") as caught:
        read(index(newer, version="9"))
    assert caught.value.key == f"installs.{'b' * 32}.spec.annotations.original_specfile_version"


def test_texts_beyond_ascii() -> None:
    """Spack hashes them as escapes, whichever way a file spells them."""
    right = hashed("zlib", parameters={"flavor": "süß"})
    text = json.dumps(right, ensure_ascii=False).encode()
    assert unproven_reason(text, right["hash"], 5, "index.json", "installs") is None


def test_bad_text_in_a_key_that_nothing_reads() -> None:
    """It is no traceback: the entry is named."""
    text = b'{"installs":{"%s":{"in_buildcache":true,"spec":%s}},"version":"8"}'
    spec = json.dumps(node("zlib", "b" * 32)).encode().replace(b'"zlib"', b'"zlib","odd":"\xff"', 1)
    data = b'{"database":%s}' % (text % (b"b" * 32, spec))
    with pytest.raises(SourceError, match="is not valid JSON") as caught:
        decode(data, "index.json", Report())
    assert caught.value.key == f"installs.{'b' * 32}"


def test_a_spec_that_one_index_proves_is_proven(tmp_path: Path) -> None:
    """Of several stacks with the same spec, one that can be computed anew is enough."""
    right = hashed("zlib")
    bare = right | {"annotations": {"original_specfile_version": 5, "compiler": None}}
    listed = {}
    for label, spec in (("a", right | {"annotations": {}}), ("b", right), ("c", bare)):
        (tmp_path / f"{label}.json").write_text(json.dumps(index(spec, version="7")))
        listed[label] = {"label": label, "url": f"{label}.json"}
    (tmp_path / "list.json").write_text(json.dumps({"develop": list(listed.values())}))
    (snapshot,) = snapshots(tmp_path / "list.json", settings=PROVING)
    assert snapshot.proof == ProofCounts(1)


def test_what_is_beside_a_bad_entry_is_proven() -> None:
    """An entry without a spec, and one whose spec is none, are skipped by name alone."""
    right = hashed("zlib")
    value = index(right)
    value["database"]["installs"]["c" * 32] = {"in_buildcache": True}
    value["database"]["installs"]["d" * 32] = {"in_buildcache": True, "spec": 7}
    report = Report(skip_bad=True)
    assert read(value, report).unproven == {right["hash"]: None}
    keys = [error.key or "" for error in report.skipped]
    assert [key.split(".")[1][0] for key in keys] == ["c", "d"]


def test_without_proof(tmp_path: Path) -> None:
    """Hashes are believed where that is asked for, and nothing is said of them."""
    forged = hashed("zlib") | {"version": "6.6.6"}
    (tmp_path / "index.json").write_text(json.dumps(index(forged)))
    settings = ReadSettings(proof=False)
    (snapshot,) = snapshots(tmp_path / "index.json", "develop", settings=settings)
    assert snapshot.proof is None
