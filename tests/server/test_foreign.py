"""Another package named ``schema`` in the same environment is told, not run."""

import subprocess
import sys
from pathlib import Path

import pytest

import server
from server.foreign import require_own_schema
from tests.server.servers import environ

ROOT = Path(server.__file__).parents[1]
FOREIGN = 'raise SystemExit("foreign code was run")\n'


def start(*first: Path) -> "subprocess.CompletedProcess[str]":
    """Start the command line where these folders come first in the path of modules."""
    path = ":".join(map(str, (*first, ROOT)))
    script = "import sys; from server.cli import main; sys.argv[1:] = ['--version']; main()"
    return subprocess.run(
        [sys.executable, "-c", script],
        env=environ() | {"PYTHONPATH": path},
        cwd=ROOT.anchor,
        capture_output=True,
        text=True,
    )


def test_its_own_schema_is_recognised() -> None:
    """Where nothing is wrong nothing is said."""
    require_own_schema()
    done = start()
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("file", ["schema.py", "schema/__init__.py"])
def test_a_schema_that_hides_it(file: str, tmp_path: Path) -> None:
    """One line says where it is and what to do; none of its code is run."""
    foreign = tmp_path / file
    foreign.parent.mkdir(exist_ok=True)
    foreign.write_text(FOREIGN)
    assert_told(start(tmp_path), foreign)


def test_a_schema_that_overwrote_it(tmp_path: Path) -> None:
    """Installed later into the same folder, it leaves only the files whose names it has not."""
    for name in ("server", "snapshots"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "schema").mkdir()
    for file in (ROOT / "schema").glob("*.py"):
        (tmp_path / "schema" / file.name).symlink_to(file)
    overwritten = tmp_path / "schema" / "__init__.py"
    overwritten.unlink()
    overwritten.write_text(FOREIGN)
    assert_told(start(tmp_path), overwritten)


def assert_told(done: "subprocess.CompletedProcess[str]", place: Path) -> None:
    """Hold that the fault is told in one line."""
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"cachelog: the package 'schema' at {place} is not cachelog's ")
    assert "an environment of its own" in done.stderr
    assert done.stderr.count("\n") == 1
