"""JavaScript programs that tests run, with their npm packages."""

import os
import shutil
import subprocess
from hashlib import sha256
from pathlib import Path

import pytest

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "cachelog-tests"


def installed(package: Path, folder: Path) -> Path:
    """Copy a package with its dependencies, or skip the test without npm outside of CI."""
    if not shutil.which("npm") and not os.environ.get("CI"):
        pytest.skip("node and npm are not installed")
    copy = Path(shutil.copytree(package, folder / package.name))
    (copy / "node_modules").symlink_to(_modules(package))
    return copy


def run(folder: Path, *command: str | Path) -> bytes:
    """Run a program in a folder; return its standard output."""
    result = subprocess.run(["node", *command], cwd=folder, capture_output=True, timeout=60)
    assert result.returncode == 0, (result.stderr + result.stdout).decode()
    return result.stdout


def _modules(package: Path) -> Path:
    """Return a folder node_modules with the dependencies of a package."""
    manifest = package / "package.json"
    folder = CACHE / f"{package.name}-{sha256(manifest.read_bytes()).hexdigest()[:12]}"
    if not folder.exists():
        partial = folder.with_name(f"{folder.name}.{os.getpid()}")
        partial.mkdir(parents=True)
        shutil.copy(manifest, partial)
        command = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund"]
        result = subprocess.run(command, cwd=partial, capture_output=True, text=True)
        if result.returncode:
            shutil.rmtree(partial, ignore_errors=True)
            pytest.fail(result.stderr)
        try:
            partial.rename(folder)
        except OSError:
            assert folder.exists(), (
                "neither this process nor another one has installed the packages"
            )
            shutil.rmtree(partial, ignore_errors=True)
    return folder / "node_modules"
