"""clients/python: it builds from the schema, and its README runs against a real server."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import httpx
import pytest

from tests.server.npm import CACHE
from tests.snapshots.templates import made_once

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "clients" / "python"
README = (PACKAGE / "README.md").read_text("utf-8")
EXAMPLE, OWN_EXAMPLE = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
(CONFIGURATION,) = re.findall(r"```toml\n(.*?)```", README, re.DOTALL)
DOCUMENT = """
query Newest($series: String = "develop") {
  series(name: $series) { growth { ...Size } }
}
fragment Size on GrowthPoint { takenAt numSpecs }
"""
WRONG = """
from cachelog_client import Client

compared = Client("http://127.0.0.1").why(base="a", head="b").compare
print(compared.causes)
print(Client("http://127.0.0.1").why(base=1, head="b"))
reveal_type(compared)
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the contents of a wheel that is built from a checkout."""
    checkout = tmp_path_factory.mktemp("checkout")
    shutil.copytree(PACKAGE, checkout / "clients/python")
    shutil.copytree(ROOT / "clients/documents", checkout / "clients/documents")
    (checkout / "schema").mkdir()
    shutil.copy(ROOT / "schema/schema.graphql", checkout / "schema")

    def make(folder: Path) -> None:
        build = [sys.executable, "-m", "uv", "build", "--wheel", "--out-dir", str(folder)]
        subprocess.run(build, cwd=checkout / "clients/python", check=True, capture_output=True)
        (wheel,) = folder.glob("*.whl")
        shutil.unpack_archive(wheel, folder, "zip")

    return made_once(tmp_path_factory, "python-client", make)


@pytest.fixture
def client(built: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """Return the installed package."""
    monkeypatch.syspath_prepend(built)
    yield import_module("cachelog_client")
    for name in [module for module in sys.modules if module.partition(".")[0] == "cachelog_client"]:
        del sys.modules[name]


def test_example_of_the_readme_runs(
    client: ModuleType, new_server_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It prints causes with their numbers, a page of packages, and an error with its code."""
    program = EXAMPLE.replace("http://127.0.0.1:8000", new_server_url)
    program = program.replace("develop~1", "develop-2025-01-26")
    exec(program, {"__name__": client.__name__})  # noqa: S102
    *lines, error = capsys.readouterr().out.splitlines()
    assert lines
    assert all(re.fullmatch(r"\d+ .+", line) for line in lines)
    assert lines[-1].split()[1].startswith("py-")
    assert error.startswith("REVISION_NOT_FOUND no revision 'develp'")


def test_document_is_sent_once(client: ModuleType, new_server_url: str) -> None:
    """Then its hash suffices; a request that is too long for a URL is sent in full."""
    methods: list[str] = []
    http = httpx.Client(event_hooks={"request": [lambda request: methods.append(request.method)]})
    errors = import_module("cachelog_client.base")
    with client.Client(f"{new_server_url}/graphql", http) as session:
        first, second = (session.packages(text="py-") for _ in range(2))
        assert first == second
        assert all(node.name.startswith("py-") for node in first.revision.packages.nodes)
        with pytest.raises(errors.QueryError) as error_info:
            session.packages(text="x" * 5000)
        assert error_info.value.code == "LIMIT_EXCEEDED"
    assert methods == ["GET", "POST", "GET", "POST"]


def test_every_query_is_a_method(client: ModuleType, new_server_url: str) -> None:
    """Each has its own type of data."""
    usual = {
        "why": {"base": "develop-2025-01-26"},
        "changes": {"base": "develop-2025-01-26"},
        "search": {"query": "hdf5"},
        "dependencies": {"query": "hdf5"},
    }
    with client.Client(f"{new_server_url}/graphql") as session:
        for path in (ROOT / "clients/documents").iterdir():
            name = re.sub(r"(?<!^)([A-Z])", r"_\1", path.stem).lower()
            data = getattr(session, name)(**usual.get(name, {}))
            assert type(data).__name__ == path.stem


