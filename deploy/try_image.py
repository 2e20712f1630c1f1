"""Builds the image and runs it, without an engine: ``python deploy/try_image.py [--debian]``.

It needs buildah, and root where that cannot map users. The image must not be larger than
``--megabytes`` allows. In it a git repository is imported and the catalog verified as the image's
user, and the command that it starts with serves until the health check is content. All of it is
removed, unless ``--storage`` names a folder for it, where a second run finds layers and the base.

``--debian`` is for a machine that reaches no registry of images: the base is made of Debian's
packages by debootstrap, in place of that of the Dockerfile, and trusts what this machine trusts.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from socket import socket
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).parents[1]
IMAGE = "localhost/cachelog:try"
PORT = 8000
START_SECONDS = 60
DEBIAN = ("trixie", "http://deb.debian.org/debian")
PACKAGES = ("ca-certificates", "python-is-python3", "python3", "python3-pip", "python3-venv")
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
# What base images leave out: documentation, and what apt keeps of packages.
UNPACKED = ("doc", "info", "locale", "man")
CLEAN_APT = """DPkg::Post-Invoke { "rm -f /var/cache/apt/archives/*.deb"; };
Dir::Cache::pkgcache ""; Dir::Cache::srcpkgcache "";
"""

TRIAL = """set -eux
mkdir -p /data/repository/_cache/develop/zlib
cd /data/repository
cat > _cache/develop/zlib/specs.md <<'END'
---
title: zlib
categories: [package, develop]
spec_details: [{"hash": "23r4fq5ly72u3bfmbi3o3unokk4d5ipr", "versions": ["1.3.1"],
  "os": "ubuntu24.04", "platform": "linux", "target": "x86_64_v3", "variants": ["+shared"],
  "stacks": ["e4s", "root"]}]
---
END
git init --quiet
git add .
git -c user.name=x -c user.email=x@example.org commit --quiet --message pages
cachelog import --git /data/repository
cachelog verify
cachelog revisions
# The part of git that speaks HTTPS is there: it does not fail before it connects.
git ls-remote https://127.0.0.1:1/ 2>&1 | grep -i connect
python -c 'import pyarrow.compute, pyarrow.dataset, pyarrow.fs, pyarrow.parquet'
"""


class Failed(Exception):
    """The image is not as it should be; the text says why."""


class Buildah:
    """buildah with a storage of its own, so that a stand-in of the base is nobody else's."""

    def __init__(self, storage: Path) -> None:
        self._command = ["buildah", "--root", str(storage / "root")]
        self._command += ["--runroot", str(storage / "run")]

    def run(self, *words: str | Path) -> None:
        """Run a command of buildah; raises CalledProcessError where it fails."""
        print("$ buildah", *words, flush=True)
        subprocess.run([*self._command, *words], cwd=ROOT, check=True)  # noqa: S603

    def output(self, *words: str) -> str:
        """Return what a command of buildah prints."""
        command = [*self._command, *words]
        return subprocess.run(  # noqa: S603
            command, check=True, stdout=subprocess.PIPE, text=True
        ).stdout.strip()

    def start(self, *words: str | Path) -> "subprocess.Popen[bytes]":
        """Start a command of buildah."""
        return subprocess.Popen([*self._command, *words])  # noqa: S603

    def succeeds(self, *words: str | Path) -> bool:
        """Tell whether a command of buildah succeeds, without what it prints."""
        command = [*self._command, *words]
        return subprocess.run(command, capture_output=True).returncode == 0  # noqa: S603


def base_name() -> str:
    """Return the image that the stages of the Dockerfile begin with."""
    text = (ROOT / "Dockerfile").read_text("utf-8")
    return re.findall(r"^ARG BASE=(\S+)", text, re.MULTILINE)[0]


