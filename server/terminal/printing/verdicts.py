"""Verdicts of rules: as lines of text, as a JSON document, and in formats of CI systems."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

import click
import msgspec

from server.terminal.catalogs import open_sides
from server.terminal.console import note
from server.terminal.printing import text
from server.terminal.printing.text import Style
from snapshots.catalog.library import Library
from snapshots.catalog.publication import Approve, Planned
from snapshots.changes.diff import Comparison
from snapshots.changes.explanation import explain
from snapshots.changes.rules.measures import RuleContext, Searched
from snapshots.changes.rules.rule_files import read_rules
from snapshots.changes.rules.rules import Rule, RuleLevel, RuleResult, Verdict, judge
from snapshots.changes.sides import Side
from snapshots.errors import RefusedByRules, RulesError, RuleUnusable, SourceError
from snapshots.models import SideInfo
from snapshots.refs import title
from snapshots.side_comparisons import SideComparison
from snapshots.texts import counted, visible


class GateReport(msgspec.Struct, frozen=True):
    """A verdict, the file of its rules, and the sides judged; no ``base`` if head was alone."""

    rules: str
    base: SideInfo | None
    head: SideInfo
    verdict: Verdict


def judge_sides(rules: str, location: str, texts: Sequence[str]) -> GateReport:
    """Judge the last of one or two sides by the rules of a file, which is read first.

    Raises CachelogError if the file or a side cannot be read, or a rule cannot be judged.
    """
    rule_set = read_rules(rules)
    opened, (*before, head) = open_sides(location, texts)
    base = before[0] if before else None
    return report_of(rules, rule_set, base, head, _context(opened.library, base, head))


def report_of(
    rules: str,
    rule_set: Sequence[Rule],
    base: SideInfo | None,
    head: SideInfo,
    context: RuleContext,
) -> GateReport:
    """Judge the comparison of two sides, or one side, by the rules of a file.

    Raises RulesError, with the file and line of the rule, for one that cannot be judged.
    """
    try:
        return GateReport(rules, base, head, judge(rule_set, context))
    except RuleUnusable as error:
        reason = f"rule {error.rule!r}: {error.reason}"
        raise RulesError([SourceError(rules, reason, line=error.line, key=error.key)]) from None


def _context(library: Library, base: SideInfo | None, head: SideInfo) -> RuleContext:
    """Return the input of rules: two sides, or head alone; data is loaded when a rule needs it."""
    if base is None:
        after = Searched(library.frames.get(head.content), partial(library.graph_of, head))
        return RuleContext(None, after, library.package_names)
    return SideComparison(base, head, library).rule_context(library.package_names)


def gatekeeper(rules: str, names: Callable[[], Collection[str]]) -> Approve:
    """Return a function that refuses revisions that break an error-level rule of a file.

    Each is judged by its changes within its series, the first one by the rules that need no base.
    The file is read immediately; raises what ``read_rules`` raises. Broken rules are printed to
    standard error. ``names`` returns the packages of the catalog.
    """
    rule_set = read_rules(rules)

    def approve(planned: Planned) -> None:
        previous: dict[str, Side] = {}
        is_refused = False
        for base, head in planned.neighbours():
            digests = [it.digest for it in (base, head) if it is not None]
            sides = [previous.get(digest) or planned.load(digest) for digest in digests]
            previous = dict(zip(digests, sides, strict=True))
            own = [rule for rule in rule_set if base is not None or not rule.needs_base]
            report = report_of(rules, own, base, head, _context_of_sides(sides, names))
            if any(not result.passed for result in report.verdict.results):
                note(click.unstyle("\n".join(verdict_lines(report))))
            is_refused |= not report.verdict.passed
        if is_refused:
            raise RefusedByRules(rules)

    return approve


def _context_of_sides(sides: Sequence[Side], names: Callable[[], Collection[str]]) -> RuleContext:
    *before, after = map(_of_side, sides)
    if not before:
        return RuleContext(None, after, names)
    comparison = Comparison(sides[0].frame, sides[1].frame)
    why = cache(partial(explain, comparison, sides[0].graph, sides[1].graph))
    return RuleContext(before[0], after, names, comparison, why)


def _of_side(side: Side) -> Searched:
    return Searched(side.frame, lambda: side.graph)


_STYLES: dict[str, Style] = {
    "passed": text.added,
    "error": text.removed,
    "warning": text.changed,
}


def verdict_lines(report: GateReport) -> Iterator[str]:
    """Yield the sides judged, each rule with its first breaches, and the number of broken rules."""
    base = f"{title(report.base)} -> " if report.base else ""
    yield f"{base}{title(report.head)}"
    for result in report.verdict.results:
        word = result.outcome
        yield f"{_STYLES[word](word)}: {result.rule.name}: {result.message}"
        for line in result.few_breaches:
            yield f"  {line}"
    yield summary(report.verdict)


def summary(verdict: Verdict) -> str:
    """Return the numbers of broken rules of each level, and of all rules."""
    total = counted(len(verdict.results), "rule")
    errors, warnings = (len(verdict.broken(level)) for level in RuleLevel)
    if not errors and not warnings:
        return f"{total} passed"
    counts = (errors, "error"), (warnings, "warning")
    parts = [counted(count, noun) for count, noun in counts if count]
    return f"{' and '.join(parts)} in {total}"


def verdict_document(report: GateReport) -> dict[str, Any]:
    """Return the verdict, with all breaches, in the names of ``CheckReport`` in the API."""
    rules = [
        {
            "name": result.rule.name,
            "level": result.rule.level,
            "line": result.rule.line,
            "hasPassed": result.passed,
            "message": result.message,
            "numBreaches": len(result.breaches),
            "breaches": [
                {"message": it.message, "packageName": it.package, "hashes": it.hashes()}
                for it in result.breaches
            ],
        }
        for result in report.verdict.results
    ]
    sides = {"rulesFile": report.rules, "base": report.base, "head": report.head}
    return {**sides, "hasPassed": report.verdict.passed, "rules": rules}


# -- annotations of GitHub


_END_OF_LINE = "%0A"
_IN_DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": _END_OF_LINE})
_IN_PROPERTIES = _IN_DATA | str.maketrans({":": "%3A", ",": "%2C"})


def annotations(report: GateReport) -> Iterator[str]:
    """Yield a workflow command for each broken rule, at its line of the file, and the summary."""
    for result in report.verdict.results:
        if not result.passed:
            rule, lines = result.rule, (result.message, *result.few_breaches)
            place = {"file": report.rules, "line": str(rule.line or 1), "title": rule.name}
            yield annotation_of(rule.level.value, place, lines)
    yield summary(report.verdict)


def annotation_of(level: str, properties: Mapping[str, str], lines: Iterable[str]) -> str:
    """Return the workflow command of an annotation; ``level`` is notice, warning or error."""
    written = ",".join(
        f"{name}={visible(value).translate(_IN_PROPERTIES)}" for name, value in properties.items()
    )
    # Invisible characters are escaped first, so that line ends occur only between the lines.
    data = _END_OF_LINE.join(visible(line).translate(_IN_DATA) for line in lines)
    return f"::{level} {written}::{data}"


# -- JUnit


_SUITE = "cachelog gate"


def junit(report: GateReport) -> str:
    """Return the verdict as JUnit XML: a test suite with one test case per rule."""
    failures = len(report.verdict.broken(RuleLevel.ERROR))
    counts = {"tests": str(len(report.verdict.results)), "failures": str(failures), "errors": "0"}
    suites = Element("testsuites", {"name": _SUITE, **counts, "time": "0"})
    taken = report.head.taken_at
    moment = {} if taken is None else {"timestamp": f"{taken:%Y-%m-%dT%H:%M:%S}"}
    suite = SubElement(suites, "testsuite", {"name": _SUITE, **counts, "time": "0", **moment})
    properties = SubElement(suite, "properties")
    for name, revision in (("base", report.base), ("head", report.head)):
        if revision is not None:
            named = {"name": name, "value": visible(title(revision))}
            SubElement(properties, "property", named)
    for result in report.verdict.results:
        _add_case(suite, result, visible(report.rules))
    indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(suites, "unicode")


def _add_case(suite: Element, result: RuleResult, file: str) -> None:
    rule = result.rule
    case = SubElement(
        suite, "testcase", {"name": visible(rule.name), "classname": file, "time": "0"}
    )
    place = file if rule.line is None else f"{file}:{rule.line}"
    text = "\n".join(map(visible, (f"{place}: {result.message}", *result.few_breaches)))
    if result.passed or rule.level is RuleLevel.WARNING:
        SubElement(case, "system-out").text = text if result.passed else f"warning: {text}"
        return
    failure = {"message": visible(result.message), "type": rule.key}
    SubElement(case, "failure", failure).text = text
