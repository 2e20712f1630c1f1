"""Why a spec came or went, decided spec by spec."""

from collections.abc import Collection

from snapshots.models import Spec
from tests.snapshots.changes.oracle.counterparts import counterparts
from tests.snapshots.changes.oracle.own import own_facts_differ
from tests.snapshots.changes.oracle.states import State, architecture_of, stacks_of


def added_reasons(
    base: State, head: State, returned: Collection[str] = frozenset()
) -> dict[str, str]:
    """Return the reason of each spec that head alone has; ``returned`` had been there before."""
    replaced = counterparts(base, head)
    reasons: dict[str, str] = {}
    for digest in head.specs.keys() - base.specs.keys():
        spec = head.specs[digest]
        if digest in replaced:
            differ = own_facts_differ(base.specs[replaced[digest]], spec)
            reasons[digest] = "replaces" if differ else "rebuilt"
        elif digest in returned:
            reasons[digest] = "returned"
        else:
            reasons[digest] = f"new_{_what_is_missing(base, spec)}"
    return reasons


def removed_reasons(base: State, head: State) -> dict[str, str]:
    """Return the reason of each spec that base alone has."""
    replaced = set(counterparts(base, head).values())
    return {
        digest: "replaced"
        if digest in replaced
        else f"{_what_is_missing(head, base.specs[digest])}_gone"
        for digest in base.specs.keys() - head.specs.keys()
    }


def _what_is_missing(other: State, spec: Spec) -> str:
    """Return the largest thing about a spec that the other side has not."""
    of_package = other.of_package(spec.name)
    stacks = stacks_of(spec)
    if not of_package:
        return "package"
    if stacks and other.tells_stacks and not stacks & other.stacks:
        return "stack"
    if spec.version not in {it.version for it in of_package}:
        return "version"
    if architecture_of(spec) not in map(architecture_of, of_package):
        return "target"
    return "build"