@pytest.mark.parametrize(
    ("status", "text", "data"),
    [
        (502, "<html>", None),
        (429, '{"errors": []}', None),
        (200, '{"errors": [{"message": "200"}], "data": {"revision": null}}', {"revision": None}),
    ],
)
def test_errors(status: int, text: str, data: object, client: ModuleType) -> None:
    """They have the status, what did not fail, and when to try again."""
    headers = {"retry-after": "3600"}  # too long to wait
    transport = httpx.MockTransport(lambda _: httpx.Response(status, headers=headers, text=text))
    errors = import_module("cachelog_client.base")
    with (
        client.Client("http://127.0.0.1/graphql", httpx.Client(transport=transport)) as session,
        pytest.raises(errors.QueryError, match=str(status)) as error_info,
    ):
        session.packages()
    error = error_info.value
    assert (error.status, error.code, error.data) == (status, None, data)
    assert error.retry_after == 3600


def test_request_is_repeated_when_the_server_says(client: ModuleType) -> None:
    """It is sent again after Retry-After, as often as the client is told."""
    waits = ["0", "0", "0"]
    transport = httpx.MockTransport(
        lambda _: httpx.Response(503, headers={"retry-after": waits.pop()}, text="{}")
    )
    errors = import_module("cachelog_client.base")
    session = client.Client("http://127.0.0.1", httpx.Client(transport=transport), retries=1)
    with pytest.raises(errors.QueryError):
        session.packages()
    assert waits == ["0"]


def test_candidates_have_types(client: ModuleType) -> None:
    """An ambiguous prefix is answered by hashes with titles."""
    extensions = {"code": "AMBIGUOUS_HASH", "candidates": [{"hash": "aa", "title": "zlib@1.3"}]}
    body = {"data": {"hash": None}, "errors": [{"message": "two", "extensions": extensions}]}
    transport = httpx.MockTransport(lambda _: httpx.Response(200, json=body))
    errors = import_module("cachelog_client.base")
    with pytest.raises(errors.QueryError) as error_info:
        client.Client("http://127.0.0.1", httpx.Client(transport=transport)).hash()
    (candidate,) = error_info.value.errors[0].extensions.candidates
    assert (error_info.value.code, candidate.title) == ("AMBIGUOUS_HASH", "zlib@1.3")


def test_documents_of_users_become_a_client(new_server_url: str, tmp_path: Path) -> None:
    """The configuration of the README generates one in a new project, with fragments."""
    (tmp_path / "queries").mkdir()
    (tmp_path / "queries/newest.graphql").write_text(DOCUMENT)
    configuration = CONFIGURATION.replace("http://127.0.0.1:8000", new_server_url)
    (tmp_path / "pyproject.toml").write_text(configuration)
    (tmp_path / "main.py").write_text(OWN_EXAMPLE.replace("http://127.0.0.1:8000", new_server_url))
    uv = (sys.executable, "-m", "uv", "run", "--no-project", "--with", "ariadne-codegen>=0.19")
    for command in (["ariadne-codegen"], ["python", "main.py"]):
        result = subprocess.run([*uv, *command], cwd=tmp_path, capture_output=True, text=True)
        assert result.returncode == 0, result.stderr
    assert "num_specs=" in result.stdout


def test_types_are_checked(built: Path, tmp_path: Path) -> None:
    """Those of the package and the example are valid; type errors are reported."""
    (tmp_path / "example.py").write_text(EXAMPLE)
    (tmp_path / "wrong.py").write_text(WRONG)
    path, options = (
        {"MYPYPATH": f"{built}:{tmp_path}"},
        ("--strict", "--cache-dir", str(CACHE / "mypy")),
    )
    modules = ("-p", "cachelog_client", "-m", "example", "-m", "wrong")
    command = [sys.executable, "-m", "mypy", *options, *modules]
    result = subprocess.run(command, cwd=tmp_path, env=path, capture_output=True, text=True)
    errors = [line for line in result.stdout.splitlines() if ": error:" in line]
    assert [line.partition(":")[0] for line in errors] == ["wrong.py"] * 2, result.stdout
    assert "WhyCompare | None" in result.stdout
