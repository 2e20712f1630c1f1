"""docs/benchmarks.md: the figures are those of a run of the benchmark."""

import re

import msgspec

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
