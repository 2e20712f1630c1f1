"""Whether cachelog runs with the lowest versions that it says it does: ``python -m tests.lowest``.

uv installs the lowest version of each library that pyproject.toml names into an environment of its
own, in which cachelog makes, imports, verifies, compares and serves a catalog. With ``--newest`` it
installs the newest ones instead, also beyond the upper bounds: a failure says what breaks next.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import httpx

from tests.server.servers import serving_by

ROOT = Path(__file__).parent.parent
SHAPE = ("--revisions", "2", "--packages", "30", "--specs", "200")
COMMANDS = (
    ("demo", "--pages", "pages", *SHAPE),
    ("import", "pages/develop-2025-01-05", "pages/develop", "--catalog", "imported"),
    ("verify", "--catalog", "imported"),
    ("demo", *SHAPE),
    ("verify",),
    ("find", "%gcc", "--in", "develop"),
    ("why", "develop~1..develop"),
    ("notes", "develop~1", "develop", "--template", "chat"),
    ("log", "--series", "develop"),
)
"""What is run one after the other, before the catalog is served."""

QUERY = '{ revision(ref: "develop") { specs(first: 1) { totalCount nodes { name stacks } } } }'


BOUNDED = ("graphql-core", "strawberry-graphql", "uvicorn")
"""The libraries that pyproject.toml gives an upper bound, as parts of them are subclassed."""


def main() -> int:
    """Install and run it; return 0, or raise an error of what fails."""
    with tempfile.TemporaryDirectory() as folder:
        program = _installed(Path(folder), newest="--newest" in sys.argv)
        for command in COMMANDS:
            print(f"$ cachelog {' '.join(command)}", flush=True)
            subprocess.run([program, *command], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        print("$ cachelog serve", flush=True)
        _serve(program, Path(folder))
    return 0


def _installed(folder: Path, *, newest: bool) -> Path:
    """Install cachelog with the lowest or newest versions below a folder; return its program."""
    uv = Path(sys.executable).with_name("uv")
    environment, unbounded = folder / "environment", folder / "unbounded.txt"
    unbounded.write_text("\n".join(BOUNDED))
    versions = ("--override", unbounded) if newest else ("--resolution", "lowest-direct")
    subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, environment], check=True)
    install = [uv, "pip", "install", "--quiet", "--python", environment, *versions, ROOT]
    subprocess.run(install, check=True)
    return environment / "bin" / "cachelog"


def _serve(program: Path, folder: Path) -> None:
    """Serve the catalog; ask for a page and by GraphQL."""
    with serving_by(program, folder / "catalog", folder / "log") as server:
        page = httpx.get(f"{server.url}/r/develop").raise_for_status()
        assert "<title>develop" in page.text, page.text
        answer = httpx.post(server.graphql, json={"query": QUERY}).raise_for_status()
        assert answer.json()["data"]["revision"]["specs"]["totalCount"] > 100, answer.text


if __name__ == "__main__":
    raise SystemExit(main())
