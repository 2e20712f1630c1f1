"""Build plans for lock files: as text, a comment, annotations, and a document."""

import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from operator import attrgetter
from typing import Any

import msgspec

from server.settings import settings_from
from server.terminal.catalogs import OpenedCatalog, open_sides
from server.terminal.console import note
from server.terminal.documents import side_name
from server.terminal.printing import comparisons, text, verdicts
from server.terminal.printing.comparisons import CatalogComparison
from server.terminal.printing.text import TableColumn, number, table
from snapshots.changes.coverage import CoverageChangeKind
from snapshots.changes.explanation import Explanation
from snapshots.changes.plans import Plan, StackLock, StackPlan
from snapshots.changes.rules.rule_files import read_rules
from snapshots.errors import InvalidArgument
from snapshots.models import LOCK_FILE, FileInfo, Source
from snapshots.notes.plan_comments import comment
from snapshots.program import importer_name
from snapshots.recipes.commits import Between, Recipes, RecipesOrigin, links_of
from snapshots.recipes.effects import Attribution, RecipesChange
from snapshots.recipes.repository import open_recipes
from snapshots.sources import lock_files
from snapshots.texts import counted, names_hint, quoted

_MAX_LISTED = 20


class Planned(CatalogComparison, frozen=True, dict=True, kw_only=True):
    """A plan as a comparison with the side that it builds on.

    ``commits`` are those of a repository that the command names; by default, those of the catalog.
    """

    plan: Plan
    locks: Sequence[StackLock]
    commits: RecipesChange | None

    @cached_property
    def recipes(self) -> RecipesChange:
        """The commits of the recipes that explain the causes."""
        return self.commits or self.source.recipes_change(self.base, self.head)

    @cached_property
    def stack_plans(self) -> list[StackPlan]:
        """The plan of each stack."""
        return self.plan.of_stacks()

    def variables(self) -> dict[str, Any]:
        """Return the variables of the document of the plan, with the specs of its lock files."""
        from server.pages.check import specs_to_plan  # it imports the API

        specs = [spec for lock in self.locks for spec in specs_to_plan(lock)]
        stacks = [lock.stack for lock in self.locks]
        return {"base": side_name(self.base), "specs": specs, "stacks": stacks}


def plan(
    location: str,
    base: str,
    locks: Sequence[Sequence[str]],
    recipes: str | None,
    commits: str | None,
) -> tuple[OpenedCatalog, Planned]:
    """Return a catalog, and the build plan for lock files, given as pairs of a stack and a file.

    Stacks that base does not have are listed on standard error. Raises what ``open_sides`` raises,
    SourceError for lock files and repositories, and InvalidArgument for commits.
    """
    opened, (side,) = open_sides(location, [base])
    stack_locks: list[StackLock] = []
    roots: list[str] = []
    for stack, file in locks:
        locked = lock_files.read(file)
        content = locked.content
        stack_locks.append(StackLock(stack, [*content.specs()], content.outside.specs))
        roots += locked.roots
    computed = opened.library.plan(side.content, stack_locks)
    for stack in computed.unknown_stacks():
        hint = names_hint(stack, sorted(computed.known_stacks))
        note(f"{side.name} has no stack {quoted(stack)}{hint}")
    head = FileInfo(
        **msgspec.structs.asdict(computed.content.summary()),
        source=Source(
            kind=LOCK_FILE.name,
            location=", ".join("=".join(lock) for lock in locks),
            importer=importer_name(),
        ),
        roots=tuple(dict.fromkeys(roots)),
    )
    known = opened.catalog.recipes.of(side)
    change = None if recipes is None else _commits(computed.explanation, known, recipes, commits)
    why = computed.explanation
    return opened, Planned(
        side,
        head,
        opened.library,
        explained=why,
        plan=computed,
        locks=stack_locks,
        commits=change,
    )


