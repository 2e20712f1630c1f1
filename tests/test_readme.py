"""The README is true: its examples run as they stand."""

import os
import re
import shutil
from contextlib import ExitStack
from pathlib import Path

import msgspec
import pytest

from tests.benchmarks.over_http import table
from tests.benchmarks.results import Results
from tests.consoles import assert_prints, examples
from tests.hostile.report import replace_table
from tests.server.servers import serving

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
SHOWN_SERVER = "http://127.0.0.1:8000"


@pytest.mark.long
def test_examples(tmp_path: Path) -> None:
    """Each command does what the README shows, in the order of the README."""
    if shutil.which("curl") is None and not os.environ.get("CI"):
        pytest.skip("curl is not installed")
    count = 0
    with ExitStack() as stack:
        url = None
        for command, shown in examples(README):
            if SHOWN_SERVER in command and url is None:
                catalog = tmp_path / "catalog"
                url = stack.enter_context(serving(catalog, tmp_path / "serve.log")).url
            assert_prints(command.replace(SHOWN_SERVER, url or ""), shown, tmp_path)
            count += 1
    assert count >= 7


def test_the_table_of_requests_is_of_a_run_of_the_benchmark() -> None:
    """The figures, sizes, machine, noise and commit are those of the file that it wrote."""
    data = (ROOT / "tests" / "benchmarks" / "results.json").read_bytes()
    results = msgspec.json.decode(data, type=Results)
    assert not results.quick
    assert replace_table(README, table(results.measurements)) == README
    speed = README.split("\n## Speed\n")[1].split("\n## ")[0]
    assert results.commit in speed
    assert f"{results.machine.cores} shared cores of an {results.machine.cpu}" in speed
    factors = [float(text) for note in results.notes for text in re.findall(r"\d\.\d\d", note)]
    assert f"{min(factors)} to {max(factors)}" in speed
    for subject in {it.subject for it in results.measurements if "HTTP" in it.subject}:
        (size,) = re.findall(r"([\d,]+) bytes", subject)
        assert (f"{size[:-4]} kB" if len(size) > 3 else f"{size} bytes") in speed
