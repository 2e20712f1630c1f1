"""Conformance with GraphQL over HTTP, as the audits of graphql-http judge it.

https://github.com/graphql/graphql-http#audits
"""

import json
import os
import shutil
import subprocess
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.server.servers import Server

HERE = Path(__file__).with_name("audit")
FILES = ("package.json", "audit.mjs")
NUM_AUDITS = 61


@pytest.fixture(scope="module")
def audit() -> Path:
    """Return the script with what it needs beside it; npm installs that once for each version."""
    if not shutil.which("npm") and not os.environ.get("CI"):
        pytest.skip("node and npm are not installed")
    content = b"".join((HERE / name).read_bytes() for name in FILES)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "cachelog-tests"
    folder = cache / f"audit-{sha256(content).hexdigest()[:12]}"
    if not folder.exists():
        _install(folder)
    return folder / "audit.mjs"


def _install(folder: Path) -> None:
    making = folder.with_name(f"{folder.name}.{os.getpid()}")
    making.mkdir(parents=True)
    try:
        for name in FILES:
            shutil.copy(HERE / name, making)
        command = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund"]
        done = subprocess.run(command, cwd=making, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        if not folder.exists():
            making.rename(folder)
    finally:
        shutil.rmtree(making, ignore_errors=True)


def test_every_audit_is_passed(audit: Path, demo_server: Server) -> None:
    """Not only what the specification demands, but what it recommends as well."""
    command = ["node", str(audit), demo_server.graphql]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    results: list[dict[str, Any]] = json.loads(done.stdout)
    assert [result for result in results if result["status"] != "ok"] == []
    assert len(results) == NUM_AUDITS
