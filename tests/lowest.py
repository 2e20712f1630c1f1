"""Test cachelog with the lowest supported versions of its dependencies: ``python -m tests.lowest``.

uv installs the lowest version of each dependency in pyproject.toml into a new environment, in
which cachelog imports, verifies, compares and serves a catalog. ``--newest`` installs the
newest versions instead, ignoring upper bounds, to find incompatibilities early.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import httpx

from tests.demo_histories import history, write_pages
from tests.server.servers import serving_by

ROOT = Path(__file__).parent.parent
COMMANDS = (
    ("import", "pages/develop-2025-01-05", "pages/develop"),
    ("verify",),
    ("notes", "develop-2025-01-05", "develop", "--template", "chat"),
)
"""The commands to run before the catalog is served."""

QUERY = '{ revision(ref: "develop") { specs(first: 1) { totalCount nodes { name stackNames } } } }'

BOUNDED = ("graphql-core", "strawberry-graphql")
"""Dependencies with an upper bound in pyproject.toml, as cachelog subclasses parts of them."""


def main() -> int:
    """Install and run cachelog; return 0, or raise the error of a failing command."""
    with tempfile.TemporaryDirectory() as folder:
        program = _install(Path(folder), newest="--newest" in sys.argv)
        for snapshot in history(revisions=2, packages=30, specs=200):
            write_pages(snapshot, Path(folder, "pages"))
        for command in COMMANDS:
            print(f"$ cachelog {' '.join(command)}", flush=True)
            subprocess.run([program, *command], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        print("$ cachelog serve", flush=True)
        _serve(program, Path(folder))
    return 0


def _install(folder: Path, *, newest: bool) -> Path:
    """Install cachelog with the lowest or newest versions in a folder; return the program."""
    uv = Path(sys.executable).with_name("uv")
    environment, unbounded = folder / "environment", folder / "unbounded.txt"
    unbounded.write_text("\n".join(BOUNDED))
    versions = ("--override", unbounded) if newest else ("--resolution", "lowest-direct")
    subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, environment], check=True)
    install = [uv, "pip", "install", "--quiet", "--python", environment, *versions, ROOT]
    subprocess.run(install, check=True)
    return environment / "bin" / "cachelog"


def _serve(program: Path, folder: Path) -> None:
    """Serve the catalog; request a page and a query."""
    with serving_by(program, folder / "catalog", folder / "log") as server:
        page = httpx.get(f"{server.url}/r/develop").raise_for_status()
        assert "<title>develop" in page.text, page.text
        answer = httpx.post(server.graphql, json={"query": QUERY}).raise_for_status()
        assert answer.json()["data"]["revision"]["specs"]["totalCount"] > 100, answer.text


if __name__ == "__main__":
    raise SystemExit(main())
