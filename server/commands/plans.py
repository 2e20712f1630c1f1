"""``cachelog plan``: what has to be built for lock files, and why."""

from typing import TYPE_CHECKING

import click

from server.commands.checks import BROKEN, NOT_JUDGED
from server.terminal.completion import complete_ref
from server.terminal.console import say_fault, say_json, say_lines, say_pages, width
from server.terminal.parameters import SIDE_FORMS, catalog_command, is_written, recipes_option
from snapshots.errors import CachelogError

if TYPE_CHECKING:
    from server.terminal.printing.plans import Planned
    from server.terminal.printing.verdicts import GateReport


def _locks(_ctx: click.Context, _param: click.Parameter, words: tuple[str, ...]) -> list[list[str]]:
    """Return the stack and the file of each word. Raises BadParameter for one without both."""
    locks = [word.split("=", 1) for word in words]
    for lock in locks:
        if len(lock) != 2 or not all(lock):
            raise click.BadParameter(f"{'='.join(lock)!r} is not written as STACK=FILE.")
    return locks


@catalog_command("plan")
@click.argument(
    "base",
    metavar="BASE",
    shell_complete=complete_ref,
    help=f"What is built already: {SIDE_FORMS}.",
)
@click.option(
    "--lock", "locks", metavar="STACK=FILE", multiple=True, required=True, callback=_locks
)
@click.option("--gate", "rules", type=click.Path(), metavar="RULES")
@recipes_option
@click.option("--commits", metavar="A..B")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "markdown", "github", "label"]),
    default="text",
    show_default=True,
)
def plan_command(
    base: str,
    *,
    locks: list[list[str]],
    rules: str | None,
    recipes: str | None,
    commits: str | None,
    form: str,
    as_json: bool,
    catalog: str,
) -> None:
    """Print what has to be built for lock files, and why.

    What BASE has by hash, in any of its stacks, is reused. The rest is compared with what BASE has
    of the same stacks. Nothing is published.

    - locks: A stack and its lock file, or the folder of its environment; write it once for each.
    - rules: Judge the plan by the rules of this file, with the exit codes of 'cachelog gate'.
    - commits: The commits of --recipes between the two. By default from that of BASE, where it is
      known, to HEAD.
    - form: For people, as the comment of a pull request, as annotations for GitHub, or the label
      of the size alone.
    """
    from server.terminal.printing import plans

    if as_json and is_written("form"):
        raise click.UsageError("--json prints one document; leave --format out.")
    if commits is not None and not recipes:
        raise click.UsageError("--commits names commits of --recipes, which is missing.")
    try:
        planned = plans.plan(catalog, base, locks, recipes, commits)
        report = None if rules is None else plans.judge_plan(rules, planned)
        _print(planned, report, form, as_json=as_json)
    except CachelogError as error:
        if rules is None:
            raise
        say_fault(error)
        raise SystemExit(NOT_JUDGED) from None
    if report is not None and not report.verdict.passed:
        raise SystemExit(BROKEN)


def _print(planned: "Planned", report: "GateReport | None", form: str, *, as_json: bool) -> None:
    from server.terminal.printing import plans

    if as_json:
        say_json(plans.plan_document(planned, report))
        return
    match form:
        case "text":
            say_pages(plans.plan_lines(planned, report, width()))
        case "markdown":
            click.echo(plans.plan_comment(planned, report), nl=False)
        case "github":
            say_lines(plans.plan_annotations(planned, report))
        case "label":
            click.echo(planned.plan.size_label)
