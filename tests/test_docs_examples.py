"""The examples of the documentation run as shown."""

import shlex
from pathlib import Path
from shutil import copy

import pytest

from snapshots.catalog.catalog import Catalog
from snapshots.demo import develop_history
from snapshots.notes.own_templates import EXAMPLES
from tests.consoles import examples, shell
from tests.server.commands import cachelog
from tests.snapshots.sources.lockfiles.locks import as_bytes, small_lock_file
from tests.test_docs import DOCUMENTS, blocks

RULES = '[[rule]]\nname = "Few"\nlimit = "specs-removed"\nat-most = "100 %"\n'
WITHOUT_OUTPUT = ("lock-files.md", "questions.md", "sides.md")
"""Documents that show commands only."""

COMMANDS = [
    (document, line)
    for document, block in blocks("console")
    if document in WITHOUT_OUTPUT
    for line in block.splitlines()
    if line.startswith("cachelog ")
]
FORMS = (
    *(("--format", name) for name in ("markdown", "html")),
    *(("--template", name) for name in EXAMPLES),
)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a catalog of three revisions of develop, the last of which is also a release."""
    folder = tmp_path_factory.mktemp("demo")
    Catalog(str(folder)).publish(develop_history(revisions=3, packages=40, specs=400))
    return folder


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working directory, with the files that the examples use."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spack.lock").write_bytes(as_bytes(small_lock_file()))
    for stack in ("e4s", "ml"):
        (tmp_path / "env" / stack).mkdir(parents=True)
        copy(tmp_path / "spack.lock", tmp_path / "env" / stack)
    (tmp_path / "rules.toml").write_text(RULES)
    return tmp_path


@pytest.mark.long
@pytest.mark.parametrize(
    ("document", "count"),
    [("notes.md", 7), ("history.md", 7)],
)
def test_commands_print_the_shown_output(document: str, count: int, tmp_path: Path) -> None:
    """All commands of a document print the shown output in one shell."""
    commands = [*examples(DOCUMENTS[document])]
    assert len(commands) == count
    with shell(tmp_path) as terminal:
        for command, output in commands:
            terminal.assert_prints(command, output)


@pytest.mark.parametrize(("document", "line"), COMMANDS)
@pytest.mark.usefixtures("folder")
def test_command_runs(document: str, line: str, demo: Path) -> None:
    """Commands without a shown output run on the demo, which has no spec of the lock files."""
    done = cachelog(*shlex.split(line)[1:], catalog=demo)
    assert done.code == int("--fail-under" in line), f"{document}: {done.err}"
    assert done.out


@pytest.mark.parametrize("form", FORMS, ids=" ".join)
@pytest.mark.usefixtures("folder")
def test_notes_name_their_file(form: tuple[str, str], demo: Path) -> None:
    """All formats and included templates name a file that is compared (docs/sides.md)."""
    done = cachelog("notes", "develop:e4s..spack.lock", *form, catalog=demo)
    assert (done.code, done.err) == (0, "")
    assert "spack.lock" in done.out or form == ("--template", "github-release")
