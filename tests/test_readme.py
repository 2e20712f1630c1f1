"""The README is true: its examples run as they stand."""

import os
import re
import shutil
from pathlib import Path

import msgspec
import pytest

from tests.benchmarks.over_http import table
from tests.benchmarks.results import Results
from tests.consoles import examples, shell
from tests.hostile.report import replace_table
from tests.server.servers import free_port, until

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
MOST_WORDS = 1_400


@pytest.mark.long
def test_examples(tmp_path: Path) -> None:
    """All commands print what the README shows, typed one after the other into one shell."""
    if shutil.which("curl") is None and not os.environ.get("CI"):
        pytest.skip("curl is not installed")
    port = free_port()
    start, serve = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)[0].splitlines()
    assert ". .venv/bin/activate" in start
    assert serve == "cachelog serve --demo &"
    commands = [*examples(README)]
    assert len(commands) >= 8
    log = tmp_path / "serve.log"
    log.touch()
    with shell(tmp_path) as typed:
        # Its output would mix with that of the commands.
        typed.type(serve.replace(" &", f" --port {port} > serve.log &"))
        until(lambda: "serves" in log.read_text(), "the server is ready")
        for command, shown in commands:
            typed.assert_prints(command.replace(":8000", f":{port}"), shown)


def test_it_is_short() -> None:
    """A newcomer reads all of it."""
    assert len(README.split()) <= MOST_WORDS


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
