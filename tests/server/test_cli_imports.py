"""What starting a command costs: which libraries are imported, instead of how long it takes."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.server.servers import environ

LIBRARIES = frozenset(
    {
        "anyio",
        "brotli",
        "cachetools",
        "deepdiff",
        "deltalake",
        "graphql",
        "httpx",
        "jinja2",
        "msgspec",
        "numpy",
        "orjson",
        "pyarrow",
        "pydantic",
        "rich",
        "starlette",
        "strawberry",
        "uvicorn",
        "xxhash",
        "yaml",
        "zstandard",
    }
)
"""What is installed with cachelog and takes long to import."""

STORE = frozenset({"cachetools", "deltalake", "msgspec", "numpy", "orjson", "pyarrow", "xxhash"})
"""What reading a catalog needs."""

SCRIPT = """
import json, os, sys
from server.cli import main
for arguments, variables in json.loads(sys.argv[1]):
    sys.argv[1:] = arguments
    os.environ.update(variables)
    try:
        main()
    except SystemExit as end:
        assert not end.code, arguments
print(*{name.partition(".")[0] for name in sys.modules}, file=sys.stderr)
"""


def imported(*runs: tuple[Sequence[str], Mapping[str, str]]) -> frozenset[str]:
    """Run commands with variables, which must succeed; return the libraries that they imported."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps(runs)],
        env=environ(),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return LIBRARIES & {*done.stderr.splitlines()[-1].split()}


def completing(typed: str) -> tuple[Sequence[str], Mapping[str, str]]:
    """Return the run by which a shell completes what is typed after the program."""
    variables = {"COMP_WORDS": f"cachelog {typed}", "COMP_CWORD": str(len(typed.split(" ")))}
    return (), {"_CACHELOG_COMPLETE": "bash_complete", **variables}


def test_help_version_and_options_import_no_library() -> None:
    """They are printed at once, and pressing TAB has no delay."""
    words = ("--version",), ("serve", "-h"), ("completion", "zsh")
    typed = map(completing, ("", "find --l", "notes --format "))
    assert imported(*((arguments, {}) for arguments in words), *typed) == frozenset()


def test_completing_names_of_the_catalog_imports_little(demo_catalog: Path) -> None:
    """No array library, which would take longer than reading."""
    catalog: tuple[Sequence[str], Mapping[str, str]] = (
        ("--version",),
        {"CACHELOG_CATALOG": str(demo_catalog)},
    )
    runs = map(completing, ("diff develop..dev", "find z"))
    assert imported(catalog, *runs) <= {"deltalake", "msgspec"}


@pytest.mark.parametrize(
    ("lines", "beside"),
    [
        (("revisions", "find --limit 1 --json", "diff develop-2025-01-05..develop --stat"), set()),
        (("notes develop-2025-01-05..develop",), {"jinja2"}),
    ],
)
def test_commands_import_what_they_use(
    demo_catalog: Path, lines: tuple[str, ...], beside: set[str]
) -> None:
    """The store, and little more: nothing of the server."""
    catalog = {"CACHELOG_CATALOG": str(demo_catalog)}
    assert imported(*((line.split(), catalog) for line in lines)) <= STORE | beside
