"""Wheels of cachelog as pip builds them, without a network."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from server.build_version import SETTING
from snapshots.program import cachelog_version

ROOT = Path(__file__).parents[2]
SOURCE = (
    "pyproject.toml",
    "README.md",
    "CHANGELOG.md",
    "LICENSE",
    "server",
    "schema",
    "snapshots",
)


def source_in(folder: Path) -> Path:
    """Copy the source of builds to a folder, without the files that pages load."""
    for name in SOURCE:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, folder / name)
    (folder / "server/vendor.toml").write_text("")
    return folder


def build(source: Path, target: str, **variables: str) -> Path:
    """Build a target of hatchling with these variables; return the file."""
    before = {*(source / "dist").glob("*")}
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", target],
        cwd=source,
        env=os.environ | variables,
        check=True,
        capture_output=True,
    )
    (built,) = {*(source / "dist").glob("*")} - before
    return built


def built_wheel(source: Path, kind: str = "standard") -> Path:
    """Copy the source to the folder ``source``, build it there, and return the wheel."""
    return build(source_in(source), f"wheel:{kind}", **{SETTING: cachelog_version()})
