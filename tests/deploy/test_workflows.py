"""The workflows of GitHub: valid, and a release publishes what its tag says."""

import json
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from tests.deploy.files import ROOT
from tests.deploy.parsers import is_valid

FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_it_is_a_workflow(file: Path) -> None:
    """By the schema that GitHub's editors use."""
    assert is_valid("vendor.github-workflows", file)


def test_the_checks_are_those_of_ci() -> None:
    """There is one list of what a change has to pass."""
    checks = yaml.safe_load(FILES[0].read_text("utf-8"))["jobs"]["checks"]
    commands = [step["run"] for step in checks["steps"] if "run" in step]
    assert commands == [".ci/run", ".ci/newest"]
    assert all((ROOT / command).is_file() for command in commands)


def _run(name: str, job: str) -> str:
    steps = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text("utf-8"))["jobs"]
    (command,) = (it["run"] for it in steps[job]["steps"] if name in it.get("run", ""))
    assert isinstance(command, str)
    return command


@pytest.mark.parametrize(("tag", "code"), [("v0.1.0", 0), ("v0.1", 1), ("v0.0.9", 1)])
def test_only_the_tag_of_the_newest_version_is_released(
    tag: str, code: int, tmp_path: Path
) -> None:
    """Another one than the changelog begins with stops the release."""
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## [0.1.0] - today\n\n## [0.0.9]\n")
    command = ["env", f"GITHUB_REF_NAME={tag}", "bash", "-e", "-c", _run("CHANGELOG.md", "build")]
    assert subprocess.run(command, cwd=tmp_path).returncode == code


def test_the_clients_have_the_version_of_the_changelog() -> None:
    """They are released together."""
    (newest, *_) = re.findall(r"^## \[(.+)\]", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    python = tomllib.loads((ROOT / "clients/python/pyproject.toml").read_text("utf-8"))
    typescript = json.loads((ROOT / "clients/typescript/package.json").read_text())
    assert python["project"]["version"] == typescript["version"] == newest


def test_the_notes_of_a_release_are_those_of_its_version(tmp_path: Path) -> None:
    """What stands in the changelog below the version's heading, and nothing of another."""
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    (tmp_path / "CHANGELOG.md").write_text(changelog)
    command = re.sub(r"^gh .*$", "", _run("gh release", "github"), flags=re.MULTILINE)
    subprocess.run(
        ["env", "GITHUB_REF_NAME=v0.1.0", "bash", "-e", "-c", command], cwd=tmp_path, check=True
    )
    notes = (tmp_path / "notes.md").read_text("utf-8")
    assert notes.startswith("\nThe first version")
    assert notes in changelog
    assert "## [" not in notes