def make_base(buildah: Buildah, name: str, folder: Path) -> None:
    """Make a base of Debian's packages under a name, by way of an empty folder."""
    suite, mirror = DEBIAN
    packages = ",".join(PACKAGES)
    command = ["debootstrap", "--variant=minbase", f"--include={packages}", suite, folder, mirror]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # noqa: S603
    for part in UNPACKED:
        shutil.rmtree(folder / "usr/share" / part, ignore_errors=True)
    for part in ("var/cache/apt", "var/lib/apt/lists"):
        shutil.rmtree(folder / part)
    rules = "".join(f"path-exclude /usr/share/{part}/*\n" for part in UNPACKED)
    (folder / "etc/dpkg/dpkg.cfg.d/slim").write_text(rules, "utf-8")
    (folder / "etc/apt/apt.conf.d/slim").write_text(CLEAN_APT, "utf-8")
    shutil.copy(CERTIFICATES, folder / CERTIFICATES.removeprefix("/"))
    container = buildah.output("from", "scratch")
    buildah.run("add", "--quiet", container, folder, "/")
    # npm and pip bring certificates of their own.
    for variable in ("NODE_EXTRA_CA_CERTS", "PIP_CERT"):
        buildah.run("config", "--env", f"{variable}={CERTIFICATES}", container)
    buildah.run("commit", "--quiet", "--rm", container, f"docker.io/library/{name}")


def megabytes(size: str) -> float:
    """Return the number of megabytes in a size as buildah prints it, such as 1.2 GB."""
    number, unit = size.split()
    return float(number) * {"KB": 1e-3, "MB": 1, "GB": 1e3}[unit]


def try_image(buildah: Buildah, data: Path) -> None:
    """Run the image's trial and its server, with its volume in a folder; raises Failed."""
    config: dict[str, Any] = json.loads(buildah.output("inspect", "--type", "image", IMAGE))
    image = config["Docker"]["config"]
    user, group = (int(number) for number in image["User"].split(":"))
    shutil.chown(data, user, group)
    container = buildah.output("from", IMAGE)
    running = ("run", "--isolation", "chroot", "--volume", f"{data}:/data", container, "--")
    buildah.run(*running, "sh", "-c", TRIAL)
    with socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    kind, *check = image["Healthcheck"]["Test"]
    if kind != "CMD":
        raise Failed(f"the health check is not a command but {kind}")
    check = [word.replace(f":{PORT}/", f":{port}/") for word in check]
    # The network is that of the machine.
    server = buildah.start(*running, *image["Cmd"], "--host", "127.0.0.1", "--port", str(port))
    try:
        deadline = time.monotonic() + START_SECONDS
        while not buildah.succeeds(*running, *check):
            if server.poll() is not None or time.monotonic() > deadline:
                raise Failed("the server ended, or its health check fails for too long")
            time.sleep(1)
    finally:
        server.terminate()
        server.wait()


def main() -> int:
    """Build and try the image, and return an exit code."""
    summary, _, details = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(description=summary, epilog=details)
    parser.add_argument("--debian", action="store_true", help="make the base of Debian's packages")
    parser.add_argument("--storage", type=Path, metavar="FOLDER", help="where to keep all of it")
    parser.add_argument("--megabytes", type=int, default=550, help="the image's largest size")
    options = parser.parse_args()
    needed = ["buildah", *(["debootstrap"] if options.debian else [])]
    if lacking := [program for program in needed if not shutil.which(program)]:
        print(f"{' and '.join(lacking)} must be installed", file=sys.stderr)
        return 2
    with ExitStack() as kept:
        temporary = partial(TemporaryDirectory, prefix="cachelog-image-")
        storage = (options.storage or Path(kept.enter_context(temporary()))).resolve()
        buildah = Buildah(storage)
        base = base_name()
        pull = "--pull-never" if options.debian else "--pull"
        try:
            present = buildah.output("images", "--quiet", "--filter", f"reference={base}")
            if options.debian and not present:
                make_base(buildah, base, Path(kept.enter_context(temporary())))
            build = (
                "build",
                "--isolation",
                "chroot",
                "--layers",
                "--format",
                "docker",
                pull,
                "--tag",
                IMAGE,
            )
            buildah.run(*build, ".")
            size = buildah.output("images", "--format", "{{.Size}}", IMAGE)
            print(f"the image has {size}")
            if megabytes(size) > options.megabytes:
                raise Failed(f"the image has {size}, more than {options.megabytes} MB")
            try_image(buildah, Path(kept.enter_context(temporary())))
        except subprocess.CalledProcessError as error:
            print(f"{error.cmd[0]} exited with {error.returncode}", file=sys.stderr)
            return 1
        except Failed as error:
            print(error, file=sys.stderr)
            return 1
    print("the image imports, verifies and serves")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
