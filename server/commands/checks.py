"""``cachelog check``, ``gate`` and ``plan``: lock files and rules applied to a cache."""

import sys
from typing import Annotated

import click

from server.terminal import console, parameters
from server.terminal.completion import complete_ref
from server.terminal.parameters import Head, InRef, Recipes, argument, format_option, option

# -- check


UNDER = 1
"""The exit code if fewer specs are present than ``--fail-under`` requires."""

_STDIN = "-"


@parameters.catalog_command("check", has_document=True)
def check_command(
    file: Annotated[str, argument("FILE", type=click.Path())],
    *,
    ref: InRef,
    fail_under: Annotated[int | None, option(type=click.IntRange(0, 100), metavar="PERCENT")],
    catalog: str,
) -> None:
    """Print which specs of a lock file are in a build cache.

    For each missing spec: when it was last available, why it was removed, and the nearest available
    spec. External and development specs are not looked up, because build caches do not contain
    them.

    - file: A spack.lock, the folder of an environment, or the output of 'spack spec --json'; -
      reads standard input.
    - ref: The side to search: {SIDE}. By default {LATEST}.
    - fail_under: Exit with 1 if a smaller percentage of the specs is available, else with 0.
    """
    from server.terminal.printing.revisions import print_check
    from snapshots.sources import lock_files

    if file == _STDIN:
        locked = lock_files.parse(sys.stdin.buffer.read(lock_files.MAX_BYTES + 1), "standard input")
    else:
        locked = lock_files.read(file)
    lookup = print_check(catalog, locked, ref)
    if fail_under is not None and 100 * lookup.num_found < fail_under * len(lookup.requested):
        console.note(f"That is less than {fail_under} %.")
        raise SystemExit(UNDER)


# -- gate


BROKEN = 1
"""The exit code if a rule of level error is broken."""

NOT_JUDGED = 2
"""The exit code if nothing was checked: for wrong usage, as click's, and for a bad file."""


def _print_schema(ctx: click.Context, _param: click.Parameter, is_set: bool) -> None:
    if is_set and not ctx.resilient_parsing:
        from snapshots.changes.rules.rules import SCHEMA_FILE

        click.echo(SCHEMA_FILE.read_text("utf-8"), nl=False)
        ctx.exit()


_SCHEMA = click.Option(
    ["--schema"],
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_schema,
    help="Print the JSON schema of rule files, and exit.",
)


@parameters.catalog_command("gate", _SCHEMA, has_json=False)
def gate_command(
    base: Annotated[str, argument("BASE", shell_complete=complete_ref)],
    head: Head,
    *,
    rules: Annotated[str, option(type=click.Path(), required=True, metavar="FILE")],
    form: Annotated[str, format_option("text", "json", "junit", "github")],
    catalog: str,
) -> None:
    """Check a revision or a lock file with rules.

    The exit code is 1 if a rule of level error is broken, and 2 if the rules could not be checked.

    - base: The base: {SIDE}. BASE..HEAD names both at once. Without HEAD, BASE is checked alone,
      with rules that do not need a comparison.
    - head: The side to check, in the same forms.
    - rules: The rules, in TOML; docs/gates.md describes them.
    - form: Text, JSON, JUnit XML, or annotations for GitHub.
    """
    from server.terminal.printing import verdicts

    is_alone = head is None and parameters.split_range(base) is None
    sides = (base,) if is_alone else parameters.refs_of(base, head)
    with console.faults_end_with(NOT_JUDGED):
        report = verdicts.judge_sides(rules, catalog, sides)
        match form:
            case "text":
                console.print_paged(verdicts.verdict_lines(report))
            case "json":
                console.print_json(verdicts.verdict_document(report))
            case "junit":
                click.echo(verdicts.junit(report))
            case "github":
                console.print_paged(verdicts.annotations(report))
    if not report.verdict.passed:
        raise SystemExit(BROKEN)


# -- plan


def _locks(_ctx: click.Context, _param: click.Parameter, words: tuple[str, ...]) -> list[list[str]]:
    """Return the stack and file of each argument. Raises BadParameter if either is missing."""
    locks = [word.split("=", 1) for word in words]
    for lock in locks:
        if len(lock) != 2 or not all(lock):
            raise click.BadParameter(f"{'='.join(lock)!r} is not written as STACK=FILE.")
    return locks


@parameters.catalog_command("plan", has_document=True)
def plan_command(
    base: Annotated[str, argument("BASE", shell_complete=complete_ref)],
    *,
    locks: Annotated[
        list[list[str]],
        option("--lock", metavar="STACK=FILE", multiple=True, required=True, callback=_locks),
    ],
    rules: Annotated[str | None, option("--gate", type=click.Path(), metavar="RULES")],
    recipes: Recipes,
    commits: Annotated[str | None, option(metavar="A..B")],
    form: Annotated[str, format_option("text", "markdown", "github")],
    catalog: str,
) -> None:
    """Print what has to be built for lock files, and why.

    Specs whose hash is in any stack of BASE are reused. The others are compared with the same
    stacks of BASE. Nothing is published.

    - base: The existing builds: {SIDE}.
    - locks: A stack and its lock file or the folder of its environment (repeatable).
    - rules: Check the plan with the rules of this file, with the exit codes of 'cachelog gate'.
    - commits: The commits of --recipes in B that are not in A. By default from that of BASE, if
      available, to HEAD.
    - form: Text for the terminal, Markdown for the comment of a pull request, or annotations for
      GitHub.
    """
    from server.terminal.documents import print_answer
    from server.terminal.printing import plans

    is_document = console.prints_json() or console.prints_query()
    if is_document and form != "text":
        raise click.UsageError(f"--json and --format {form} exclude each other.")
    if commits is not None and not recipes:
        raise click.UsageError("--commits names commits of --recipes, which is missing.")
    with console.faults_end_with(NOT_JUDGED, catches=rules is not None):
        opened, planned = plans.plan(catalog, base, locks, recipes, commits)
        report = None if rules is None else plans.judge_plan(rules, planned)
        if form == "markdown":
            click.echo(plans.markdown(planned, report), nl=False)
        elif form == "github":
            console.print_paged(plans.annotations(planned, report))
        else:
            variables = planned.variables() if is_document else {}
            print_answer(opened, "Plan", variables, plans.plan_lines(planned, report))
    if report is not None and not report.verdict.passed:
        raise SystemExit(BROKEN)
