"""The tables of figures in docs/, each of one run with its results in docs/results/."""

import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

from tests.benchmarks.machine import Run
from tests.benchmarks.measurements import Measurement
from tests.benchmarks.results import rounded

_WORK = (
    ("difference of two sets of hashes", "compare", "two", "Python: difference of two sets"),
    ("two loaded revisions compared", "compare", "two", "cachelog: the first comparison"),
    ("counterparts and causes, by the naive model", "explain", "counterparts", "Python"),
    ("counterparts and causes", "explain", "counterparts", "cachelog: the first time"),
    ("coverage, by the naive model", "explain", "package", "Python"),
    ("coverage", "explain", "package", "cachelog: the first time"),
    ("JSON of 1,233 pages parsed by orjson", "import", "", "orjson"),
    ("1,233 pages read", "import", "", "cachelog: read"),
    ("1,233 pages read and published", "import", "", "cachelog: read and publish"),
    ("a loaded revision in memory", "scale", "memory of a revision", "loaded"),
    ("its pages on disk", "scale", "a revision", "its cache pages"),
    ("one of two revisions in a catalog", "scale", "a revision", "cachelog: in the catalog"),
    ("start of a server of 200 revisions", "scale", "start on", "cachelog serve"),
)
"""The rows: label, benchmark, and the beginnings of subject and contender."""


def work_table(measurements: Sequence[Measurement]) -> str:
    """Return the work on one revision as a table in Markdown; empty unless all was measured."""
    rows: list[tuple[str, ...]] = [("Work on 58,000 specs", "Median", "Times")]
    for label, benchmark, subject, contender in _WORK:
        of_row = [
            it
            for it in measurements
            if it.benchmark == benchmark
            and it.subject.startswith(subject)
            and it.contender.startswith(contender)
        ]
        if not of_row:
            return ""
        median, ratio = f"{rounded(of_row[0].median)} {of_row[0].unit}", of_row[0].ratio
        rows.append((label, median, "" if ratio is None else rounded(ratio)))
    return aligned(rows)


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown; the first row is its header, all columns but one are numbers."""
    first, *others = (max(map(len, column)) for column in zip(*rows, strict=True))
    lines = [[name.ljust(first), *map(str.rjust, numbers, others)] for name, *numbers in rows]
    rule = ["-" * first, *("-" * (width - 1) + ":" for width in others)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [lines[0], rule, *lines[1:]])


def replace_table(text: str, table: str, commit: str = "") -> str:
    """Return a text in which a table replaces the one whose header begins with the same cell.

    ``commit`` replaces the next commit after the table. Raises ValueError without such a table.
    """
    first = re.escape(table.partition(" | ")[0].rstrip())
    old = re.search(rf"^{first} +\|.*\n(?:\|.*\n)*", text, re.MULTILINE)
    if old is None:
        raise ValueError(f"there is no table that begins with {table.partition(' | ')[0]}")
    after = text[old.end() :]
    if commit:
        after = re.sub(r"\bat commit [0-9a-f]{8}(?:-dirty)?", f"at commit {commit}", after, count=1)
    return f"{text[: old.start()]}{table}\n{after}"


def write_figures(document: Path, name: str, table: str, run: Run) -> None:
    """Replace a table in a document, and write its run to ``results/NAME.json`` next to it."""
    text = replace_table(document.read_text("utf-8"), table, run.commit)
    file = document.parent / "results" / f"{name}.json"
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(msgspec.json.format(msgspec.json.encode(run), indent=1) + b"\n")
    document.write_text(text, "utf-8")