def _commits(
    why: Explanation, known: Recipes | None, location: str, commits: str | None
) -> RecipesChange | None:
    """Return the changes of the recipes in a range of commits, by default from ``known`` to HEAD.

    Returns None if no range is given and the commit of base is unknown.
    """
    first, dots, last = (commits or "").partition("..")
    if commits is not None and not (first and dots and last):
        raise InvalidArgument("--commits", f"{quoted(commits)} is not written as A..B")
    if commits is None:
        if known is None:
            note("no commits: that of base is unknown; specify both with --commits A..B")
            return None
        first, last = known.commit, "HEAD"
    settings = settings_from(os.environ)
    with open_recipes(location, settings.reading()) as repository:
        between = Between(repository.between(first, last), repository.between(last, first))
        base, head = (
            Recipes(repository.location, repository.commit(name), RecipesOrigin.GIVEN)
            for name in (first, last)
        )
    links = links_of(settings.recipes_url, head.repository)
    return RecipesChange(base, head, Attribution(why, between), None, links)


def judge_plan(rules: str, planned: Planned) -> verdicts.GateReport:
    """Judge a plan by the rules of a file. Raises CachelogError if that is not possible."""
    subject = planned.rule_context(planned.source.package_names)
    return verdicts.report_of(rules, read_rules(rules), planned.base, planned.head, subject)


# -- lines


def plan_lines(planned: Planned, report: verdicts.GateReport | None) -> Iterator[str]:
    """Yield the specs to build of each stack, the causes, and the losses."""
    yield from comparisons.title_lines(planned)
    plan = planned.plan
    yield f"{_summary(plan)} (size {plan.size_label})"
    yield from table(planned.stack_plans, _columns(planned))
    yield from comparisons.cause_lines(planned)
    for change in plan.downgrades:
        versions = f"{change.newest_before} → {change.newest_after}"
        yield f"downgraded: {text.name(change.name)} {versions}"
    cells = plan.cells.select([CoverageChangeKind.LOST])
    yield from comparisons.coverage_cell_lines(cells[:_MAX_LISTED])
    if len(cells) > _MAX_LISTED:
        yield text.quiet(f"and {len(cells) - _MAX_LISTED:,} more are lost")
    if report is not None:
        yield from verdicts.verdict_lines(report)


def _summary(plan: Plan) -> str:
    counts = f"{len(plan.to_build):,} of {counted(plan.num_specs, 'spec')} to build"
    return f"{counts}; {plan.num_reused:,} reused, {plan.num_external:,} external"


def annotations(planned: Planned, report: verdicts.GateReport | None) -> Iterator[str]:
    """Yield workflow commands of GitHub: a notice of the specs to build, and the broken rules."""
    title = {"title": f"Size {planned.plan.size_label}"}
    yield verdicts.annotation_of("notice", title, [_summary(planned.plan)])
    if report is not None:
        yield from verdicts.annotations(report)


def _columns(planned: Planned) -> list[TableColumn]:
    columns = [
        TableColumn("stack", 0, attrgetter("stack"), text.name),
        number("specs", 1, attrgetter("num_specs")),
        number("reused", 2, attrgetter("num_reused")),
        number("to build", 0, attrgetter("num_to_build")),
        number("rebuilt", 3, attrgetter("num_rebuilt")),
        number("replaced", 3, attrgetter("num_replaced")),
        number("new", 3, attrgetter("num_new")),
        number("removed", 3, attrgetter("num_gone")),
    ]
    if any(stack.coverage_lost or stack.coverage_gained for stack in planned.stack_plans):
        columns.append(number("lost", 4, attrgetter("coverage_lost")))
        columns.append(number("gained", 4, attrgetter("coverage_gained")))
    return columns


def markdown(planned: Planned, report: verdicts.GateReport | None) -> str:
    """Return the Markdown comment for a pull request."""
    results = () if report is None else report.verdict.results
    broken = [result for result in results if not result.passed]
    return comment(planned.plan, planned.notes(), planned.stack_plans, broken)
