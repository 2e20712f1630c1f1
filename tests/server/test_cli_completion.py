"""Shell completion: the completions of a partial command, and silence if there are none."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

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
def test_commands_options_and_choices_are_completed(
    words: str, expected: list[str], tmp_path: Path
) -> None:
    """They need no catalog."""
    assert [
        completion for completion in completions(words, tmp_path / "none") if completion != "--help"
    ] == expected


class Names(NamedTuple):
    """The names in a catalog; ``old_packages`` are those of its first revision."""

    tags: list[str]
    series: list[str]
    packages: list[str]
    old_packages: list[str]

    def starting_with(self, prefix: str) -> list[str]:
        """Return the packages that start with a prefix."""
        return [package for package in self.packages if package.startswith(prefix)]


@pytest.fixture(scope="module")
def names(demo_catalog: Path) -> Names:
    """Return the names in the demo catalog."""
    catalog = Catalog(str(demo_catalog))
    history = catalog.require_history()
    frames = [catalog.load(history.resolve(ref).digest) for ref in ("develop", history.tags[-1])]
    packages, old_packages = (sorted(frame.packages, key=natural_key) for frame in frames)
    return Names(history.tags, history.series_names, packages, old_packages)


COMPLETIONS: dict[str, Callable[[Names], list[str]]] = {
    "diff develop ": lambda names: names.tags,
    "diff develop..": lambda names: [f"develop..{tag}" for tag in names.tags],
    "diff develop-2025-01": lambda names: [tag for tag in names.tags if "2025-01" in tag],
    "diff develop~1..develop --package ": lambda names: names.packages,
    "find --in ": lambda names: names.tags,
    "find p": lambda names: names.starting_with("p"),
    "find ^p": lambda names: [f"^{package}" for package in names.starting_with("p")],
    "log ": lambda names: names.packages,
    "log --series ": lambda names: names.series,
    "log --series develop-": lambda _: ["develop-DATE"],
    "packages dev": lambda names: [tag for tag in names.tags if "dev" in tag],
    "revisions --tag ": lambda names: names.tags,
    "show ": lambda names: [*names.tags, *names.packages],
    "show {old} ": lambda names: names.old_packages,
    "why develop~1..develop ": lambda names: names.packages,
    "why develop~1 develop ": lambda names: names.packages,
    "log /": lambda _: [],
    "show /a": lambda _: [],
    "show develop /a": lambda _: [],
}


@pytest.mark.parametrize("words", COMPLETIONS)
def test_names_in_the_catalog_are_completed(words: str, names: Names, demo_catalog: Path) -> None:
    """In natural order; packages are those of the preceding revision, or of the newest."""
    offered = completions(words.format(old=names.tags[-1]), demo_catalog)
    assert offered == COMPLETIONS[words](names)


def test_digests_and_stacks_are_completed(demo_catalog: Path, tmp_path: Path) -> None:
    """Also of the catalog of ``--catalog``, which takes precedence over the environment."""
    catalog = Catalog(str(demo_catalog))
    digest = catalog.require_history().digests[0]
    assert completions(f"find --in {digest[:5]}", demo_catalog) == [digest[:12]]
    stacks = set(completions(f"find --in {digest} --stack ", demo_catalog))
    assert stacks == set(catalog.load(digest).stacks.items)
    assert "develop" in completions(f"diff --catalog {demo_catalog} dev", tmp_path / "none")


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


def test_bash_completes_with_the_script(demo_catalog: Path) -> None:
    """Bash completes a ref with the script."""
    bash = shutil.which("bash")
    assert bash
    completion = """
        COMP_WORDS=(cachelog diff develop-2025-01-0) COMP_CWORD=2
        _cachelog_completion cachelog
        printf '%s\\n' "${COMPREPLY[@]}"
    """
    script = succeed("completion", "bash").out + completion
    variables = environ(catalog=demo_catalog)
    variables["PATH"] = f"{CACHELOG.parent}:{variables['PATH']}"
    result = subprocess.run(
        [bash, "--norc", "-c", script], env=variables, capture_output=True, text=True, check=True
    )
    assert (result.stdout, result.stderr) == ("develop-2025-01-05\n", "")
