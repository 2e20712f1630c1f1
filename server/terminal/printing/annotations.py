"""The verdict of rules as workflow commands of GitHub, which shows them as annotations.

Source: the commands ``error`` and ``warning`` of GitHub's "Workflow commands for GitHub Actions";
what has to be escaped is that of its toolkit (@actions/core, command.ts).
"""

from collections.abc import Iterator

from server.terminal.printing.verdicts import Report, few_breaches, summary
from snapshots.changes.rules.verdict import RuleResult
from snapshots.wording import visible

_END_OF_LINE = "%0A"
_IN_DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": _END_OF_LINE})
_IN_PROPERTIES = _IN_DATA | str.maketrans({":": "%3A", ",": "%2C"})


def annotations(report: Report) -> Iterator[str]:
    """Yield a command for each broken rule, at its line of the file, and then the summary."""
    for result in report.verdict.results:
        if not result.passed:
            yield _annotation(result, report.rules)
    yield summary(report.verdict)


def _annotation(result: RuleResult, file: str) -> str:
    properties = {"file": file, "line": str(result.rule.line or 1), "title": result.rule.name}
    written = ",".join(
        f"{name}={visible(value).translate(_IN_PROPERTIES)}" for name, value in properties.items()
    )
    # What is not seen is written out first, so that the only ends of lines are those between lines.
    lines = map(visible, (result.message, *few_breaches(result)))
    data = _END_OF_LINE.join(line.translate(_IN_DATA) for line in lines)
    return f"::{result.rule.level.value} {written}::{data}"
