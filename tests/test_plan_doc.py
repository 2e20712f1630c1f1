"""docs/plan.md: its examples run, and its keys are those of the document."""

import re
import shlex
from pathlib import Path
from shutil import copy

import pytest

from snapshots.changes.impact import size_label
from snapshots.notes.plan_comments import MOST_CHARACTERS
from tests.schema.usual import api
from tests.server.commands import cachelog
from tests.snapshots.sources.lockfiles.locks import as_bytes, small_lock_file

TEXT = (Path(__file__).parents[1] / "docs" / "plan.md").read_text("utf-8")
(CONSOLE,) = re.findall(r"```console\n(.*?)```", TEXT, re.DOTALL)
RULES = '[[rule]]\nname = "Few"\nlimit = "specs-removed"\nat-most = "100 %"\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working directory, with the files that the examples name."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spack.lock").write_bytes(as_bytes(small_lock_file()))
    for stack in ("e4s", "ml"):
        (tmp_path / "env" / stack).mkdir(parents=True)
        copy(tmp_path / "spack.lock", tmp_path / "env" / stack)
    (tmp_path / "rules.toml").write_text(RULES)
    return tmp_path


@pytest.mark.parametrize("line", CONSOLE.splitlines())
@pytest.mark.usefixtures("folder")
def test_each_command_runs(line: str, demo_catalog: Path) -> None:
    """On the demo, with lock files beside it."""
    done = cachelog(*shlex.split(line)[1:], catalog=demo_catalog)
    assert done.code == 0, done.err
    assert done.out


@pytest.mark.usefixtures("folder")
def test_every_key_is_described(demo_catalog: Path) -> None:
    """In the order of the document, and those of each stack."""
    command = ("plan", "develop", "--lock", "e4s=spack.lock", "--json")
    document = cachelog(*command, catalog=demo_catalog).json
    rows = dict(re.findall(r"^\| `([a-z_]+)` \| (.*) \|$", TEXT, re.MULTILINE))
    assert [*rows] == [*document]
    for key in ("stacks", "to_build"):
        assert {*document[key][0]} <= {*re.findall(r"`([a-z_]+)`", rows[key])}


def test_the_query_is_one() -> None:
    """It is valid, and allowed for as many specs as the text says."""
    (query,) = re.findall(r"```graphql\n(.*?)```", TEXT, re.DOTALL)
    assert api.document(query).errors == ()
    specs = [{"name": "a", "hash": "a" * 32, "version": "1"}] * 1_500
    assert 0 < api.cost(query, None, {"specs": specs}).units <= api.limits.max_cost
    assert "some 1,500." in TEXT


def test_sizes_are_those_of_the_code() -> None:
    """Of labels and of comments."""
    labels = dict.fromkeys(map(size_label, range(2_000)))
    assert f"pull requests: {', '.join(labels)}." in TEXT
    assert f"{MOST_CHARACTERS:,} characters" in TEXT
