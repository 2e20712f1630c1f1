"""The comment on a pull request that says what it requires to be built, in Markdown."""

from collections.abc import Sequence

from snapshots.changes.plans import Plan, StackPlan
from snapshots.changes.rules.rules import RuleResult
from snapshots.notes.changelog import Changelog
from snapshots.notes.templates import render_built_in

MAX_CHARACTERS = 65_536
"""Maximum number of characters in a comment on GitHub."""

_CUT = "\n\n... and more than there is room for.\n"


def comment(
    plan: Plan, log: Changelog, stack_plans: Sequence[StackPlan], rules: Sequence[RuleResult] = ()
) -> str:
    """Return the comment; ``log`` has the changes of the plan, ``rules`` the violated rules."""
    text = render_built_in(
        "plan.md.jinja",
        log,
        plan=plan,
        unknown_stacks=plan.unknown_stacks()[:100],
        stack_plans=stack_plans,
        has_coverage=any(stack.coverage_lost or stack.coverage_gained for stack in stack_plans),
        verdict=rules,
    )
    if len(text) <= MAX_CHARACTERS:
        return text
    cut = text[: MAX_CHARACTERS - len(_CUT)]
    return cut[: cut.rfind("\n")] + _CUT
