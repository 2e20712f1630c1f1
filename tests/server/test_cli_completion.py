"""Shell completion: the completions of a partial command, and silence if there are none."""

import shutil
import subprocess
from pathlib import Path

import pytest

from snapshots.catalog.catalog import Catalog
from tests.server.commands import CommandResult, cachelog, succeed
from tests.server.servers import CACHELOG, environ
from tests.snapshots.factories import a_snapshot, a_spec
from tests.snapshots.templates import catalog_of


def complete(words: str, catalog: Path) -> CommandResult:
    """Complete the words that follow ``cachelog``, as a press of TAB does."""
    variables = {
        "_CACHELOG_COMPLETE": "bash_complete",
        "COMP_WORDS": f"cachelog {words}",
        "COMP_CWORD": str(len(words.split(" "))),
    }
    return cachelog(variables=variables, catalog=catalog)


def completions(words: str, catalog: Path) -> list[str]:
    """Return the completions of the words that follow ``cachelog``."""
    result = complete(words, catalog)
    assert (result.code, result.err) == (0, "")
    return [line.partition(",")[2] for line in result.lines if line]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("no", ["notes"]),
        ("find --st", ["--stack"]),
        ("diff --s", ["--stat", "--stack", "--spec"]),
        ("diff a b --coverage st", ["stack"]),
        ("diff a b --coverage stack,t", ["stack,target"]),
        ("notes --format ", ["markdown", "html", "json"]),
        ("completion z", ["zsh"]),
    ],
)
def test_commands_options_and_choices_are_completed(
    words: str, expected: list[str], tmp_path: Path
) -> None:
    """They need no catalog."""
    assert [
        completion for completion in completions(words, tmp_path / "none") if completion != "--help"
    ] == expected


@pytest.mark.parametrize(
    "words",
    [
        *("check ", "gate a --rules ", "plan a --gate ", "import --gate ", "notes --template "),
        *(
            "keep-list --lock ",
            "keep-list --check ",
            "notes --output ",
            "export-site x --documents ",
        ),
    ],
)
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
        ("diff develop~1..develop --package ", PACKAGES),
        ("find --in ", TAGS),
        ("find l", ["lib2", "lib10"]),
        ("find ^l", ["^lib2", "^lib10"]),
        ("find --in v1.0 --stack ", ["e4s", "root"]),
        ("log ", PACKAGES),
        ("log --series ", ["develop", "vX.Y.Z", "develop-DATE"]),
        ("log --series develop-", ["develop-DATE"]),
        ("packages v", ["v1.0"]),
        ("revisions --tag ", TAGS),
        ("show ", [*TAGS, *PACKAGES]),
        ("show v1.0 ", ["zlib"]),
        ("why develop~1..develop ", PACKAGES),
        ("why develop~1 develop ", PACKAGES),
        ("log /", []),
        ("show /a", []),
        ("show develop /a", []),
    ],
)
def test_names_in_the_catalog_are_completed(words: str, expected: list[str], catalog: Path) -> None:
    """In natural order; packages are those of the preceding revision, or of the newest."""
    assert completions(words, catalog) == expected


def test_digests_are_completed(catalog: Path, tmp_path: Path) -> None:
    """Also of the catalog of ``--catalog``, which takes precedence over the environment."""
    digest = Catalog(str(catalog)).require_history().digests[0]
    assert completions(f"find --in {digest[:5]}", catalog) == [digest[:12]]
    assert completions(f"diff --catalog {catalog} v", tmp_path / "none") == ["v1.0"]


@pytest.mark.parametrize(
    "words", ["diff dev", "find zl", "find --in no-such-tag zl", "diff --package z", "find '@"]
)
def test_unreadable_catalog_has_no_completions(words: str, tmp_path: Path) -> None:
    """No error is printed into the command line, and no catalog is created."""
    folder = tmp_path / "none"
    result = complete(words, folder)
    assert (result.code, result.out.strip(), result.err) == (0, "", "")
    assert not folder.exists()
    log = tmp_path / "broken" / "revisions" / "_delta_log"
    log.mkdir(parents=True)
    (log / f"{0:020}.json").write_text("{ no commit")
    assert completions(words, tmp_path / "broken") == []


def test_bash_completes_with_the_script(catalog: Path) -> None:
    """Bash completes a ref with the script."""
    bash = shutil.which("bash")
    assert bash
    completion = """
        COMP_WORDS=(cachelog diff develop-2025-01-0) COMP_CWORD=2
        _cachelog_completion cachelog
        printf '%s\\n' "${COMPREPLY[@]}"
    """
    script = succeed("completion", "bash").out + completion
    variables = environ(catalog=catalog)
    variables["PATH"] = f"{CACHELOG.parent}:{variables['PATH']}"
    result = subprocess.run(
        [bash, "--norc", "-c", script], env=variables, capture_output=True, text=True, check=True
    )
    assert (result.stdout, result.stderr) == ("develop-2025-01-05\n", "")
