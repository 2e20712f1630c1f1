"""What pages of a comparison show beside their answers: filters with counts, what differs."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from strawberry.utils.str_converters import to_camel_case

from server.pages.views.differences import Difference, difference, of_lists, of_recipes
from snapshots import wording
from snapshots.notes.package_kinds import HAPPENED

Data = Mapping[str, Any]

_SPEC_KINDS = {"ADDED": "added", "REMOVED": "removed", "CHANGED": "other facts"}
"""How specs changed, in words."""

_OWN_FACTS = {
    "version": "version",
    "namespace": "namespace",
    "compiler": "compiler",
    "platform": "platform",
    "operatingSystem": "operating system",
    "target": "target",
}
"""How the facts of specs are called that have one value."""


class Choice(NamedTuple):
    """A value that a table can be narrowed to: how it is called, and of how many it holds."""

    value: str
    label: str
    num: int


def why(data: Data) -> Data:
    """Return the kinds of causes as filters."""
    kinds = data["compare"]["causeKinds"]
    return {"causes_by_kind": [_choice(it["kind"], it["numCauses"]) for it in kinds]}


def cause(data: Data) -> Data:
    """Return what differs in the package that is the cause."""
    facts = data["compare"]["cause"]["facts"]
    return {"facts": [difference(field) for field in facts]}


def packages(data: Data) -> Data:
    """Return the kinds of changed packages as filters."""
    kinds = {kind.name: words for kind, words in HAPPENED.items()}
    return {"package_kinds": _counted("packages", kinds, data)}


def specs(data: Data) -> Data:
    """Return kinds and reasons as filters, and what differs in each spec of the page."""
    compare = data["compare"]
    return {
        "spec_kinds": _counted("specs", _SPEC_KINDS, data),
        "reasons": [_choice(it["reason"], it["count"]) for it in compare["reasons"]],
        "differences": [list(differences(node)) for node in compare["specs"]["nodes"]],
    }


def differences(change: Data) -> Iterator[Difference]:
    """Yield what differs between a changed spec's two sides, or a spec and its counterpart.

    What has no counterpart differs from nothing, nor do stacks that a source does not tell.
    """
    if change["kind"] == "CHANGED":
        yield from map(difference, change["fields"])
        return
    before = change["before"] or change["counterpart"]
    after = change["after"] or change["counterpart"]
    if before is None or after is None:
        return
    recipes = before["packageHash"], after["packageHash"]
    if recipes[0] != recipes[1] and None not in recipes:
        yield of_recipes(*recipes)
    for name, label in _OWN_FACTS.items():
        if before[name] != after[name]:
            yield Difference(label, before[name], after[name])
    if before["variants"] != after["variants"]:
        yield of_lists("variants", before["variants"], after["variants"])
    stacks = before["stacks"], after["stacks"]
    if stacks[0] != stacks[1] and all(stacks):
        yield of_lists("stacks", *stacks)


def _counted(of: str, kinds: Mapping[str, str], data: Data) -> list[Choice]:
    """Return kinds with the counts that the summary has ``of`` packages, or of specs."""
    summary = data["compare"]["summary"]
    return [
        Choice(kind, words, summary[to_camel_case(f"{of}_{kind.lower()}")])
        for kind, words in kinds.items()
    ]


def _choice(value: str, count: int) -> Choice:
    return Choice(value, wording.in_words(value.lower()), count)
