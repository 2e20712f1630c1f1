"""docs/benchmarks.md: the figures are those of a run of the benchmark."""

import re

import msgspec
import pytest

from tests.benchmarks.over_http import table
from tests.benchmarks.results import Results
from tests.hostile.report import replace_table
from tests.test_docs import DOCUMENTS, ROOT

TEXT = DOCUMENTS["benchmarks.md"]


def test_the_table_of_requests_is_of_a_run_of_the_benchmark() -> None:
    """The figures, sizes, machine, noise and commit are those of the file that it wrote."""
    data = (ROOT / "tests" / "benchmarks" / "results.json").read_bytes()
    results = msgspec.json.decode(data, type=Results)
    assert not results.quick
    assert replace_table(TEXT, table(results.measurements)) == TEXT
    speed = TEXT.split("\n## Requests over HTTP\n")[1].split("\n## ")[0]
    assert results.commit in speed
    assert f"{results.machine.cores} shared cores of an {results.machine.cpu}" in speed
    factors = [float(text) for note in results.notes for text in re.findall(r"\d\.\d\d", note)]
    assert f"{min(factors)} to {max(factors)}" in speed
    for subject in {it.subject for it in results.measurements if "HTTP" in it.subject}:
        (size,) = re.findall(r"([\d,]+) bytes", subject)
        assert (f"{size[:-4]} kB" if len(size) > 3 else f"{size} bytes") in speed


@pytest.mark.parametrize("document", ["benchmarks.md", "attacks.md"])
def test_each_table_names_the_commit_that_was_measured(document: str) -> None:
    """After it, where a run that writes the table writes it, too."""
    text = DOCUMENTS[document]
    for shown in re.finditer(r"^\|(?: ?-+:? ?\|)+\n(?:\|.*\n)+", text, re.MULTILINE):
        after, _, _ = text[shown.end() :].partition("\n## ")
        before_next = re.split(r"^\|", after, maxsplit=1, flags=re.MULTILINE)[0]
        assert re.search(r"\bat commit [0-9a-f]{8}\b", before_next), shown[0][:200]


def test_a_run_names_its_commit() -> None:
    """In the place of the one after its table; others stay."""
    text = "| A | 1 |\n| - | - |\n\nat commit 11111111\n\n| B | 1 |\n\nat commit 22222222\n"
    written = replace_table(text, "| B | 2 |", "33333333-dirty")
    assert written == text.replace("| B | 1", "| B | 2").replace("22222222", "33333333-dirty")
