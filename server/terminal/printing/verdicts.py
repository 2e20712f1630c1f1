"""The verdict of rules, as lines of text and as a document for programs."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from server.terminal.printing import styles
from server.terminal.printing.layout import Style, wrapped
from snapshots.changes.rules.rules import RuleLevel
from snapshots.changes.rules.verdict import RuleResult, Verdict
from snapshots.models import RevisionInfo, revision_facts
from snapshots.refs import title
from snapshots.wording import counted

FORMAT = 1
"""The version of the document; it rises when a name in it goes or means something else."""

FEW = 20
"""How many breaches of a rule are listed for people."""


class Report(NamedTuple):
    """What was judged by the rules of a file, and the verdict; no base where head was alone."""

    rules: str
    base: RevisionInfo | None
    head: RevisionInfo
    verdict: Verdict


def outcome(result: RuleResult) -> str:
    """Return what became of a rule in one word."""
    return "passed" if result.passed else result.rule.level.value


_STYLES: dict[str, Style] = {
    "passed": styles.added,
    "error": styles.removed,
    "warning": styles.changed,
}


def verdict_lines(report: Report, width: int | None) -> Iterator[str]:
    """Yield what was judged, each rule with its first breaches, and how many are broken."""
    base = f"{title(report.base)} -> " if report.base else ""
    yield from wrapped(f"{base}{title(report.head)}", width)
    for result in report.verdict.results:
        word = outcome(result)
        first, *others = wrapped(f"{word}: {result.rule.name}: {result.message}", width)
        yield _STYLES[word](first[: len(word)]) + first[len(word) :]
        yield from others
        for line in few_breaches(result):
            yield from wrapped(f"  {line}", width)
    yield summary(report.verdict)


def few_breaches(result: RuleResult) -> list[str]:
    """Return the first breaches of a rule, and how many more there are.

    A single one that says what the rule's message says is left out.
    """
    shown: Sequence[str] = [it.message for it in result.breaches[:FEW]]
    if shown == [result.message]:
        return []
    more = len(result.breaches) - len(shown)
    return [*shown, *([f"... and {more:,} more"] if more else [])]


def summary(verdict: Verdict) -> str:
    """Return how many rules are broken."""
    total = counted(len(verdict.results), "rule")
    errors, warnings = (len(verdict.broken(level)) for level in RuleLevel)
    if not errors and not warnings:
        return f"{total} passed"
    parts = [counted(errors, "error")] if errors else []
    parts += [counted(warnings, "warning")] if warnings else []
    return f"{' and '.join(parts)} in {total}"


def verdict_document(report: Report) -> dict[str, Any]:
    """Return the verdict for programs; docs/gates.md describes it."""
    verdict = report.verdict
    return {
        "format": FORMAT,
        "rules_file": report.rules,
        "base": revision_facts(report.base) if report.base else None,
        "head": revision_facts(report.head),
        "passed": verdict.passed,
        "rules": list(map(_result_facts, verdict.results)),
    }


def _result_facts(result: RuleResult) -> dict[str, Any]:
    return {
        "name": result.rule.name,
        "level": result.rule.level.value,
        "line": result.rule.line,
        "passed": result.passed,
        "message": result.message,
        "num_breaches": len(result.breaches),
        "breaches": [
            {"message": it.message, "package": it.package, "specs": it.hashes()}
            for it in result.breaches
        ],
    }
