"""clients/python: builds from the schema, and asks a real server as its README shows."""

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

from server.settings import Settings
from tests.server.servers import application

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "clients" / "python"
(EXAMPLE,) = re.findall(
    r"```python\n(.*?)```", (PACKAGE / "README.md").read_text("utf-8"), re.DOTALL
)
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
    """Return a folder with what a wheel has that is built from a checkout."""
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


@pytest.fixture
def url(demo_catalog: Path) -> Iterator[str]:
    """Return the URL of a new server of the demo catalog, which knows no document yet."""
    with application(Settings(catalog=str(demo_catalog))) as http:
        yield str(http.base_url).rstrip("/")


def test_the_example_of_its_readme(
    client: ModuleType, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Causes with their numbers, and an error with its code."""
    program = EXAMPLE.replace("http://127.0.0.1:8000", url).replace(
        "develop~1", "develop-2025-01-26"
    )
    exec(program, {"__name__": client.__name__})  # noqa: S102
    *causes, error = capsys.readouterr().out.splitlines()
    assert causes
    assert all(re.fullmatch(r"\d+ .+", line) for line in causes)
    assert error.startswith("REVISION_NOT_FOUND no revision 'develp'")


def test_a_document_is_sent_once(client: ModuleType, url: str) -> None:
    """Then its hash is enough; what is too long for an address is sent whole."""
    methods: list[str] = []
    http = httpx.Client(event_hooks={"request": [lambda it: methods.append(it.method)]})
    packages = import_module("cachelog_client.questions").Packages
    with client.Client(f"{url}/graphql", http) as asking:
        first, second = (asking.ask(packages(text="py-")) for _ in range(2))
        assert first == second
        assert all(node.name.startswith("py-") for node in first.revision.packages.nodes)
        with pytest.raises(client.AskError) as refused:
            asking.ask(packages(text="x" * 5000))
        assert refused.value.code == "LIMIT_EXCEEDED"
    assert methods == ["GET", "POST", "GET", "POST"]


def test_every_question_is_answered_in_an_event_loop(client: ModuleType, url: str) -> None:
    """All at once, each by its own types."""
    module = import_module("cachelog_client.questions")
    questions = [getattr(module, path.stem) for path in (ROOT / "clients/documents").iterdir()]
    smaller = {"base": "develop-2025-01-26", "head": "develop", "query": "hdf5"}

    async def answers() -> list[object]:
        async with client.AsyncClient(f"{url}/graphql") as asking:
            asked = [
                question(
                    **{
                        name: smaller[name]
                        for name in question.__struct_fields__
                        if name in smaller
                    }
                )
                for question in questions
            ]
            return [*await asyncio.gather(*map(asking.ask, asked))]

    for question, answer in zip(questions, asyncio.run(answers()), strict=True):
        assert type(answer) is question.ANSWER


@pytest.mark.parametrize(("status", "text"), [(502, "<html>"), (429, '{"errors": []}')])
def test_an_answer_of_something_else_is_an_error(
    status: int, text: str, client: ModuleType
) -> None:
    """With its status, and when to ask again."""
    headers = {"retry-after": "7"}
    transport = httpx.MockTransport(lambda _: httpx.Response(status, headers=headers, text=text))
    packages = import_module("cachelog_client.questions").Packages
    with (
        client.Client("http://127.0.0.1/graphql", httpx.Client(transport=transport)) as asking,
        pytest.raises(client.AskError, match=str(status)) as refused,
    ):
        asking.ask(packages())
    assert (refused.value.status, refused.value.code) == (status, None)
    assert refused.value.retry_after == 7


@pytest.mark.long
def test_types_hold(built: Path, tmp_path: Path) -> None:
    """Of the package, of the example, and against what is wrong."""
    (tmp_path / "example.py").write_text(EXAMPLE)
    (tmp_path / "wrong.py").write_text(WRONG)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--strict", "--no-incremental"),
            *("-p", "cachelog_client", "-m", "example", "-m", "wrong"),
        ],
        cwd=tmp_path,
        env={"MYPYPATH": f"{built}:{tmp_path}"},
        capture_output=True,
        text=True,
    )
    errors = [line for line in done.stdout.splitlines() if ": error:" in line]
    assert [line.partition(":")[0] for line in errors] == ["wrong.py"] * 2, done.stdout
    assert "WhyCompare | None" in done.stdout
