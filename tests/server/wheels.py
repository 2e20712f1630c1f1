"""Wheels of cachelog as pip would build them, without a network."""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
BUILT = ("pyproject.toml", "README.md", "LICENSE", "server", "schema", "snapshots")


def built_wheel(source: Path, kind: str = "standard") -> Path:
    """Copy what is built to the folder ``source``, build it there, and return the wheel."""
    for name in BUILT:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, source / name)
    # What is fetched for the page is another test's.
    (source / "server/vendor.toml").write_text("")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", f"wheel:{kind}"],
        cwd=source,
        check=True,
        capture_output=True,
    )
    (wheel,) = (source / "dist").glob("*.whl")
    return wheel
