"""docs/benchmarks.md and docs/attacks.md: the figures are those of runs in docs/results/."""

import re

import msgspec
import pytest

from tests.benchmarks.__main__ import TABLES, table_of
from tests.benchmarks.documents import replace_table
from tests.benchmarks.machine import Run
from tests.benchmarks.results import Results
from tests.hostile.report import AttackRun, by_group
from tests.hostile.soak import MixedLoad
from tests.test_docs import DOCUMENTS, ROOT


def data_of(name: str) -> bytes:
    """Return the results of a run that a document shows."""
    return (ROOT / "docs" / "results" / f"{name}.json").read_bytes()


def holds(document: str, table: str, run: Run) -> None:
    """Hold that a document shows the table, and the commit and the machine after it."""
    text = DOCUMENTS[document]
    assert replace_table(text, table, run.commit) == text
    after = text[text.index(table) + len(table) :].split("\n| ")[0].split("\n## ")[0]
    assert f"at commit {run.commit}" in after
    assert f"{run.machine.cores} shared cores of an {run.machine.cpu}" in after


# The table of years is of a run before there were files.
@pytest.mark.parametrize("name", [name for name in TABLES if name != "years"])
def test_a_table_is_of_a_run_of_the_benchmarks(name: str) -> None:
    """The figures, the machine and the commit are those of the file that it wrote."""
    results = msgspec.json.decode(data_of(name), type=Results)
    assert not results.quick
    holds("benchmarks.md", table_of(name, results.measurements), results)


def test_the_sizes_and_the_noise_of_requests_are_those_of_their_run() -> None:
    """As the sentences around the table have them."""
    results = msgspec.json.decode(data_of("requests"), type=Results)
    speed = DOCUMENTS["benchmarks.md"].split("\n## Requests over HTTP\n")[1].split("\n## ")[0]
    factors = [float(text) for note in results.notes for text in re.findall(r"\d\.\d\d", note)]
    assert f"{min(factors)} to {max(factors)}" in speed
    for subject in {it.subject for it in results.measurements if "HTTP" in it.subject}:
        (size,) = re.findall(r"([\d,]+) bytes", subject)
        assert (f"{size[:-4]} kB" if len(size) > 3 else f"{size} bytes") in speed


def test_the_tables_of_attacks_are_of_a_run() -> None:
    """Those of single attacks, and of mixed load."""
    attacks = msgspec.json.decode(data_of("attacks"), type=AttackRun)
    holds("attacks.md", by_group(attacks.attacks), attacks)
    mixed = msgspec.json.decode(data_of("soak"), type=MixedLoad)
    holds("attacks.md", mixed.table(), mixed)


@pytest.mark.parametrize("document", ["benchmarks.md", "attacks.md"])
def test_each_table_names_the_commit_that_was_measured(document: str) -> None:
    """After it, where a run that writes the table writes it, too."""
    text = DOCUMENTS[document]
    for shown in re.finditer(r"^\|(?: ?-+:? ?\|)+\n(?:\|.*\n)+", text, re.MULTILINE):
        after, _, _ = text[shown.end() :].partition("\n## ")
        before_next = re.split(r"^\|", after, maxsplit=1, flags=re.MULTILINE)[0]
        assert re.search(r"\bat commit [0-9a-f]{8}\b", before_next), shown[0][:200]
