"""deploy/spack-cachelog: the command, loaded and called as by Spack, with a real server."""

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import httpx
import pytest

from server.settings import Settings
from tests.deploy.files import ROOT
from tests.schema.default_api import api
from tests.server.servers import application, free_port

FILE = ROOT / "deploy/spack-cachelog/cachelog/cmd/cachelog.py"
REF = "develop-2025-01-26"

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def url(demo_catalog: Path) -> Iterator[str]:
    """Return the URL of a server of the demo catalog."""
    with application(Settings(catalog=str(demo_catalog))) as client:
        yield str(client.base_url).rstrip("/")


@pytest.fixture(scope="module")
def command() -> ModuleType:
    """Import the module by its path, as Spack does; it has the names that commands must define."""
    loader = spec_from_file_location("cachelog_command", FILE)
    assert loader
    assert loader.loader
    module = module_from_spec(loader)
    loader.loader.exec_module(module)
    assert {"description", "section", "level", "setup_parser", "cachelog"} <= {*dir(module)}
    return module


@pytest.fixture
def run(command: ModuleType, capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs the command as Spack does; it returns code, output and errors."""

    def run_command(*words: str) -> tuple[int, str, str]:
        parser = argparse.ArgumentParser("spack cachelog")
        command.setup_parser(parser)
        code = command.cachelog(parser, parser.parse_args(words))
        out, err = capsys.readouterr()
        return code, out, err

    return run_command


def locked(folder: Path, *specs: dict[str, Any]) -> str:
    """Write a lock file whose root is the first spec; return its path."""
    nodes = {spec["hash"]: {"version": "1", **spec} for spec in specs}
    roots = [{"hash": specs[0]["hash"], "spec": specs[0]["name"]}]
    file = folder / "spack.lock"
    file.write_text(json.dumps({"_meta": {}, "roots": roots, "concrete_specs": nodes}))
    return str(file)


@pytest.mark.parametrize("name", ["WHY", "REVISIONS", "PACKAGE", "CHECK"])
def test_documents_are_valid_and_allowed(command: ModuleType, name: str) -> None:
    """In the schema of this version, within the cost limit."""
    document: str = getattr(command, name)
    assert api.documents.get(document).errors == ()
    variables = {"first": 20, "specs": [{"hash": "a" * 32, "name": "x"}] * command.BATCH}
    assert api.cost(document, None, variables).units <= api.limits.max_cost


def test_why_prints_the_largest_causes(run: Run, url: str) -> None:
    """Up to the limit, and the number of the others."""
    code, out, err = run("why", f"{REF}..develop", "--server", url, "--limit", "2")
    code_of_all, out_of_all, _ = run("why", f"{REF}...develop", "--server", url)
    assert (code, code_of_all, err) == (0, 0, "")
    numbers = [int(line.split()[0]) for line in out.splitlines()[2:4]]
    assert numbers == sorted(numbers, reverse=True)
    assert "more causes" in out.splitlines()[-1]
    assert out_of_all.startswith("\n".join(out.splitlines()[:4]))


def test_log_prints_revisions_and_packages(run: Run, url: str) -> None:
    """One line each, newest first."""
    code, out, err = run("log", "--server", url)
    assert (code, err) == (0, "")
    assert out.startswith("develop@")
    code, out, err = run("log", "hdf5", "--series", "develop", "--server", url)
    assert (code, err) == (0, "")
    assert "specs +" in out


def test_check_counts_specs_in_the_cache(run: Run, url: str, tmp_path: Path) -> None:
    """It prints the nearest spec for a missing one, and ignores externals."""
    query = f'{{ revision(ref: "{REF}") {{ specs(first: 1) {{ nodes {{ hash name }} }} }} }}'
    data = httpx.post(f"{url}/graphql", json={"query": query}).json()["data"]
    (present,) = data["revision"]["specs"]["nodes"]
    server = ("--server", url, "--in", REF)
    assert run("check", locked(tmp_path, present), *server)[0] == 0
    external = {"hash": "e" * 32, "name": "glibc", "external": {"path": "/usr"}}
    absent = {"hash": "a" * 32, "name": present["name"], "version": "99"}
    code, out, err = run("check", locked(tmp_path, present, absent, external), *server)
    assert (code, err) == (1, "")
    assert out.startswith(f"1 of 2 specs are in {REF}@")
    assert f"- {present['name']}@99 /aaaaaaa; nearest: /" in out


def test_check_uses_the_active_environment(
    run: Run, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that Spack returns; without one, it fails."""
    absent = {"hash": "a" * 32, "name": "nothing"}
    environment = SimpleNamespace(lock_path=locked(tmp_path, absent))
    spack = SimpleNamespace(environment=SimpleNamespace(active_environment=lambda: environment))
    monkeypatch.setitem(sys.modules, "spack", spack)
    monkeypatch.setitem(sys.modules, "spack.environment", spack.environment)
    assert run("check", "--server", url)[1].startswith("0 of 1 specs are in develop")
    spack.environment.active_environment = lambda: None
    code, _, err = run("check", "--server", url)
    assert (code, "no active environment" in err) == (2, True)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ((), "usage: spack cachelog why|log|check"),
        (("why",), "which server? Use --server URL"),
        (("why", "--server", "ftp://x"), "ftp://x is not the URL of a server"),
        (("why", "develop", "--server", "{url}"), "develop is not BASE..HEAD"),
        (("why", "develp..develop", "--server", "{url}"), "nearest: develop"),
        (("log", "--series", "nope", "--server", "{url}"), "there is no series nope"),
        (("log", "nope", "--server", "{url}"), "nope was never in the series develop"),
        (("check", "/nope", "--server", "{url}"), "/nope cannot be read as a spack.lock"),
        (("why", "--server", "{url}/nope"), "answers HTTP Error 404"),
        (("why", "--server", "{free}"), "cannot be reached"),
    ],
)
def test_failures_are_one_line(
    words: tuple[str, ...], reason: str, run: Run, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On standard error, with exit code 2."""
    monkeypatch.delenv("CACHELOG_SERVER", raising=False)
    free = f"http://127.0.0.1:{free_port()}"
    code, out, err = run(*(word.format(url=url, free=free) for word in words))
    assert (code, out) == (2, "")
    assert reason in err
    assert len(err.splitlines()) == 1
