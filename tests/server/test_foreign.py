"""Another package named ``schema`` in the same environment is refused, not run."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import server
from server.cli import require_own_schema
from tests.server.servers import environ

ROOT = Path(server.__file__).parents[1]
FOREIGN = 'raise SystemExit("foreign code was run")\n'


def start(*path: Path) -> "subprocess.CompletedProcess[str]":
    """Start the command line where modules are looked for in these folders, in this order.

    Libraries are found behind them, but not what else is installed (-S): the source of cachelog.
    """
    libraries = [Path(place) for place in sys.path if Path(place, "click").is_dir()]
    script = "import sys; from server.cli import main; sys.argv[1:] = ['--version']; main()"
    return subprocess.run(
        [sys.executable, "-S", "-c", script],
        env=environ() | {"PYTHONPATH": ":".join(map(str, (*path, *libraries)))},
        cwd=ROOT.anchor,
        capture_output=True,
        text=True,
    )


def test_its_own_schema_is_recognised() -> None:
    """Where nothing is wrong nothing is said."""
    require_own_schema()
    done = start(ROOT)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("file", ["schema.py", "schema/__init__.py"])
def test_a_schema_that_hides_it(file: str, tmp_path: Path) -> None:
    """One line says where it is and what to do; none of its code is run."""
    foreign = tmp_path / file
    foreign.parent.mkdir(exist_ok=True)
    foreign.write_text(FOREIGN)
    assert_refused(start(tmp_path, ROOT), foreign)


def test_a_schema_that_overwrote_it(tmp_path: Path) -> None:
    """Installed later into the same folder, it leaves only the files whose names it has not."""
    overwritten = installed_once_more(tmp_path)
    overwritten.write_text(FOREIGN)
    assert_refused(start(tmp_path), overwritten)


def test_a_schema_that_was_removed_again(tmp_path: Path) -> None:
    """It takes the file that both had with it."""
    installed_once_more(tmp_path)
    done = start(tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("cachelog: the package 'schema' lacks its first file: install ")
    assert done.stderr.count("\n") == 1


def installed_once_more(folder: Path) -> Path:
    """Install cachelog in a folder but for the first file of ``schema``, and return its place."""
    for name in ("server", "snapshots"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("static"))
    (folder / "schema").mkdir()
    for file in (ROOT / "schema").glob("*.py"):
        if file.name != "__init__.py":
            (folder / "schema" / file.name).symlink_to(file)
    return folder / "schema" / "__init__.py"


def assert_refused(done: "subprocess.CompletedProcess[str]", place: Path) -> None:
    """Assert that one line names the package at fault."""
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"cachelog: the package 'schema' at {place} is not cachelog's ")
    assert "an environment of its own" in done.stderr
    assert done.stderr.count("\n") == 1
