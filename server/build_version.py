"""The version of a build: that of the git tag vX.Y.Z, or of the newest section of the changelog.

The number of commits since the tag and the commit are appended (``0.3.0+15.g1f2e3d4``); without a
tag, only the commit. ``CACHELOG_BUILD_VERSION`` overrides the version. This module runs only at
build time and is not installed.
"""

import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]
SETTING = "CACHELOG_BUILD_VERSION"


def version_of(root: Path) -> str:
    """Return the version of the source in a folder. Raises ValueError if it is not stated."""
    if version := os.environ.get(SETTING):
        return version.removeprefix("v")
    described = _described(root)
    if match := re.fullmatch(r"v(.+)-(\d+)-(g[0-9a-f]+)", described):
        version, number, commit = match.groups()
        return version if number == "0" else f"{version}+{number}.{commit}"
    changelog = root / "CHANGELOG.md"
    text = changelog.read_text("utf-8") if changelog.exists() else ""
    newest = re.search(r"^## \[(\d+\.\d+\.\d+)\]", text, re.MULTILINE)
    if newest is None:
        raise ValueError(f"neither a git tag nor CHANGELOG.md states a version: set {SETTING}")
    return f"{newest[1]}+g{described}" if described else newest[1]


def _described(root: Path) -> str:
    """Return the last tag with the commits since then, or else the commit; empty without git."""
    if not (root / ".git").exists():  # git would otherwise use a repository around the folder
        return ""
    command = ["git", "describe", "--tags", "--long", "--always", "--match", "v[0-9]*"]
    try:
        done = subprocess.run(  # noqa: S603
            command, cwd=root, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()


__version__ = version_of(ROOT)

if __name__ == "__main__":
    print(__version__)
