"""The installed package, including ``python -m cachelog``, whose module only builds have."""

import shutil
import subprocess
import sys
import tomllib
from email.parser import BytesParser
from hashlib import sha256
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.server.commands import cachelog
from tests.server.servers import environ
from tests.server.wheels import ROOT, build, built_wheel, source_in

FOLDERS = ("queries", "fragments", "templates", "static")


@pytest.fixture(scope="module", params=["standard", "editable"])
def installed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the files that pip would install, without a network."""
    source, folder = (tmp_path_factory.mktemp(name) for name in ("source", "installed"))
    wheel = built_wheel(source, request.param)
    with ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


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
    result = subprocess.run(
        [sys.executable, "-S", "-c", script],
        env=environ() | {"PYTHONPATH": ":".join(path for path in sys.path if "site-pack" in path)},
        cwd=installed.anchor,
        capture_output=True,
        text=True,
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == cachelog(*option.split(), variables={"COLUMNS": "80"}).out


def test_files_of_pages_are_installed(installed: Path) -> None:
    """Documents, templates, scripts and styles are installed with the code that reads them."""
    script = (
        f"import site; site.addsitedir({str(installed)!r}); from importlib.resources import files; "
        f"here = files('server.pages'); "
        f"print(*(it.name for name in {FOLDERS} for it in (here / name).iterdir()))"
    )
    result = subprocess.run(
        [sys.executable, "-S", "-c", script], cwd=installed.anchor, capture_output=True, text=True
    )
    expected = [path.name for name in FOLDERS for path in (ROOT / "server/pages" / name).iterdir()]
    assert {Path(name).suffix for name in expected} >= {".graphql", ".html", ".css", ".js"}
    assert set(result.stdout.split()) == set(expected)


def test_module_has_no_import_effect(installed: Path) -> None:
    """Importing it has no effect; it is the only top-level module beside the three layers."""
    names = {
        path.name for path in installed.iterdir() if not path.name.endswith((".dist-info", ".pth"))
    }
    assert names - {"server", "schema", "snapshots"} == {"cachelog.py"}
    script = f"import site; site.addsitedir({str(installed)!r}); import cachelog"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert (result.stdout, result.stderr) == (b"", b"")


def test_wheel_is_built_from_the_sdist(tmp_path: Path) -> None:
    """It includes vendored files and the documentation if the sdist does; no npm, no git."""
    (tmp_path / "source").mkdir()
    (tmp_path / "unpacked").mkdir()
    source = source_in(tmp_path / "source")
    files = {"server/static/vendor/it.js": b"let it", "server/documentation/a/b.html": b"<p>"}
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
    assert {*licences} == parts | {"LICENSE", "server/licenses/mkdocs-material.txt"}
    for name in licences:
        assert (folder / "licenses" / name).read_bytes() == (ROOT / name).read_bytes()
