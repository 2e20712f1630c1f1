"""docs/json.md: the JSON of commands has the names of the schema, and others that are described."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import graphql
import pytest

from schema import api
from tests.server.commands import cachelog
from tests.server.known_catalogs import HDF5, ZLIB, known_catalog
from tests.snapshots.sources.lockfiles.locks import as_bytes, small_lock_file
from tests.test_docs import DOCUMENTS

COMMANDS = (
    "revisions",
    "log",
    "log zlib",
    f"log /{ZLIB.hash}",
    "log zlib --version 1.3",
    "show develop~1",
    "show hdf5",
    f"show /{HDF5.hash}",
    "packages",
    "stacks",
    "tags",
    "find zlib",
    "causes",
    "diff develop~1 develop",
    "diff develop~1 develop --coverage target",
    f"diff /{ZLIB.hash} /{HDF5.hash}",
    "why develop~1..develop",
    "why develop:e4s..spack.lock",
    "check spack.lock --best",
    "plan develop --lock e4s=spack.lock",
    "holes",
    "twins",
    "impact zlib",
    "impact --top 3",
    "recipes develop",
    "blame zlib",
    "remove develop --dry-run",
    "prune --keep all",
    "vacuum",
    "verify",
    "keep-list --keep all --impact --check spack.lock",
)
BY_NAME = ("reasons", "packages", "changed_facts", "versions_replaced")
"""Keys of objects whose own keys are reasons, kinds, facts or versions."""


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the location of a catalog with a history; tests only read it."""
    return known_catalog(tmp_path_factory.mktemp("past")).catalog.location


@pytest.fixture(scope="module")
def names() -> set[str]:
    """Return the names of the schema, in lower case with underscores, and the described ones."""
    schema = graphql.build_schema(api.sdl())
    fields = (
        name
        for type_ in schema.type_map.values()
        if isinstance(type_, graphql.GraphQLObjectType)
        for name in type_.fields
    )
    described = re.findall(r"`([a-z_]+)`", DOCUMENTS["json.md"])
    of_schema = {re.sub(r"([A-Z])", r"_\1", name).lower() for name in fields}
    return of_schema | {name.removeprefix("num_") for name in of_schema} | {*described}


@pytest.mark.parametrize("command", COMMANDS)
def test_names_are_documented(
    command: str, catalog: str, names: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of the whole document."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spack.lock").write_bytes(as_bytes(small_lock_file()))
    document = cachelog(*shlex.split(command), "--json", catalog=catalog).json
    assert {*names_in(document)} - names == set()


def names_in(value: Any, within: str = "") -> Iterator[str]:
    """Yield the keys of all objects in a document."""
    if isinstance(value, list):
        for item in value:
            yield from names_in(item)
    elif isinstance(value, dict):
        for name, item in value.items():
            if within not in BY_NAME:
                yield name
            yield from names_in(item, name)
