"""``cachelog gate``: whether revisions keep the rules of a file."""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

import click

from server.terminal.completion import complete_range, complete_ref
from server.terminal.console import note, say, say_fault, say_pages, width
from server.terminal.parameters import REF_FORMS, catalog_option, refs_of

if TYPE_CHECKING:
    from server.terminal.printing.verdicts import Report
    from snapshots.catalog.publishing import Approve, Planned

BROKEN = 1
"""The exit code where a rule of level error is broken."""

NOT_JUDGED = 2
"""The exit code where nothing was judged: click's on wrong usage, and that of a bad file."""


def _print_schema(ctx: click.Context, _param: click.Parameter, is_asked: bool) -> None:
    if is_asked and not ctx.resilient_parsing:
        from snapshots.changes.rules.keys import SCHEMA_FILE

        click.echo(SCHEMA_FILE.read_text("utf-8"), nl=False)
        ctx.exit()


@click.command("gate")
@click.argument(
    "base",
    metavar="BASE",
    shell_complete=complete_range,
    help=f"The revision to compare from: {REF_FORMS}. BASE..HEAD names both at once. The only "
    "one, without HEAD, is judged alone, by rules that need no other.",
)
@click.argument(
    "head",
    metavar="[HEAD]",
    required=False,
    shell_complete=complete_ref,
    help="The revision that is judged, named likewise.",
)
@click.option(
    "--rules",
    type=click.Path(),
    required=True,
    metavar="FILE",
    help="The rules, in TOML; docs/gates.md describes them.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "junit", "github"]),
    default="text",
    show_default=True,
    help="For people, for programs, for what shows test results, or as annotations of GitHub.",
)
@click.option(
    "--schema",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_schema,
    help="Print the JSON schema of files of rules, and leave.",
)
@catalog_option
def gate_command(base: str, head: str | None, *, rules: str, form: str, catalog: str) -> None:
    """Judge a revision by the rules of a file.

    Leaves with 1 where a rule of level error is broken, and with 2 where nothing could be judged.
    """
    from snapshots.errors import CachelogError

    try:
        report = _judged(base, head, rules, catalog)
    except CachelogError as error:
        _leave(error)
    _say(report, form)
    if not report.verdict.passed:
        raise SystemExit(BROKEN)


def _judged(base: str, head: str | None, rules: str, catalog: str) -> "Report":
    """Judge; raises CachelogError where that cannot be done."""
    from server.terminal.printing.verdicts import Report
    from snapshots.catalog.asking.judging import judged
    from snapshots.catalog.asking.library import Library
    from snapshots.catalog.catalog import Catalog
    from snapshots.changes.rules.rule_files import read_rules
    from snapshots.changes.rules.verdict import judge

    wanted = read_rules(rules)
    opened = Catalog(catalog)
    history = opened.require_history()
    is_alone = head is None and ".." not in base
    refs = (base,) if is_alone else refs_of(base, head)
    *before, after = map(history.resolve, refs)
    base_info = before[0] if before else None
    what = judged(Library(opened), base_info.digest if base_info else None, after.digest)
    with _placed(rules):
        verdict = judge(wanted, what)
    return Report(rules, base_info, after, verdict)


@contextmanager
def _placed(rules: str) -> Iterator[None]:
    """Tell where in a file a rule stands that cannot be judged."""
    from snapshots.errors import RulesError, RuleUnusable, SourceError

    try:
        yield
    except RuleUnusable as error:
        reason = f"rule {error.rule!r}: {error.reason}"
        place = SourceError(rules, reason, line=error.line, key=error.key)
        raise RulesError([place]) from None


def gatekeeper(rules: str, names: "Callable[[], Collection[str]]") -> "Approve":
    """Return what lets only revisions be published that keep the rules of a file.

    The file is read now; raises RulesError as ``read_rules`` does. What breaks a rule is told on
    standard error; ``names`` is asked for the packages that the catalog knows.
    """
    from snapshots.changes.rules.rule_files import read_rules

    wanted = read_rules(rules)

    def approve(planned: "Planned") -> None:
        from server.terminal.printing.verdicts import Report, verdict_lines
        from snapshots.catalog.asking.judging import judge_planned
        from snapshots.errors import RefusedByRules

        is_refused = False
        with _placed(rules):
            for base, head, verdict in judge_planned(wanted, planned, names):
                if any(not it.passed for it in verdict.results):
                    for line in verdict_lines(Report(rules, base, head, verdict), None):
                        note(click.unstyle(line))
                is_refused |= not verdict.passed
        if is_refused:
            raise RefusedByRules(rules)

    return approve


def _say(report: "Report", form: str) -> None:
    match form:
        case "text":
            from server.terminal.printing.verdicts import verdict_lines

            say_pages(verdict_lines(report, width()))
        case "json":
            from server.terminal.console import say_json
            from server.terminal.printing.verdicts import verdict_document

            say_json(verdict_document(report))
        case "junit":
            from server.terminal.printing.junit import junit

            click.echo(junit(report))
        case "github":
            from server.terminal.printing.annotations import annotations

            for line in annotations(report):
                say(line)


def _leave(error: Exception) -> NoReturn:
    say_fault(error)
    raise SystemExit(NOT_JUDGED)
