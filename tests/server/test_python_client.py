"""clients/python: it builds from the schema, and its README runs against a real server."""

import asyncio
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

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "clients" / "python"
README = (PACKAGE / "README.md").read_text("utf-8")
(EXAMPLE,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
WRONG = """
from cachelog_client import Client
from cachelog_client.questions import Why

compared = Client("http://127.0.0.1").ask(Why(base="a", head="b")).compare
print(compared.causes)
print(Why(base=1, head="b"))
reveal_type(compared)
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the contents of a wheel that is built from a checkout."""
    checkout, folder = tmp_path_factory.mktemp("checkout"), tmp_path_factory.mktemp("installed")
    shutil.copytree(PACKAGE, checkout / "clients/python")
    shutil.copytree(ROOT / "clients/documents", checkout / "clients/documents")
    (checkout / "schema").mkdir()
    shutil.copy(ROOT / "schema/schema.graphql", checkout / "schema")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel"]
    subprocess.run(command, cwd=checkout / "clients/python", check=True, capture_output=True)
    (wheel,) = (checkout / "clients/python/dist").iterdir()
    shutil.unpack_archive(wheel, folder, "zip")
    return folder


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
    """It prints causes with their numbers, and an error with its code."""
    program = EXAMPLE.replace("http://127.0.0.1:8000", new_server_url)
    program = program.replace("develop~1", "develop-2025-01-26")
    exec(program, {"__name__": client.__name__})  # noqa: S102
    *causes, error = capsys.readouterr().out.splitlines()
    assert causes
    assert all(re.fullmatch(r"\d+ .+", line) for line in causes)
    assert error.startswith("REVISION_NOT_FOUND no revision 'develp'")


def test_document_is_sent_once(client: ModuleType, new_server_url: str) -> None:
    """Then its hash suffices; a request that is too long for a URL is sent in full."""
    methods: list[str] = []
    http = httpx.Client(event_hooks={"request": [lambda request: methods.append(request.method)]})
    packages = import_module("cachelog_client.questions").Packages
    with client.Client(f"{new_server_url}/graphql", http) as session:
        first, second = (session.ask(packages(text="py-")) for _ in range(2))
        assert first == second
        assert all(node.name.startswith("py-") for node in first.revision.packages.nodes)
        with pytest.raises(client.AskError) as error_info:
            session.ask(packages(text="x" * 5000))
        assert error_info.value.code == "LIMIT_EXCEEDED"
    assert methods == ["GET", "POST", "GET", "POST"]


def test_all_queries_run_in_an_event_loop(client: ModuleType, new_server_url: str) -> None:
    """They are concurrent, and each has its own result type."""
    module = import_module("cachelog_client.questions")
    queries = [getattr(module, path.stem) for path in (ROOT / "clients/documents").iterdir()]
    usual = {"base": "develop-2025-01-26", "head": "develop", "query": "hdf5"}

    requests = [
        question(**{name: usual[name] for name in usual.keys() & {*question.__struct_fields__}})
        for question in queries
    ]

    async def answers() -> list[object]:
        async with client.AsyncClient(f"{new_server_url}/graphql") as session:
            return [*await asyncio.gather(*map(session.ask, requests))]

    for question, answer in zip(queries, asyncio.run(answers()), strict=True):
        assert type(answer) is question.ANSWER


@pytest.mark.parametrize(("status", "text"), [(502, "<html>"), (429, '{"errors": []}')])
def test_responses_of_other_servers_are_errors(status: int, text: str, client: ModuleType) -> None:
    """The error has the status, and when to try again."""
    headers = {"retry-after": "7"}
    transport = httpx.MockTransport(lambda _: httpx.Response(status, headers=headers, text=text))
    packages = import_module("cachelog_client.questions").Packages
    with (
        client.Client("http://127.0.0.1/graphql", httpx.Client(transport=transport)) as session,
        pytest.raises(client.AskError, match=str(status)) as error_info,
    ):
        session.ask(packages())
    assert (error_info.value.status, error_info.value.code) == (status, None)
    assert error_info.value.retry_after == 7


@pytest.mark.long
def test_types_are_checked(built: Path, tmp_path: Path) -> None:
    """Those of the package and the example are valid; type errors are reported."""
    (tmp_path / "example.py").write_text(EXAMPLE)
    (tmp_path / "wrong.py").write_text(WRONG)
    path, options = {"MYPYPATH": f"{built}:{tmp_path}"}, ("--strict", "--no-incremental")
    modules = ("-p", "cachelog_client", "-m", "example", "-m", "wrong")
    command = [sys.executable, "-m", "mypy", *options, *modules]
    result = subprocess.run(command, cwd=tmp_path, env=path, capture_output=True, text=True)
    errors = [line for line in result.stdout.splitlines() if ": error:" in line]
    assert [line.partition(":")[0] for line in errors] == ["wrong.py"] * 2, result.stdout
    assert "WhyCompare | None" in result.stdout
