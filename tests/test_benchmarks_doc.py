"""docs/benchmarks.md and docs/security.md: the figures are those of runs in docs/results/."""

import re

import msgspec
import pytest

from tests.benchmarks.__main__ import TABLES, table_of
from tests.benchmarks.documents import replace_table
from tests.benchmarks.machine import Run
from tests.benchmarks.results import Results
from tests.hostile.report import AttackRun, by_group
from tests.hostile.soak import MixedLoad
from tests.test_docs import DOCUMENTS, ROOT, section


def data_of(name: str) -> bytes:
    """Return the results of a run."""
    return (ROOT / "docs" / "results" / f"{name}.json").read_bytes()


def assert_shows(document: str, table: str, run: Run) -> None:
    """Assert that a document has the table of a run, followed by its commit and machine."""
    text = DOCUMENTS[document]
    assert replace_table(text, table, run.commit) == text
    after = text[text.index(table) + len(table) :].split("\n| ")[0].split("\n## ")[0]
    assert f"at commit {run.commit}" in after
    assert f"{run.machine.cores} shared cores of an {run.machine.cpu}" in after


# The results of the table of years are older than the files of results.
@pytest.mark.parametrize("name", [name for name in TABLES if name != "years"])
def test_tables_of_benchmarks_are_those_of_a_run(name: str) -> None:
    """The figures, machine and commit are those of the results."""
    results = msgspec.json.decode(data_of(name), type=Results)
    assert not results.quick
    assert_shows("benchmarks.md", table_of(name, results.measurements), results)


def test_sentences_about_requests_match_the_run() -> None:
    """The sizes and the noise are those of the results."""
    results = msgspec.json.decode(data_of("requests"), type=Results)
    text = section("benchmarks.md", "Requests over HTTP")
    factors = [float(number) for note in results.notes for number in re.findall(r"\d\.\d\d", note)]
    assert f"{min(factors)} to {max(factors)}" in text
    subjects = {measurement.subject for measurement in results.measurements}
    for subject in (subject for subject in subjects if "HTTP" in subject):
        (size,) = re.findall(r"([\d,]+) bytes", subject)
        assert (f"{size[:-4]} kB" if len(size) > 3 else f"{size} bytes") in text


def test_tables_of_attacks_are_those_of_a_run() -> None:
    """Of single attacks, and of mixed load."""
    attacks = msgspec.json.decode(data_of("attacks"), type=AttackRun)
    assert_shows("security.md", by_group(attacks.attacks), attacks)
    mixed = msgspec.json.decode(data_of("soak"), type=MixedLoad)
    assert_shows("security.md", mixed.table(), mixed)
