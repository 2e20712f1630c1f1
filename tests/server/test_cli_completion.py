"""Completion in a shell: what is offered for what was typed, and quiet where nothing can be."""

import shutil
import subprocess
from pathlib import Path

import pytest

from snapshots.catalog.catalog import Catalog
from snapshots.spack.names import natural_key
from tests.server.commands import Done, cachelog, succeed
from tests.server.servers import CACHELOG, environ


def ask(typed: str, catalog: Path) -> Done:
    """Press TAB after what was typed after ``cachelog``."""
    words = f"cachelog {typed}".split(" ")
    variables = {
        "_CACHELOG_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(words),
        "COMP_CWORD": str(len(words) - 1),
    }
    return cachelog(variables=variables, catalog=catalog)


def offered(typed: str, catalog: Path) -> list[str]:
    """Return the completions of what was typed."""
    done = ask(typed, catalog)
    assert (done.code, done.err) == (0, "")
    return [line.partition(",")[2] for line in done.lines if line]


@pytest.mark.parametrize(
    ("typed", "expected"),
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
def test_commands_options_and_choices(typed: str, expected: list[str], tmp_path: Path) -> None:
    """They need no catalog."""
    assert [it for it in offered(typed, tmp_path / "none") if it != "--help"] == expected


@pytest.mark.parametrize(
    "typed", ["diff develop ", "find --in ", "diff develop..", "show ", "revisions --tag "]
)
def test_refs(typed: str, demo_catalog: Path) -> None:
    """Every tag of the catalog in natural order, also after the two dots."""
    before, dots, _ = typed.rpartition("..")
    front = before.split(" ")[-1] + dots
    tags = Catalog(str(demo_catalog)).require_history().tags
    completions = offered(typed, demo_catalog)
    assert completions[: len(tags)] == [front + tag for tag in tags]
    assert len(completions) == len(tags) or typed == "show "


def test_refs_and_series_that_begin_as_typed(demo_catalog: Path) -> None:
    """Tags, and digests after their first characters; series in the order of the catalog."""
    history = Catalog(str(demo_catalog)).require_history()
    some = [tag for tag in history.tags if tag.startswith("develop-2025-01")]
    assert offered("diff develop-2025-01", demo_catalog) == some
    digest = history.digests[0]
    assert offered(f"find --in {digest[:5]}", demo_catalog) == [digest[:12]]
    assert offered("log --series ", demo_catalog) == history.series_names
    assert offered("log --series develop-", demo_catalog) == ["develop-DATE"]


def test_packages_and_stacks(demo_catalog: Path) -> None:
    """Those of the revision that is typed already, or of the newest."""
    catalog = Catalog(str(demo_catalog))
    history = catalog.require_history()
    for option, ref in (("", "develop"), (f"--in {history.tags[-1]} ", history.tags[-1])):
        frame = catalog.load(history.resolve(ref).digest)
        name = frame.packages[0]
        fitting = [it for it in frame.packages if it.startswith(name[:2])]
        assert fitting == sorted(fitting, key=natural_key)
        assert offered(f"find {option}{name[:2]}", demo_catalog) == fitting
        assert offered(f"find {option}^{name[:2]}", demo_catalog) == [f"^{it}" for it in fitting]
        stacks = set(offered(f"find {option}--stack ", demo_catalog))
        assert stacks == set(frame.stacks.items)
    names = offered("diff develop~1..develop --package ", demo_catalog)
    packages = catalog.load(history.resolve("develop").digest).packages
    assert names == sorted(packages, key=natural_key)
    for typed in ("why develop~1..develop ", "why develop~1 develop "):
        assert offered(typed, demo_catalog) == names
    assert offered("why develop~1 develop-2025-01-0", demo_catalog)


def test_subjects_of_log_and_show(demo_catalog: Path, tmp_path: Path) -> None:
    """Packages, for show after the revisions; nothing for a hash.

    ``--catalog`` counts more than the environment.
    """
    catalog = Catalog(str(demo_catalog))
    history = catalog.require_history()
    packages = offered("why develop~1 develop ", demo_catalog)
    assert packages
    assert offered("log ", demo_catalog) == packages
    assert offered("show ", demo_catalog) == [*history.tags, *packages]
    of_first = catalog.load(history.resolve(history.tags[-1]).digest).packages
    assert offered(f"show {history.tags[-1]} ", demo_catalog) == sorted(of_first, key=natural_key)
    assert offered("packages dev", demo_catalog) == [it for it in history.tags if "dev" in it]
    assert offered("packages --stack e4", demo_catalog)
    for typed in ("log /", "show /a", "show develop /a"):
        assert offered(typed, demo_catalog) == []
    assert "develop" in offered(f"diff --catalog {demo_catalog} dev", tmp_path / "none")


@pytest.mark.parametrize(
    "typed", ["diff dev", "find zl", "find --in no-such-tag zl", "diff --package z", "find '@"]
)
def test_nothing_is_offered_where_nothing_can_be_read(typed: str, tmp_path: Path) -> None:
    """No error is printed into the command line; no catalog is made."""
    folder = tmp_path / "none"
    done = ask(typed, folder)
    assert (done.code, done.out.strip(), done.err) == (0, "", "")
    assert not folder.exists()
    log = tmp_path / "broken" / "revisions" / "_delta_log"
    log.mkdir(parents=True)
    (log / f"{0:020}.json").write_text("{ no commit")
    assert offered(typed, tmp_path / "broken") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell(shell: str) -> None:
    """It calls the program with the variable of its shell."""
    done = succeed("completion", shell)
    assert f"_CACHELOG_COMPLETE={shell}_complete" in done.out


def test_bash_completes(demo_catalog: Path) -> None:
    """A real shell completes with the script."""
    bash = shutil.which("bash")
    assert bash
    ask = """
        eval "$(cachelog completion bash)"
        COMP_WORDS=(cachelog diff develop-2025-01-0) COMP_CWORD=2
        _cachelog_completion cachelog
        printf '%s\\n' "${COMPREPLY[@]}"
    """
    variables = environ(catalog=demo_catalog)
    variables["PATH"] = f"{CACHELOG.parent}:{variables['PATH']}"
    done = subprocess.run(
        [bash, "--norc", "-c", ask], env=variables, capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("develop-2025-01-05\n", "")
