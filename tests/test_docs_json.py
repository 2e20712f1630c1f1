"""Documents describe the keys of the JSON output of commands."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from server.terminal.printing.questions import FORMAT
from snapshots.models import SHOWN_FACTS
from tests.server.commands import cachelog
from tests.server.known_catalogs import HDF5, ZLIB, known_catalog
from tests.snapshots.sources.lockfiles.locks import as_bytes, small_lock_file
from tests.test_docs import DOCUMENTS, section

NAMES_OF_HISTORY = frozenset(re.findall(r"`([a-z_]+)`", section("history.md", "JSON")))


@pytest.fixture
def lock_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a lock file to the working directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spack.lock").write_bytes(as_bytes(small_lock_file()))


@pytest.mark.parametrize(
    ("title", "command"),
    [("Holes", ("holes",)), ("Twins", ("twins",)), ("Impact", ("impact", "zlib-ng"))],
)
def test_keys_of_analyses_are_documented(
    title: str, command: tuple[str, ...], demo_catalog: Path
) -> None:
    """In the order of the document."""
    keys = re.findall(r"^\| `([a-z_]+)` \|", section("questions.md", title), re.MULTILINE)
    document = cachelog(*command, "--json", catalog=demo_catalog).json
    assert keys == [*document]
    assert document["format"] == FORMAT


@pytest.mark.usefixtures("lock_file")
def test_keys_of_plans_are_documented(demo_catalog: Path) -> None:
    """In the order of the document, and those of each stack and spec."""
    command = ("plan", "develop", "--lock", "e4s=spack.lock", "--json")
    document = cachelog(*command, catalog=demo_catalog).json
    text = section("lock-files.md", "JSON of plans")
    rows = dict(re.findall(r"^\| `([a-z_]+)` \| (.*) \|$", text, re.MULTILINE))
    assert [*rows] == [*document]
    for key in ("stacks", "to_build"):
        assert {*document[key][0]} <= {*re.findall(r"`([a-z_]+)`", rows[key])}


@pytest.mark.usefixtures("lock_file")
def test_keys_of_sides_are_documented(demo_catalog: Path) -> None:
    """A stack and a file have the keys of a revision, and those that are documented."""
    (revision,) = (
        row
        for row in cachelog("revisions", "--json", catalog=demo_catalog).json
        if row["tag"] == "develop"
    )
    result = cachelog("why", "develop:e4s..spack.lock", "--json", catalog=demo_catalog)
    base, head = result.json["base"], result.json["head"]
    del revision["confirmed_at"]  # only lists have it
    assert base.keys() == {*revision, "stack"}
    assert (base["digest"], base["stack"]) == (revision["digest"], "e4s")
    assert base["num_specs"] < revision["num_specs"]
    assert head.keys() == {*revision, "num_roots"}
    assert head["source"]["location"] == "spack.lock"
    documented = {key for key in head if f"`{key}`" in DOCUMENTS["sides.md"]}
    assert documented >= {key for key, value in head.items() if value is None} - {
        "total_size",
        "num_stacks",
        "num_proven",
        "unproven",
    }


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the location of a catalog with a history; tests only read it."""
    return known_catalog(tmp_path_factory.mktemp("past")).catalog.location


@pytest.mark.parametrize(
    "command",
    [
        ("log",),
        ("log", "zlib"),
        ("log", f"/{ZLIB.hash}"),
        ("show", "develop~1"),
        ("show", "hdf5"),
        ("show", f"/{HDF5.hash}"),
        ("packages",),
        ("stacks",),
        ("tags",),
        ("causes",),
    ],
    ids=" ".join,
)
def test_keys_of_histories_are_documented(command: tuple[str, ...], history: str) -> None:
    """All names in the JSON of a command."""
    document = cachelog(*command, "--json", catalog=history).json
    assert {*_keys(document)} <= NAMES_OF_HISTORY


def _keys(value: Any) -> Iterator[str]:
    """Yield the names in a document, except those of revisions and facts, which others describe."""
    if isinstance(value, list):
        for item in value:
            yield from _keys(item)
    elif isinstance(value, dict) and "taken_at" not in value:
        for name, inner in value.items():
            yield name
            if name == "spec":
                assert inner.keys() == {"short", *SHOWN_FACTS} - {"dependencies"}
            elif name != "reasons":
                yield from _keys(inner)
