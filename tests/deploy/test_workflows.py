"""The GitHub workflows are valid, and a release publishes the version of its tag."""

import json
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from tests.deploy.files import ROOT, is_valid

FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_workflows_conform_to_the_schema(file: Path) -> None:
    """The one that editors use for GitHub."""
    assert is_valid("vendor.github-workflows", file)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_actions_are_pinned_by_commit(file: Path) -> None:
    """A tag that moves to other code does not reach a release."""
    for action in re.findall(r"uses: (\S+)", file.read_text("utf-8")):
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action)


def test_workflow_runs_the_scripts_of_ci() -> None:
    """They are the only list of the checks that a change must pass."""
    checks = yaml.safe_load(FILES[0].read_text("utf-8"))["jobs"]["checks"]
    commands = [step["run"] for step in checks["steps"] if "run" in step]
    assert commands == [".ci/run", ".ci/newest"]
    assert all((ROOT / command).is_file() for command in commands)


def step_of_release(text: str, job: str) -> str:
    """Return the script of the step of a job that contains a text."""
    steps = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text("utf-8"))["jobs"]
    (script,) = (step["run"] for step in steps[job]["steps"] if text in step.get("run", ""))
    return str(script)


@pytest.mark.parametrize(("tag", "code"), [("v0.1.0", 0), ("v0.1", 1), ("v0.0.9", 1)])
def test_only_the_newest_version_is_released(tag: str, code: int, tmp_path: Path) -> None:
    """A release fails unless the changelog begins with the version of its tag."""
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## [0.1.0] - today\n\n## [0.0.9]\n")
    script = step_of_release("CHANGELOG.md", "build")
    command = ["env", f"GITHUB_REF_NAME={tag}", "bash", "-e", "-c", script]
    assert subprocess.run(command, cwd=tmp_path).returncode == code


def test_clients_have_the_newest_version() -> None:
    """They are released together with the server."""
    (newest, *_) = re.findall(r"^## \[(.+)\]", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    python = tomllib.loads((ROOT / "clients/python/pyproject.toml").read_text("utf-8"))
    typescript = json.loads((ROOT / "clients/typescript/package.json").read_text())
    assert python["project"]["version"] == typescript["version"] == newest


def test_release_notes_are_the_section_of_the_version(tmp_path: Path) -> None:
    """The text below its heading in the changelog, up to the next heading."""
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    (tmp_path / "CHANGELOG.md").write_text(changelog)
    command = re.sub(r"^gh .*$", "", step_of_release("gh release", "github"), flags=re.MULTILINE)
    subprocess.run(
        ["env", "GITHUB_REF_NAME=v0.1.0", "bash", "-e", "-c", command], cwd=tmp_path, check=True
    )
    notes = (tmp_path / "notes.md").read_text("utf-8")
    assert notes.startswith("\nThe first version")
    assert notes in changelog
    assert "## [" not in notes
