"""Nights of a deployment: what compose.yaml runs, and what the status and the metrics say of it."""

import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from server.metrics import of_runs
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.runs import regular
from tests.demo_histories import history, write_pages
from tests.deploy.files import commands_of, own_services
from tests.server.commands import CommandResult, cachelog

NIGHTS = 6


class Nights:
    """A deployment whose commands run one after the other, as its loops run them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.catalog = Catalog(str(folder / "catalog"))
        self.rules = folder / "rules.toml"
        self.rules.write_text('[[rule]]\nname = "few"\nlimit = "specs-removed"\nat-most = 1000\n')

    def run(self, service: str, **variables: str) -> CommandResult:
        """Run the command of a service with its variables; return its result."""
        environ = {**own_services()[service]["environment"], **variables}
        texts = {name: str(value) for name, value in environ.items()}
        ((_, *words),) = commands_of(own_services()[service]["command"], texts)
        words = [word.replace("/backup", f"{self.folder}/backup") for word in words]
        return cachelog(*words, catalog=self.catalog.location)

    def import_state(self, number: int | None) -> CommandResult:
        """Run the importer on the source in the state of a night; without one, it is gone."""
        source = self.folder / "source" / "develop"
        shutil.rmtree(source, ignore_errors=True)
        if number is not None:
            (state,) = (self.folder / f"{number}").iterdir()
            shutil.copytree(state, source)
        locations = f"{source} --tag develop --gate {self.rules}"
        return self.run("importer", LOCATIONS=locations)

    def status(self) -> list[str]:
        """Return what needs a person."""
        result = cachelog("status", "--json", catalog=self.catalog.location)
        problems: list[str] = result.json["problems"]
        assert result.code == bool(problems)
        return problems

    def failing(self) -> set[str]:
        """Return the runs whose last result is bad, by the metrics."""
        _, results = of_runs(regular(self.catalog.runs.all(), datetime.now(UTC)))
        return {it.labels["run"] for it in results.samples if not it.value}


@pytest.fixture
def nights(tmp_path: Path) -> Nights:
    """Return a deployment with two good nights."""
    nights = Nights(tmp_path)
    for number, snapshot in enumerate(history(revisions=NIGHTS, packages=5, specs=20)):
        write_pages(snapshot, tmp_path / f"{number}")
    for number in range(2):
        night(nights, number)
    return nights


def night(nights: Nights, number: int) -> None:
    """Import the state of a night, and do the upkeep; all is well."""
    assert nights.import_state(number).code == 0
    assert nights.run("upkeep").code == 0
    assert (nights.status(), nights.failing()) == ([], set())


def source_is_gone(nights: Nights) -> None:
    """Import from a folder that does not exist."""
    assert nights.import_state(None).code == 1


def gate_refuses(nights: Nights) -> None:
    """Import what a rule forbids."""
    text = nights.rules.read_text()
    nights.rules.write_text(text.replace("1000", "0"))
    assert nights.import_state(NIGHTS - 1).code == 1
    nights.rules.write_text(text)


def content_is_damaged(nights: Nights) -> None:
    """Flip a bit of each content; some upkeep of the month finds it, or a verification."""
    for path in Path(nights.catalog.location).glob("specs/*/*.parquet"):
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
    assert cachelog("verify", catalog=nights.catalog.location).code == 1


def is_seen(nights: Nights, run: str, sentence: str) -> None:
    """Check that the status names a bad night, and that the metrics count it."""
    (problem,) = nights.status()
    assert problem.startswith(f"{run} ")
    assert sentence in problem
    assert nights.failing() == {run}


def test_bad_nights_are_seen_and_good_ones_follow(nights: Nights) -> None:
    """A gone source, a refusal and damage are told within the night; the next one is well."""
    source_is_gone(nights)
    is_seen(nights, "import", "does not exist")
    night(nights, 2)
    gate_refuses(nights)
    is_seen(nights, "import", "is refused")
    night(nights, 3)
    copy = str(nights.folder / "backup")
    for location in (nights.catalog.location, copy):
        assert cachelog("verify", catalog=location).code == 0
    assert Catalog(copy).require_history().revisions == nights.catalog.require_history().revisions
    content_is_damaged(nights)
    is_seen(nights, "verify", "is damaged")
