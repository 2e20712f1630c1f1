"""docs/keeping.md: the examples run, the keys are those."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.retention import parse_policy
from snapshots.catalog.vacuum import LEAST, MOST
from tests.server.commands import cachelog
from tests.snapshots.keeping import publish, rows

TEXT = (Path(__file__).parents[1] / "docs" / "keeping.md").read_text("utf-8")
PRUNING, _, LATER = TEXT.partition("\n## Backup\n")
BACKUP, _, JSON = LATER.partition("\n## Power cuts\n")


def commands(section: str) -> list[str]:
    """Return the command lines of a section, without the program's name."""
    return [
        line.removeprefix("cachelog ")
        for block in re.findall(r"```sh\n(.*?)```", section, re.DOTALL)
        for line in block.splitlines()
    ]


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    """Return a catalog that has what the examples name."""
    made = Catalog(str(tmp_path / "catalog"))
    for number in range(3):
        publish(made, number, number)
        publish(made, number, number, f"develop-2025-01-0{number + 5}")
    publish(made, 1, 1, "v1.0")
    return made


def test_the_examples_run(
    catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One after the other, each without a complaint but that nothing tells dependencies here."""
    monkeypatch.chdir(tmp_path)
    assert len(commands(PRUNING)) == 7
    for command in commands(PRUNING):
        words = shlex.split(command)
        done = cachelog(*words, catalog=catalog.location)
        remark = r"The dependencies of \d+ specs are unknown: .*\n" if "--whole" in words else ""
        assert done.code == 0, command
        assert re.fullmatch(remark, done.err), command


def test_the_backup_runs(catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To a place that is not there yet, and again; what is restored is what was copied."""
    monkeypatch.setenv("CACHELOG_CATALOG", catalog.location)
    monkeypatch.chdir(tmp_path)
    backup, verify, restore = (
        command.replace("/mnt/backup", f"{tmp_path}/mnt") for command in commands(BACKUP)
    )
    for command in (backup, verify, backup, verify, restore):
        done = cachelog(*shlex.split(command))
        assert (done.code, done.err) == (0, ""), command
    assert rows(Catalog("restored")) == rows(catalog)
    publish(catalog, 3, 3)
    told = cachelog(*shlex.split(backup), "--json").json
    assert all(f"`{key}`" in BACKUP for key in told)
    assert told["num_revisions"] == len(rows(catalog)) == 8
    assert cachelog(*shlex.split(verify)).code == 0


@pytest.mark.parametrize("rule", re.findall(r"`((?:\d+|all)(?: \w+)?)`", PRUNING))
def test_the_rules_that_are_named_are_rules(rule: str) -> None:
    """Each of the table."""
    if rule != "all":
        assert str(parse_policy(rule)[0]) == rule
    else:
        assert parse_policy(rule)


def test_the_bounds_are_those() -> None:
    """Of the time of grace."""
    hours, days = LEAST.total_seconds() / 3_600, MOST.total_seconds() / 86_400
    assert f"from `{hours:.0f}h` to `{days:.0f}d`" in PRUNING


@pytest.mark.parametrize("command", ["remove develop", "prune --keep all", "vacuum", "verify"])
def test_the_keys_are_named(catalog: Catalog, command: str) -> None:
    """All that the JSON has, and what stands in its lists."""
    name, *_ = command.split()
    (row,) = (line for line in JSON.splitlines() if line.startswith("| `") and f"`{name}`" in line)
    found: dict[str, Any] = cachelog(*command.split(), "--json", catalog=catalog.location).json
    assert found
    for key, value in found.items():
        assert f"`{key}`" in row
        if isinstance(value, list) and key not in ("removed", "kept"):
            assert all(f"`{it}`" in row for one in value if isinstance(one, dict) for it in one)
