"""What starting a command costs: which libraries are imported, instead of how long it takes."""

import subprocess
import sys
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
import sys
from server.cli import main
try:
    main()
finally:
    print(*{name.partition(".")[0] for name in sys.modules}, file=sys.stderr)
"""


def imported(*arguments: object, **variables: str) -> frozenset[str]:
    """Run a command, which must succeed, and return the libraries that it imported."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *map(str, arguments)],
        env=environ() | variables,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return LIBRARIES & {*done.stderr.splitlines()[-1].split()}


@pytest.mark.parametrize(
    "arguments", [("--version",), ("serve", "-h"), ("completion", "zsh")], ids=" ".join
)
def test_help_and_version_import_no_library(arguments: tuple[str, ...]) -> None:
    """They are printed at once."""
    assert imported(*arguments) == frozenset()


@pytest.mark.parametrize("typed", ["", "find --l", "notes --format "])
def test_completing_commands_and_options_imports_no_library(typed: str) -> None:
    """Pressing TAB has no delay."""
    words = ["cachelog", *typed.split(" ")]
    variables = {"COMP_WORDS": f"cachelog {typed}", "COMP_CWORD": str(len(words) - 1)}
    assert imported(_CACHELOG_COMPLETE="bash_complete", **variables) == frozenset()


@pytest.mark.parametrize("typed", ["diff develop..dev", "find z"])
def test_completing_names_of_the_catalog_imports_little(typed: str, demo_catalog: Path) -> None:
    """No array library, which would take longer than reading."""
    words = ["cachelog", *typed.split(" ")]
    variables = {"COMP_WORDS": f"cachelog {typed}", "COMP_CWORD": str(len(words) - 1)}
    variables["CACHELOG_CATALOG"] = str(demo_catalog)
    assert imported(_CACHELOG_COMPLETE="bash_complete", **variables) <= {"deltalake", "msgspec"}


@pytest.mark.parametrize(
    ("arguments", "beside"),
    [
        (("revisions",), set()),
        (("find", "* ^*", "--limit", "1", "--json"), set()),
        (("diff", "develop-2025-01-05..develop", "--stat"), set()),
        (("notes", "develop-2025-01-05..develop"), {"jinja2"}),
    ],
    ids=str,
)
def test_commands_import_what_they_use(
    demo_catalog: Path, arguments: tuple[str, ...], beside: set[str]
) -> None:
    """The store, and little more: nothing of the server."""
    allowed = STORE | beside
    assert imported(*arguments, "--catalog", demo_catalog) <= allowed
