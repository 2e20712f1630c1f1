"""docs/keeping.md: the examples run."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.retention import choose, parse_policy
from snapshots.history import History
from snapshots.models import RevisionInfo
from tests.deploy.files import containers, own_services
from tests.server.commands import cachelog
from tests.snapshots.factories import a_revision, a_snapshot, day
from tests.snapshots.importers import specs_of
from tests.snapshots.removal_catalogs import hours_ago, loaded, publish, rows
from tests.snapshots.templates import copied

ROOT = Path(__file__).parents[1]
KEEP = own_services()["upkeep"]["environment"]["KEEP"]
TEXT = (ROOT / "docs" / "keeping.md").read_text("utf-8")
PRUNING, _, LATER = TEXT.partition("\n## Backup\n")
BACKUP, _, _ = LATER.partition("\n## Power cuts\n")


def commands(section: str) -> list[str]:
    """Return the command lines of a section, without the name of the program."""
    return [
        line.removeprefix("cachelog ")
        for block in re.findall(r"```sh\n(.*?)```", section, re.DOTALL)
        for line in block.splitlines()
    ]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a catalog with the revisions that the examples name."""
    folder = tmp_path_factory.mktemp("catalog")
    tags = [
        (number, tag)
        for number in range(3)
        for tag in ("develop", f"develop-2025-01-0{number + 5}")
    ]
    Catalog(str(folder)).publish(
        a_snapshot(specs_of(number), tag, day(number)) for number, tag in [*tags, (1, "v1.0")]
    )
    return folder


@pytest.fixture
def catalog(template: Path, tmp_path: Path) -> Catalog:
    """Return a copy of that catalog."""
    return copied(template, tmp_path / "catalog")


def test_examples_of_pruning_succeed(
    catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They print no message except that dependencies are unknown here."""
    monkeypatch.chdir(tmp_path)
    assert len(commands(PRUNING)) == 6
    for command in commands(PRUNING):
        words = shlex.split(command.partition(" > ")[0])
        result = cachelog(*words, catalog=catalog.location)
        message = r"The dependencies of \d+ specs are unknown: .*\n" if "--whole" in words else ""
        assert result.code == 0, command
        assert re.fullmatch(message, result.err), command


def policies() -> Iterator[Any]:
    """Yield the options of each ``upkeep`` that documents and deployments run every night."""
    for file in ("docs/keeping.md", "deploy/compose.yaml"):
        text = (ROOT / file).read_text("utf-8").replace("$$KEEP", KEEP)
        for line in re.findall(r"cachelog (upkeep --keep [^&|\n]*)", text):
            yield pytest.param(shlex.split(line), id=f"{file}: {line}")
    (args,) = (it["args"] for it in containers() if "upkeep" in it.get("args", []))
    yield pytest.param(args[1:], id="deploy/kubernetes")


@pytest.mark.parametrize("command", [*policies()])
def test_nightly_policies_remove_dated_tags(command: list[str]) -> None:
    """After 40 nights, 30 days and the last day of each week before are left."""
    policy = command[command.index("--keep") + 1]
    rows: list[RevisionInfo] = []
    for night in range(40):
        rows.append(a_revision(f"develop-{day(night):%Y-%m-%d}", night, f"{night}"))
        choices = choose(History(rows), parse_policy(policy))
        rows = [choice.revision for choice in choices if choice.kept_by]
    kept = sorted((row.taken_at - day(0)).days for row in rows)
    sundays = [0, 7] if "weekly" in policy else []
    assert kept == [*sundays, *range(10, 40)]


def test_the_nightly_script_prunes(tmp_path: Path) -> None:
    """Its upkeep leaves 32 of 40 nights, deletes the others' files a day later, and copies."""
    (script,) = re.findall(r"```sh\n(set -e\n.*?)```", TEXT, re.DOTALL)
    catalog = Catalog(str(tmp_path / "catalog"))
    with hours_ago(48):
        catalog.publish(
            a_snapshot(specs_of(night), f"develop-{day(night):%Y-%m-%d}", day(night))
            for night in range(40)
        )
    upkeep = script.splitlines()[-1].removeprefix("cachelog ").replace("/mnt", f"{tmp_path}/mnt")
    with hours_ago(60):
        assert cachelog(*shlex.split(upkeep), catalog=catalog.location).code == 0
    assert len(rows(catalog)) == 32
    with hours_ago(30):
        assert cachelog(*shlex.split(upkeep), catalog=catalog.location).code == 0
    assert cachelog(*shlex.split(upkeep), catalog=catalog.location).code == 0
    assert len(loaded(catalog)) == 32
    assert len(rows(Catalog(f"{tmp_path}/mnt/backup/catalog"))) == 32


def test_examples_of_backups_succeed(
    catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To a new location, and again; the restored catalog equals the original."""
    monkeypatch.setenv("CACHELOG_CATALOG", catalog.location)
    monkeypatch.chdir(tmp_path)
    backup, verify, restore = (
        command.replace("/mnt/backup", f"{tmp_path}/mnt") for command in commands(BACKUP)
    )
    for command in (backup, verify, backup, verify, restore):
        result = cachelog(*shlex.split(command))
        assert (result.code, result.err) == (0, ""), command
    assert rows(Catalog("restored")) == rows(catalog)
    publish(catalog, 3, 3)
    document = cachelog(*shlex.split(backup), "--json").json
    assert document["numRevisions"] == len(rows(catalog)) == 8
    assert cachelog(*shlex.split(verify)).code == 0


@pytest.mark.parametrize("rule", re.findall(r"`((?:\d+|all)(?: \w+)?)`", PRUNING))
def test_documented_rules_are_valid(rule: str) -> None:
    """Those of the table are valid."""
    if rule != "all":
        assert str(parse_policy(rule)[0]) == rule
    else:
        assert parse_policy(rule)
