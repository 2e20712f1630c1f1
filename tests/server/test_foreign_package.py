"""Another package named ``schema`` in the same environment is rejected, and not executed."""

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
    """Start the command line with these folders first in the module search path.

    Libraries follow, but no other installed packages (-S), such as the source of cachelog.
    """
    libraries = [Path(path_) for path_ in sys.path if Path(path_, "click").is_dir()]
    script = "import sys; from server.cli import main; sys.argv[1:] = ['--version']; main()"
    return subprocess.run(
        [sys.executable, "-S", "-c", script],
        env=environ() | {"PYTHONPATH": ":".join(map(str, (*path, *libraries)))},
        cwd=ROOT.anchor,
        capture_output=True,
        text=True,
    )


def test_own_schema_is_accepted() -> None:
    """Without output."""
    require_own_schema()
    result = start(ROOT)
    assert (result.returncode, result.stderr) == (0, "")


def assert_rejected(result: "subprocess.CompletedProcess[str]", message: str) -> None:
    """Assert that the error is one line that starts with a message."""
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith(f"cachelog: the package 'schema' {message}")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("file", ["schema.py", "schema/__init__.py"])
def test_foreign_schema_that_precedes_is_rejected(file: str, tmp_path: Path) -> None:
    """The error states its path and what to do; none of its code is executed."""
    foreign = tmp_path / file
    foreign.parent.mkdir(exist_ok=True)
    foreign.write_text(FOREIGN)
    result = start(tmp_path, ROOT)
    assert_rejected(result, f"at {foreign} is not cachelog's ")
    assert "an environment of its own" in result.stderr


def test_foreign_schema_that_overwrites_is_rejected(tmp_path: Path) -> None:
    """If another package replaces ``schema/__init__.py``, and later removes it."""
    for name in ("server", "snapshots"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "schema").mkdir()
    for file in (ROOT / "schema").glob("*.py"):
        (tmp_path / "schema" / file.name).symlink_to(file)
    overwritten = tmp_path / "schema" / "__init__.py"
    overwritten.unlink()
    assert_rejected(start(tmp_path), "lacks its first file: install ")
    overwritten.write_text(FOREIGN)
    assert_rejected(start(tmp_path), f"at {overwritten} is not cachelog's ")
