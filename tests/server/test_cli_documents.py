"""``--json`` of commands is the answer to a document, which a server answers as well."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import graphql
import httpx
import orjson
import pytest

import server.documents
from schema.api import graphql_schema
from server.documents import document
from server.settings import Settings
from tests.server.commands import fail, succeed
from tests.server.known_catalogs import HDF5, ZLIB, known_catalog
from tests.server.servers import application
from tests.snapshots.factories import a_snapshot, a_spec, day
from tests.snapshots.sources.lockfiles.locks import as_bytes, small_lock_file
from tests.snapshots.templates import catalog_of

NAMES = sorted(path.stem for path in Path(server.documents.__path__[0]).glob("*.graphql"))

COMMANDS = {
    "revisions": "Revisions",
    "packages": "Packages",
    "packages --stack e4s": "Packages",
    "find zlib": "Find",
    "show develop~1": "Revision",
    "show hdf5": "Package",
    f"show /{HDF5.hash}": "Spec",
    "log": "Log",
    "log zlib": "PackageLog",
    f"log /{ZLIB.hash}": "HashLog",
    "causes": "Causes",
    "blame zlib": "Blame",
    "recipes develop": "Recipes",
    "diff develop~1 develop": "Diff",
    "diff develop~1 develop --coverage target": "Coverage",
    f"diff /{ZLIB.hash} /{HDF5.hash}": "SpecPair",
    "why develop~1..develop": "Why",
    "why develop~1..develop zlib": "Why",
    "holes": "Holes",
    "twins": "Twins",
    "impact zlib --stack e4s": "Impact",
    "check spack.lock": "Check",
    "plan develop --lock e4s=spack.lock": "Plan",
}
"""Commands, and the documents that their JSON answers."""


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the location of a catalog with a history; tests only read it."""
    return known_catalog(tmp_path_factory.mktemp("past")).catalog.location


@pytest.fixture(scope="module")
def client(catalog: str) -> Iterator[httpx.Client]:
    """Return a client of a server of the catalog."""
    with application(Settings(catalog=catalog)) as client:
        yield client


@pytest.fixture(autouse=True)
def lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the tests next to a lock file."""
    monkeypatch.chdir(tmp_path)
    Path("spack.lock").write_bytes(as_bytes(small_lock_file()))


@pytest.mark.parametrize("name", NAMES)
def test_documents_are_valid(name: str) -> None:
    """Each is valid for the schema, has its file's name, and is the answer of a command."""
    parsed = graphql.parse(document(name))
    assert graphql.validate(graphql_schema, parsed) == []
    (operation,) = (
        node for node in parsed.definitions if isinstance(node, graphql.OperationDefinitionNode)
    )
    assert operation.name
    assert operation.name.value == name
    assert name in COMMANDS.values()


def question_of(*words: str, catalog: str) -> dict[str, Any]:
    """Return the document and the variables that a command prints, as a request."""
    text = succeed(*words, "--print-query", catalog=catalog).out
    query, _, variables = text.rpartition("# variables: ")
    return {"query": query, "variables": orjson.loads(variables)}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_server_gives_the_same_answer(command: str, catalog: str, client: httpx.Client) -> None:
    """To the document and variables that ``--print-query`` prints."""
    words = shlex.split(command)
    request = question_of(*words, catalog=catalog)
    assert re.findall(r"^query (\w+)", request["query"], re.M) == [COMMANDS[command]]
    answer = client.post("/graphql", json=request).json()
    assert "errors" not in answer
    assert succeed(*words, "--json", catalog=catalog).json == answer["data"]


def test_lists_are_whole(tmp_path: Path) -> None:
    """Also those that are longer than the longest page; ``--limit`` shortens them."""
    specs = [a_spec(str(number), name=f"p{number}") for number in range(1_002)]
    catalog = catalog_of(tmp_path / "catalog", a_snapshot(specs, "develop", day(0)))
    for options, expected in (((), 1_002), (("-n", 1_001), 1_001), (("-n", 3), 3)):
        report = succeed("find", *options, "--json", catalog=catalog).json["revision"]["specs"]
        assert (len(report["nodes"]), report["totalCount"]) == (expected, 1_002)


@pytest.mark.parametrize("command", ["why develop..spack.lock", "holes spack.lock"])
def test_files_are_sides(command: str, catalog: str, client: httpx.Client) -> None:
    """Their path is their ref; servers refuse it, by name."""
    words = shlex.split(command)
    report = succeed(*words, "--json", catalog=catalog).out
    assert '"ref": "spack.lock"' in report
    answer = client.post("/graphql", json=question_of(*words, catalog=catalog)).json()
    (error,) = answer["errors"]
    assert "'spack.lock' is a file, which only the command line can read" in error["message"]


def test_files_need_no_catalog(tmp_path: Path) -> None:
    """If all sides are files."""
    report = succeed("diff", "spack.lock", "./spack.lock", "--json", catalog=tmp_path / "none").json
    assert report["compare"]["specs"]["nodes"] == []


def test_errors_are_those_of_the_command(catalog: str) -> None:
    """In one line; with and without JSON."""
    for command in ("show nope", "find hdf5@@", "why nope..develop", "diff --stack no", "log nope"):
        words = shlex.split(command)
        assert fail(*words, "--json", catalog=catalog) == fail(*words, catalog=catalog)
