"""What starting the command line costs, in seconds of processor time beside Python's own start."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

from tests.benchmarks.measurements import Measurement, Target, Turn, measure
from tests.benchmarks.plans import Plan

_CACHELOG = Path(sys.executable).with_name("cachelog")
_AT_ONCE = Target(0.15, of="median")
_REFERENCE = "Python that does nothing"


def run(plan: Plan) -> Iterator[Measurement]:
    """Measure help, version and completion, and short commands on the catalog."""
    catalog = {"CACHELOG_CATALOG": str(plan.data.catalog)}
    contenders: dict[str, Turn] = {
        _REFERENCE: partial(_seconds, [sys.executable, "-c", "pass"], {}),
        "cachelog: --version": partial(_seconds, [_CACHELOG, "--version"], {}),
        "cachelog: --help": partial(_seconds, [_CACHELOG, "--help"], {}),
        "cachelog: completing a command": partial(_seconds, [_CACHELOG], _typed("fi")),
        "cachelog: completing a ref": partial(_seconds, [_CACHELOG], _typed("diff d") | catalog),
    }
    at_once = [name for name in contenders if name != _REFERENCE]
    contenders |= {
        f"cachelog: {command}": partial(_seconds, [_CACHELOG, *command.split()], catalog)
        for command in ("revisions", "find * --limit 1")
    }
    yield from measure(
        "start",
        f"commands, on a catalog of {plan.data.specs:,} specs",
        contenders,
        unit="s of CPU",
        rounds=plan.rounds,
        targets=dict.fromkeys(at_once, _AT_ONCE),
    )


def _typed(text: str) -> dict[str, str]:
    """Return the variables by which bash asks what may follow the text."""
    words = ["cachelog", *text.split(" ")]
    return {
        "_CACHELOG_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(words),
        "COMP_CWORD": str(len(words) - 1),
    }


def command_seconds(words: list[str], catalog: Path) -> float:
    """Return the processor time of a command on a catalog; Python's own start is part of it."""
    return _seconds([_CACHELOG, *words], {"CACHELOG_CATALOG": str(catalog)})


def _seconds(command: list[str | Path], variables: Mapping[str, str]) -> float:
    """Run a command, which must succeed; return the processor time that it took."""
    before = _processor_time()
    environment = {**os.environ, **variables}
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    return _processor_time() - before


def _processor_time() -> float:
    use = getrusage(RUSAGE_CHILDREN)
    return use.ru_utime + use.ru_stime
