"""Programs in JavaScript that tests run, with the npm packages that they need beside them."""

import os
import shutil
import subprocess
from hashlib import sha256
from pathlib import Path

import pytest

_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "cachelog-tests"


def installed(package: Path, folder: Path) -> Path:
    """Copy a package into a folder of the test's own, with the packages that it needs; return it.

    npm installs these once for each content of package.json. Skips the test where there is no npm,
    but not in CI.
    """
    if not shutil.which("npm") and not os.environ.get("CI"):
        pytest.skip("node and npm are not installed")
    copy = Path(shutil.copytree(package, folder / package.name))
    (copy / "node_modules").symlink_to(_modules(package))
    return copy


def run(folder: Path, *command: str | Path) -> bytes:
    """Run a program in a folder and return what it prints."""
    done = subprocess.run(["node", *command], cwd=folder, capture_output=True, timeout=60)
    assert done.returncode == 0, (done.stderr + done.stdout).decode()
    return done.stdout


def _modules(package: Path) -> Path:
    """Return the folder node_modules that package.json asks for."""
    manifest = package / "package.json"
    folder = _CACHE / f"{package.name}-{sha256(manifest.read_bytes()).hexdigest()[:12]}"
    if not folder.exists():
        making = folder.with_name(f"{folder.name}.{os.getpid()}")
        making.mkdir(parents=True)
        shutil.copy(manifest, making)
        command = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund"]
        done = subprocess.run(command, cwd=making, capture_output=True, text=True)
        if done.returncode:
            shutil.rmtree(making, ignore_errors=True)
            pytest.fail(done.stderr)
        try:
            making.rename(folder)
        except OSError:
            assert folder.exists(), "another process has installed them in the meantime"
            shutil.rmtree(making, ignore_errors=True)
    return folder / "node_modules"
