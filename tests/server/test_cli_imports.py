"""The cost of starting a command: which libraries it imports, rather than how long it takes."""

import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path

import pytest

from tests.server.servers import environ

REQUIRED = {
    re.split(r"[^\w-]", requirement)[0].lower()
    for requirement in metadata.requires("cachelog") or ()
    if "extra ==" not in requirement
}
LIBRARIES = {
    module
    for module, distributions in metadata.packages_distributions().items()
    if REQUIRED.intersection(map(str.lower, distributions))
} - {"click"}
"""The modules of cachelog's dependencies, except the one of the command line itself."""

STORE = frozenset({"cachetools", "deltalake", "msgspec", "numpy", "orjson", "pyarrow", "xxhash"})
"""Libraries that reading a catalog needs."""

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


def imports_of(*runs: tuple[Sequence[str], Mapping[str, str]]) -> set[str]:
    """Run commands with variables, which must succeed; return the libraries that they import."""
    result = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps(runs)],
        env=environ(),
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    return LIBRARIES & {*result.stderr.splitlines()[-1].split()}


def completion_of(words: str) -> tuple[Sequence[str], Mapping[str, str]]:
    """Return the run in which a shell completes the words that follow ``cachelog``."""
    variables = {"COMP_WORDS": f"cachelog {words}", "COMP_CWORD": str(len(words.split(" ")))}
    return (), {"_CACHELOG_COMPLETE": "bash_complete", **variables}


def test_help_version_and_options_import_no_library() -> None:
    """They are printed at once, and completion has no delay."""
    commands = ("--version",), ("serve", "-h"), ("completion", "zsh")
    completions = map(completion_of, ("", "find --l", "notes --format "))
    assert imports_of(*((command, {}) for command in commands), *completions) == set()


def test_completion_of_names_imports_no_numpy(demo_catalog: Path) -> None:
    """The import takes longer than reading the names."""
    runs = map(completion_of, ("diff develop..dev", "find z"))
    first = ("--version",), {"CACHELOG_CATALOG": str(demo_catalog)}
    assert imports_of(first, *runs) <= {"deltalake", "msgspec"}


@pytest.mark.parametrize(
    ("lines", "others"),
    [
        (("revisions", "find --limit 1 --json", "diff develop-2025-01-05..develop --stat"), set()),
        (("notes develop-2025-01-05..develop",), {"jinja2"}),
    ],
)
def test_commands_import_only_used_libraries(
    demo_catalog: Path, lines: tuple[str, ...], others: set[str]
) -> None:
    """Those of the catalog, and none of the server."""
    variables = {"CACHELOG_CATALOG": str(demo_catalog)}
    assert imports_of(*((line.split(), variables) for line in lines)) <= STORE | others
