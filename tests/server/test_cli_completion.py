"""Shell completion, and the cost of starting a command: the libraries that it imports."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path

import pytest

from tests.server.commands import CommandResult, succeed
from tests.server.servers import CACHELOG, environ
from tests.snapshots.factories import a_snapshot, a_spec
from tests.snapshots.templates import catalog_of


def variables_of(words: str) -> dict[str, str]:
    """Return the variables with which a shell completes the words that follow ``cachelog``."""
    count = str(len(words.split(" ")))
    shell = {"_CACHELOG_COMPLETE": "bash_complete"}
    return shell | {"COMP_WORDS": f"cachelog {words}", "COMP_CWORD": count}


def complete(words: str, catalog: Path) -> CommandResult:
    """Complete the words, as a press of TAB does."""
    return succeed(variables=variables_of(words), catalog=catalog)


def completions(words: str, catalog: Path) -> list[str]:
    """Return the completions of the words that follow ``cachelog``."""
    return [line.partition(",")[2] for line in complete(words, catalog).lines if line]


FILES = (
    *("check ", "gate a --rules ", "plan a --gate ", "import --gate ", "notes --template "),
    *("keep-list --lock ", "notes -o "),
)


@pytest.mark.parametrize("words", FILES)
def test_files_are_completed_by_the_shell(words: str, tmp_path: Path) -> None:
    """The completion of such an argument leaves it to the shell to offer files."""
    assert complete(words, tmp_path / "none").out == "file,\n"


TAGS = ["develop", "v1.0", "develop-2025-02-02", "develop-2025-01-05"]
PACKAGES = ["lib2", "lib10", "python"]


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a catalog of the packages with each tag, except that v1.0 has only zlib."""
    snapshots = [
        a_snapshot([a_spec(name, name=name) for name in names], tag)
        for tag, names in {**dict.fromkeys(TAGS, PACKAGES), "v1.0": ["zlib"]}.items()
    ]
    return catalog_of(tmp_path_factory.mktemp("catalog"), *snapshots)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("diff develop ", TAGS),
        ("diff develop..", [f"develop..{tag}" for tag in TAGS]),
        ("diff develop-2025-01", ["develop-2025-01-05"]),
        ("diff develop~1..develop --package ", [*PACKAGES, "zlib"]),
        ("find --in ", TAGS),
        ("find l", ["lib2", "lib10"]),
        ("log --series ", ["develop", "vX.Y.Z", "develop-DATE"]),
        ("log --series develop-", ["develop-DATE"]),
        ("packages v", ["v1.0"]),
        ("revisions --tag ", TAGS),
        ("show z", ["zlib"]),
        ("log /", []),
    ],
)
def test_names_in_the_catalog_are_completed(words: str, expected: list[str], catalog: Path) -> None:
    """Tags and series in the catalog's order, packages of any tag in natural order."""
    assert completions(words, catalog) == expected


@pytest.mark.parametrize(
    "words", ["diff dev", "find zl", "find --in no-such-tag zl", "diff --package z", "find '@"]
)
def test_unreadable_catalog_has_no_completions(words: str, tmp_path: Path) -> None:
    """No error is printed into the command line, and no catalog is created."""
    folder = tmp_path / "none"
    assert complete(words, folder).out.strip() == ""
    assert not folder.exists()
    log = tmp_path / "broken" / "revisions" / "_delta_log"
    log.mkdir(parents=True)
    (log / f"{0:020}.json").write_text("{ no commit")
    assert completions(words, tmp_path / "broken") == []


def test_bash_completes_with_the_script(catalog: Path) -> None:
    """Bash completes a ref with the script."""
    completion = """
        COMP_WORDS=(cachelog diff develop-2025-01-0) COMP_CWORD=2
        _cachelog_completion cachelog
        printf '%s\\n' "${COMPREPLY[@]}"
    """
    script = f'eval "$(_CACHELOG_COMPLETE=bash_source cachelog)"; {completion}'
    variables = environ(catalog=catalog) | {"PATH": f"{CACHELOG.parent}:{os.environ['PATH']}"}
    command = ("bash", "--norc", "-c", script)
    result = subprocess.run(command, env=variables, capture_output=True, text=True, check=True)
    assert (result.stdout, result.stderr) == ("develop-2025-01-05\n", "")


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
    command = [sys.executable, "-c", SCRIPT, json.dumps(runs)]
    result = subprocess.run(command, env=environ(), capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return LIBRARIES & {*result.stderr.splitlines()[-1].split()}


def test_help_version_and_options_import_no_library() -> None:
    """They are printed at once, and completion has no delay."""
    commands = ("--version",), ("serve", "-h")
    completions = (((), variables_of(words)) for words in ("", "find --l", "notes --format "))
    assert imports_of(*((command, {}) for command in commands), *completions) == set()


def test_commands_import_only_used_libraries(demo_catalog: Path) -> None:
    """Those of the catalog, and none of the server."""
    variables = {"CACHELOG_CATALOG": str(demo_catalog)}
    lines = ("revisions", "find --limit 1", "diff develop-2025-01-05..develop --stat")
    assert imports_of(*((line.split(), variables) for line in lines)) <= STORE
