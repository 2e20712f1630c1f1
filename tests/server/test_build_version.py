"""The version of a build: from git, the changelog, or the environment."""

import subprocess
from pathlib import Path

import pytest

from server.build_version import SETTING, version_of

CHANGELOG = "# Changelog\n\n## [0.3.0] - today\n\n## [0.2.0]\n"


def git(folder: Path, *words: str) -> str:
    """Run a git command; return its standard output."""
    command = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org", *words]
    result = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return result.stdout.strip()


def commit(folder: Path) -> str:
    """Create a commit; return its abbreviated id."""
    git(folder, "commit", "--quiet", "--allow-empty", "--message", "x")
    return git(folder, "rev-parse", "--short", "HEAD")


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a source folder with a changelog, without git."""
    monkeypatch.delenv(SETTING, raising=False)
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG)
    return tmp_path


def test_version_of_the_changelog(source: Path) -> None:
    """It applies in an archive, or if git is not installed."""
    assert version_of(source) == "0.3.0"
    (source / ".git").mkdir()
    assert version_of(source) == "0.3.0"


def test_enclosing_repository_is_ignored(source: Path) -> None:
    """Its tags are those of another project."""
    git(source, "init", "--quiet")
    commit(source)
    git(source, "tag", "v9.9.9")
    inside = source / "inside"
    inside.mkdir()
    (inside / "CHANGELOG.md").write_text(CHANGELOG)
    assert version_of(inside) == "0.3.0"


def test_version_of_a_tag(source: Path) -> None:
    """Other tags are ignored; later commits are part of the version."""
    git(source, "init", "--quiet")
    first = commit(source)
    git(source, "tag", "nightly")
    assert version_of(source) == f"0.3.0+g{first}"
    git(source, "tag", "v0.3.1")
    assert version_of(source) == "0.3.1"
    second = commit(source)
    assert version_of(source) == f"0.3.1+1.g{second}"


def test_version_of_the_environment(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a version or as a tag; an empty variable counts as unset."""
    for text, version in (("1.2.3", "1.2.3"), ("v1.2.3", "1.2.3"), ("", "0.3.0")):
        monkeypatch.setenv(SETTING, text)
        assert version_of(source) == version


def test_missing_version(tmp_path: Path) -> None:
    """The build fails, and states what to set."""
    with pytest.raises(ValueError, match=f"neither a git tag nor CHANGELOG.md .* set {SETTING}"):
        version_of(tmp_path)
