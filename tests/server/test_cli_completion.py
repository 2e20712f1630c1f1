"""Shell completion: the completions of a partial command, and silence if there are none."""

import shutil
import subprocess
from pathlib import Path

import pytest

from snapshots.catalog.catalog import Catalog
from snapshots.spack.names import natural_key
from tests.server.commands import CommandResult, cachelog, succeed
from tests.server.servers import CACHELOG, environ


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
def test_commands_options_and_choices(words: str, expected: list[str], tmp_path: Path) -> None:
    """They need no catalog."""
    assert [
        completion for completion in completions(words, tmp_path / "none") if completion != "--help"
    ] == expected


@pytest.mark.parametrize(
    "words", ["diff develop ", "find --in ", "diff develop..", "show ", "revisions --tag "]
)
def test_refs(words: str, demo_catalog: Path) -> None:
    """All tags of the catalog in natural order, also after two dots."""
    before, dots, _ = words.rpartition("..")
    prefix = before.split(" ")[-1] + dots
    tags = Catalog(str(demo_catalog)).require_history().tags
    offered = completions(words, demo_catalog)
    assert offered[: len(tags)] == [prefix + tag for tag in tags]
    assert len(offered) == len(tags) or words == "show "


def test_refs_and_series_by_prefix(demo_catalog: Path) -> None:
    """Tags, and digests from the first characters on; series in the order of the catalog."""
    history = Catalog(str(demo_catalog)).require_history()
    some = [tag for tag in history.tags if tag.startswith("develop-2025-01")]
    assert completions("diff develop-2025-01", demo_catalog) == some
    digest = history.digests[0]
    assert completions(f"find --in {digest[:5]}", demo_catalog) == [digest[:12]]
    assert completions("log --series ", demo_catalog) == history.series_names
    assert completions("log --series develop-", demo_catalog) == ["develop-DATE"]


def test_packages_and_stacks(demo_catalog: Path) -> None:
    """Those of the revision in the preceding words, or of the newest."""
    catalog = Catalog(str(demo_catalog))
    history = catalog.require_history()
    for option, ref in (("", "develop"), (f"--in {history.tags[-1]} ", history.tags[-1])):
        frame = catalog.load(history.resolve(ref).digest)
        name = frame.packages[0]
        matches = [package for package in frame.packages if package.startswith(name[:2])]
        assert matches == sorted(matches, key=natural_key)
        assert completions(f"find {option}{name[:2]}", demo_catalog) == matches
        assert completions(f"find {option}^{name[:2]}", demo_catalog) == [
            f"^{match}" for match in matches
        ]
        stacks = set(completions(f"find {option}--stack ", demo_catalog))
        assert stacks == set(frame.stacks.items)
    names = completions("diff develop~1..develop --package ", demo_catalog)
    packages = catalog.load(history.resolve("develop").digest).packages
    assert names == sorted(packages, key=natural_key)
    for words in ("why develop~1..develop ", "why develop~1 develop "):
        assert completions(words, demo_catalog) == names
    assert completions("why develop~1 develop-2025-01-0", demo_catalog)


def test_arguments_of_log_and_show(demo_catalog: Path, tmp_path: Path) -> None:
    """Packages, for show after the revisions; no hashes.

    ``--catalog`` takes precedence over the environment.
    """
    catalog = Catalog(str(demo_catalog))
    history = catalog.require_history()
    packages = completions("why develop~1 develop ", demo_catalog)
    assert packages
    assert completions("log ", demo_catalog) == packages
    assert completions("show ", demo_catalog) == [*history.tags, *packages]
    of_first = catalog.load(history.resolve(history.tags[-1]).digest).packages
    assert completions(f"show {history.tags[-1]} ", demo_catalog) == sorted(
        of_first, key=natural_key
    )
    assert completions("packages dev", demo_catalog) == [
        tag for tag in history.tags if "dev" in tag
    ]
    assert completions("packages --stack e4", demo_catalog)
    for words in ("log /", "show /a", "show develop /a"):
        assert completions(words, demo_catalog) == []
    assert "develop" in completions(f"diff --catalog {demo_catalog} dev", tmp_path / "none")


@pytest.mark.parametrize(
    "words", ["diff dev", "find zl", "find --in no-such-tag zl", "diff --package z", "find '@"]
)
def test_unreadable_catalog(words: str, tmp_path: Path) -> None:
    """No error is printed into the command line, and no catalog is created."""
    folder = tmp_path / "none"
    result = complete(words, folder)
    assert (result.code, result.out.strip(), result.err) == (0, "", "")
    assert not folder.exists()
    log = tmp_path / "broken" / "revisions" / "_delta_log"
    log.mkdir(parents=True)
    (log / f"{0:020}.json").write_text("{ no commit")
    assert completions(words, tmp_path / "broken") == []


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_script_of_a_shell(shell: str) -> None:
    """It calls the program with the variable of its shell."""
    result = succeed("completion", shell)
    assert f"_CACHELOG_COMPLETE={shell}_complete" in result.out


def test_script_in_bash(demo_catalog: Path) -> None:
    """Bash completes a ref with the script."""
    bash = shutil.which("bash")
    assert bash
    script = """
        eval "$(cachelog completion bash)"
        COMP_WORDS=(cachelog diff develop-2025-01-0) COMP_CWORD=2
        _cachelog_completion cachelog
        printf '%s\\n' "${COMPREPLY[@]}"
    """
    variables = environ(catalog=demo_catalog)
    variables["PATH"] = f"{CACHELOG.parent}:{variables['PATH']}"
    result = subprocess.run(
        [bash, "--norc", "-c", script], env=variables, capture_output=True, text=True, check=True
    )
    assert (result.stdout, result.stderr) == ("develop-2025-01-05\n", "")
