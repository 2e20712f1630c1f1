"""docs/lock-files.md: its examples run, its bounds are those of the code."""

import re
import shlex
from pathlib import Path

import pytest

from schema.context import MOST_CONTENTS
from server.pages.check import BODIES, LISTED, LONGEST_ADDRESS
from server.pages.views import MOST_MISSING
from snapshots.changes import lookup
from snapshots.sources import lock_files
from snapshots.sources.lock_files import MAX_BYTES
from tests.schema.usual import api
from tests.server.commands import cachelog
from tests.snapshots.sources.lockfiles.locks import as_bytes, small_lock_file

TEXT = (Path(__file__).parents[1] / "docs" / "lock-files.md").read_text("utf-8")
(CONSOLE,) = re.findall(r"```console\n(.*?)```", TEXT, re.DOTALL)
(QUERY,) = re.findall(r"```graphql\n(.*?)```", TEXT, re.DOTALL)
COMMANDS = [line for line in CONSOLE.splitlines() if line.startswith("cachelog")]


@pytest.mark.parametrize("line", COMMANDS)
def test_each_command_runs(
    line: str, demo_catalog: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a lock file of which nothing is there."""
    (tmp_path / "spack.lock").write_bytes(as_bytes(small_lock_file()))
    monkeypatch.chdir(tmp_path)
    done = cachelog(*shlex.split(line)[1:], catalog=demo_catalog)
    assert done.code == int("--fail-under" in line), done.err
    assert "  all           0 of 2    0.0 %" in done.lines


def test_the_query_is_one() -> None:
    """It is valid, and allowed for 2,000 specs."""
    specs = [{"hash": "a" * 32, "name": "a"}] * 2_000
    assert api.document(QUERY).errors == ()
    assert 0 < api.cost(QUERY, None, {"specs": specs}).units <= api.limits.max_cost


def test_bounds_are_those_of_the_code() -> None:
    """How large a file may be, which versions are read, how many contents are searched."""
    assert f"{MAX_BYTES >> 20} MiB and {lock_files.MAX_SPECS:,} specs" in TEXT
    *others, last = map(str, lock_files.LOCK_FILE_VERSIONS)
    assert f"versions {', '.join(others)} and {last}:" in TEXT
    assert f"the newest {MOST_CONTENTS} different contents" in TEXT
    assert BODIES == 8
    assert "eight times `CACHELOG_MAX_BODY`" in TEXT
    assert f"the first {LISTED[0]} are grouped by their cause" in " ".join(TEXT.split())
    assert f"{MOST_MISSING} of them are listed" in " ".join(TEXT.split())
    assert f"no more than {LONGEST_ADDRESS:,} characters" in TEXT


def test_the_definition_of_near_is_that_of_the_code() -> None:
    """Step by step, as the docstring has it."""
    steps = re.compile(r"^ +(\d\. .*)$", re.MULTILINE)
    told = steps.findall(lookup.nearest_specs.__doc__ or "")
    assert len(told) == 5
    assert steps.findall(TEXT) == told
