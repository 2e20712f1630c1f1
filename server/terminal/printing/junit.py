"""The verdict of rules in the XML of JUnit, which most CI systems show as test results.

It keeps to what the schemas that are about have in common: a test case has no file and no line, so
the text of a failure tells them. A warning is no failure: what breaks it stands in ``system-out``.
"""

from xml.etree.ElementTree import Element, SubElement, indent, tostring

from server.terminal.printing.verdicts import Report, few_breaches
from snapshots.changes.rules.rules import RuleLevel
from snapshots.changes.rules.verdict import RuleResult
from snapshots.models import RevisionInfo
from snapshots.refs import title
from snapshots.wording import visible

_SUITE = "cachelog gate"


def junit(report: Report) -> str:
    """Return the verdict as a document: a test suite with a test case for each rule."""
    failures = len(report.verdict.broken(RuleLevel.ERROR))
    counts = {"tests": str(len(report.verdict.results)), "failures": str(failures), "errors": "0"}
    suites = Element("testsuites", {"name": _SUITE, **counts, "time": "0"})
    moment = f"{report.head.taken_at:%Y-%m-%dT%H:%M:%S}"
    suite = SubElement(
        suites, "testsuite", {"name": _SUITE, **counts, "time": "0", "timestamp": moment}
    )
    properties = SubElement(suite, "properties")
    for name, revision in (("base", report.base), ("head", report.head)):
        if revision is not None:
            SubElement(properties, "property", _property(name, revision))
    for result in report.verdict.results:
        _add_case(suite, result, visible(report.rules))
    indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(suites, "unicode")


def _property(name: str, revision: RevisionInfo) -> dict[str, str]:
    return {"name": name, "value": visible(title(revision))}


def _add_case(suite: Element, result: RuleResult, file: str) -> None:
    rule = result.rule
    case = SubElement(
        suite, "testcase", {"name": visible(rule.name), "classname": file, "time": "0"}
    )
    place = file if rule.line is None else f"{file}:{rule.line}"
    text = "\n".join(map(visible, (f"{place}: {result.message}", *few_breaches(result))))
    if result.passed or rule.level is RuleLevel.WARNING:
        SubElement(case, "system-out").text = text if result.passed else f"warning: {text}"
        return
    failure = {"message": visible(result.message), "type": type(rule.demand).__name__.lower()}
    SubElement(case, "failure", failure).text = text
