"""The version of a build: from git, the changelog, or the environment."""

import subprocess
from pathlib import Path

import pytest

from server.build_version import SETTING, version_of

CHANGELOG = "# Changelog\n\n## [0.3.0] - today\n\n## [0.2.0]\n"


def git(folder: Path, *words: str) -> str:
    """Run a command of git; return what it prints."""
    command = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org", *words]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def commit(folder: Path) -> str:
    """Make a commit; return the beginning of its id."""
    git(folder, "commit", "--quiet", "--allow-empty", "--message", "x")
    return git(folder, "rev-parse", "--short", "HEAD")


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a source with a changelog, without git."""
    monkeypatch.delenv(SETTING, raising=False)
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG)
    return tmp_path


def test_without_git_the_changelog_says_it(source: Path) -> None:
    """As in an archive, or where git is not installed."""
    assert version_of(source) == "0.3.0"
    (source / ".git").mkdir()
    assert version_of(source) == "0.3.0"


def test_a_repository_around_it_is_another(source: Path) -> None:
    """Its tags are those of something else."""
    git(source, "init", "--quiet")
    commit(source)
    git(source, "tag", "v9.9.9")
    inside = source / "inside"
    inside.mkdir()
    (inside / "CHANGELOG.md").write_text(CHANGELOG)
    assert version_of(inside) == "0.3.0"


def test_a_tag_is_the_version(source: Path) -> None:
    """Other tags are not; commits after it are a part of the version, and so without a tag."""
    git(source, "init", "--quiet")
    first = commit(source)
    git(source, "tag", "nightly")
    assert version_of(source) == f"0.3.0+g{first}"
    git(source, "tag", "v0.3.1")
    assert version_of(source) == "0.3.1"
    second = commit(source)
    assert version_of(source) == f"0.3.1+1.g{second}"


def test_packagers_set_it(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a version, or as a tag; empty is not set."""
    for text, version in (("1.2.3", "1.2.3"), ("v1.2.3", "1.2.3"), ("", "0.3.0")):
        monkeypatch.setenv(SETTING, text)
        assert version_of(source) == version


def test_nothing_states_one(tmp_path: Path) -> None:
    """The build ends, and says what to set."""
    with pytest.raises(ValueError, match=f"neither a git tag nor CHANGELOG.md .* set {SETTING}"):
        version_of(tmp_path)
