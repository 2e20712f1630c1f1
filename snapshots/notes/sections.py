"""The sections of release notes, which every format renders: lists of lines under titles."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from operator import attrgetter

import msgspec

from snapshots.changes.diff import Comparison
from snapshots.changes.package_changes import PackageChange, PackageChangeKind
from snapshots.changes.stack_changes import StackChange, StackChangeKind
from snapshots.notes import phrases
from snapshots.notes.causes import Rebuilds, num_specs
from snapshots.notes.losses import Losses
from snapshots.notes.sentences import Sentence
from snapshots.recipes.commits import Links
from snapshots.recipes.effects import RecipesChange
from snapshots.texts import counted


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """A list in release notes; ``count`` is the number of items, of which a line can have several.

    ``noun`` is that of a line, ``intro`` precedes the lines.
    """

    title: str
    noun: str
    lines: Sequence[Sentence]
    count: int
    intro: Sentence | None = None


MAX_CAUSES = 50
"""Maximum number of listed causes."""

_PACKAGES = {
    PackageChangeKind.ADDED: "Added packages",
    PackageChangeKind.UPGRADED: "Upgraded packages",
    PackageChangeKind.DOWNGRADED: "Downgraded packages",
    PackageChangeKind.VERSIONS_CHANGED: "Other version changes",
    PackageChangeKind.BUILDS_CHANGED: "Packages with other builds",
    PackageChangeKind.MORE_BUILDS: "Packages with more builds",
    PackageChangeKind.FEWER_BUILDS: "Packages with fewer builds",
    PackageChangeKind.CHANGED: "Changed facts",
}


def sections_of(
    rebuilds: Rebuilds,
    recipes: RecipesChange | None,
    losses: Losses,
    stacks: Sequence[StackChange],
    packages: Iterable[PackageChange],
    comparison: Comparison,
) -> dict[str, Section]:
    """Return all sections by their keys, which docs/notes.md lists; empty ones have no lines."""
    return {
        "removed_stacks": _stacks(stacks, StackChangeKind.REMOVED),
        "added_stacks": _stacks(stacks, StackChangeKind.ADDED),
        "causes": _causes(rebuilds),
        "commits": _commits(rebuilds, recipes),
        **_losses(losses),
        **_packages(packages, losses, comparison.changed_facts()),
    }


def section_of(
    title: str, noun: str, lines: Iterable[Sentence], intro: Sentence | None = None
) -> Section:
    """Return a section with one item per line."""
    listed = [*lines]
    return Section(title=title, noun=noun, lines=listed, count=len(listed), intro=intro)


def _causes(rebuilds: Rebuilds) -> Section:
    """Return the causes, with the number of specs without a known one first if that is most.

    If there are many, those that reached the most specs are listed, and the others counted.
    """
    are_few = len(rebuilds.groups) <= MAX_CAUSES
    groups = rebuilds.groups if are_few else rebuilds.by_reach()
    lines = [phrases.cause_line(group) for group in groups[:MAX_CAUSES]]
    if smaller := groups[MAX_CAUSES:]:
        specs = counted(sum(map(num_specs, smaller)), "spec")
        lines.append(Sentence(f"{counted(len(smaller), 'more cause')} accounted for {specs}"))
    if rebuilds.num_unknown:
        place = 0 if rebuilds.is_mostly_unknown else len(lines)
        lines.insert(place, Sentence(rebuilds.why_unknown))
    is_one = rebuilds.num_specs == 1
    intro = f"{counted(rebuilds.num_specs, 'spec')} replaced {'another' if is_one else 'others'}."
    if len(lines) > 1:
        intro += " A cause accounts for those of which it is the main one, and reaches others, too."
    title = f"What caused the replacement{'' if is_one else 's'}"
    return section_of(title, "cause", lines, Sentence(intro))


def _commits(rebuilds: Rebuilds, recipes: RecipesChange | None) -> Section:
    """Return the commits of the recipes that explain causes."""
    effects, links = rebuilds.effects, Links() if recipes is None else recipes.links
    are_all = all(effect.commit.pull_request is not None for effect in effects)
    title = "Pull requests" if are_all else "Pull requests and other commits"
    lines = [phrases.commit_line(effect, links) for effect in effects]
    intro = "If several commits explain one cause, its specs count for each of them."
    return section_of(title, "commit", lines, Sentence(intro))


def _stacks(stacks: Iterable[StackChange], kind: StackChangeKind) -> Section:
    lines = [phrases.stack_line(stack) for stack in stacks if stack.kind is kind]
    return section_of(f"{kind.value.capitalize()} stacks", "stack", lines)


def _losses(losses: Losses) -> dict[str, Section]:
    """Return what is no longer available; what a stack took along is one line."""
    by_stacks = sorted(losses.packages, key=attrgetter("with_stacks"))
    groups = [(key, [*group]) for key, group in groupby(by_stacks, attrgetter("with_stacks"))]
    packages = [phrases.lost_with_line(stacks, lost) for stacks, lost in groups if stacks]
    packages += [
        phrases.lost_line(lost.name, lost.versions, lost.num_specs)
        for lost in losses.packages
        if not lost.with_stacks
    ]
    versions = [
        phrases.lost_line(lost.package, [lost.version], lost.num_specs)
        for lost in losses.versions_gone
    ]
    cells = sorted(losses.coverage, key=attrgetter("values"))
    places = groupby(cells, attrgetter("values"))
    return {
        "removed_packages": Section(
            title="Removed packages",
            noun="line",
            lines=packages,
            count=len(losses.packages),
        ),
        "removed_versions": section_of("Removed versions", "version", versions),
        "lost_places": Section(
            title="Packages that are no longer built everywhere",
            noun="combination",
            lines=[phrases.lost_cells_line(values, lost) for values, lost in places],
            count=len({cell.package for cell in cells}),
        ),
    }


def _packages(
    changes: Iterable[PackageChange], losses: Losses, facts: Mapping[str, Mapping[str, int]]
) -> dict[str, Section]:
    """Return a section for each kind of change but removals."""
    replaced: dict[str, dict[str, list[str]]] = {}
    for lost in losses.versions:
        if lost.replaced_by:
            replaced.setdefault(lost.package, {})[lost.version] = lost.replaced_by
    lines: dict[PackageChangeKind, list[Sentence]] = {kind: [] for kind in PackageChangeKind}
    for change in changes:
        name = change.name
        line = phrases.package_line(change, replaced.get(name, {}), facts.get(name, {}))
        lines[change.kind].append(line)
    return {
        kind.value: section_of(title, "package", lines[kind]) for kind, title in _PACKAGES.items()
    }
