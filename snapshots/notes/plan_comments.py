"""The comment on a pull request that lists the specs that it requires to be built, in Markdown."""

from collections.abc import Sequence
from typing import Any

from snapshots.changes.plans import Plan, StackPlan
from snapshots.changes.reasons import REASONS
from snapshots.changes.rules.rules import RuleResult
from snapshots.notes.changelog import Changelog
from snapshots.notes.templates import MARKDOWN, built_in_environment, variables

MAX_CHARACTERS = 65_536
"""Maximum number of characters in a comment on GitHub."""

_MAX_SPECS = 2_000
"""Maximum number of listed specs; the line of a spec has at least 30 characters."""

_CUT = "\n\n... and more than there is room for.\n"


def _specs_to_build(plan: Plan) -> list[dict[str, Any]]:
    """Return the first specs that have to be built, by package, newest version first.

    A ``reason`` is the value of a SpecChangeReason.
    """
    frame, reasons = plan.head.frame, plan.explanation.reasoning.of_head
    return [
        {
            "hash": frame.hashes.at(row),
            "name": frame.package.at(row),
            "version": frame.version.at(row),
            "stacks": frame.stacks.at(row),
            "reason": REASONS[reasons[row]].value,
        }
        for row in plan.to_build[:_MAX_SPECS].tolist()
    ]


def comment(
    plan: Plan, log: Changelog, stack_plans: Sequence[StackPlan], rules: Sequence[RuleResult] = ()
) -> str:
    """Return the comment; ``log`` has the changes of the plan, ``rules`` the violated rules."""
    template = built_in_environment(MARKDOWN).get_template("plan.md.jinja")
    text = template.render(
        variables(log)
        | {
            "num_specs": plan.num_specs,
            "num_reused": plan.num_reused,
            "num_external": plan.num_external,
            "num_to_build": len(plan.to_build),
            "size_label": plan.size_label,
            "unknown_stacks": plan.unknown_stacks()[:100],
            "stack_plans": stack_plans,
            "has_coverage": any(
                stack.coverage_lost or stack.coverage_gained for stack in stack_plans
            ),
            "verdict": rules,
            "to_build": _specs_to_build(plan),
        }
    )
    if len(text) <= MAX_CHARACTERS:
        return text
    cut = text[: MAX_CHARACTERS - len(_CUT)]
    return cut[: cut.rfind("\n")] + _CUT
