"""Changes as sentences: the causes of replacements, packages, stacks, sizes and losses."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from snapshots.changes.package_changes import PackageChange, PackageChangeKind
from snapshots.changes.reasons import SpecChangeReason
from snapshots.changes.stack_changes import StackChange, StackChangeKind
from snapshots.changes.stored_changes import PackageCounts, PairCounts
from snapshots.changes.vocabulary import CausePhrases, cause_phrases, filled
from snapshots.history import Neighbours
from snapshots.models import RevisionInfo
from snapshots.notes.causes import CauseEntry, CommitEntry, Group, Rebuilds, num_specs
from snapshots.notes.losses import Losses, LostCell, LostPackage
from snapshots.notes.sentences import Name, Reference, Sentence, Value, enumerated, listed, spelled
from snapshots.recipes.commits import Links, SpackChange
from snapshots.recipes.effects import CommitEffect
from snapshots.texts import counted, in_words, short_digest, shortened, size
from snapshots.timelines.growth import MainChanges, MovedStack

_FEW = 3
_LONGEST = 120

_MARKS: dict[str, type[str]] = {
    "package": Name,
    "old": Name,
    "new": Name,
    "before": Value,
    "after": Value,
    "target": Value,
    "details": Value,
}
"""The type of each field of a phrase; the other texts are cachelog's own words."""


def causes_sentences(rebuilds: Rebuilds) -> list[Sentence]:
    """Return sentences about the causes of most replacements and the reach of the others.

    The number of specs with an unknown cause comes first if these are the majority. There are none
    if no spec replaced another.
    """
    sentences = [Sentence(rebuilds.why_unknown)] if rebuilds.is_mostly_unknown else []
    clauses = _clauses(rebuilds.by_reach(), rebuilds) if rebuilds.groups else ()
    return [*sentences, *map(_sentence, clauses)]


def cause_line(group: Group) -> Sentence:
    """Return what causes that are involved in the same specs account for, and what they reached."""
    first, *others = map(noun_phrase, group)
    together = [", together with ", *enumerated(others, _FEW), ","] if others else []
    did = _did(num_specs(group), group[0].num_involved)
    return Sentence(*_capital([*first, *together]), f" {did}")


def noun_phrase(cause: CauseEntry) -> list[str]:
    """Return the pieces that name a cause in a list or after "by", and its commit."""
    return [*_pieces(_phrases(cause).noun, cause), *_first_commit(cause)]


def _first_commit(cause: CauseEntry) -> list[str]:
    """Return the pieces that name the first commit of a cause, in parentheses."""
    if not cause.commits:
        return []
    first, *others = cause.commits
    how = "perhaps by " if first.is_doubtful else ""
    what = "dropping " if first.taken_back else ""
    more = f" and {len(others):,} more" if others else ""
    return [f" ({how}{what}", _reference(first), f"{more})"]


def _reference(commit: CommitEntry) -> Reference:
    short = None if commit.pull_request is None else f"#{commit.pull_request}"
    return Reference(commit.reference, commit.url, short)


def commit_line(effect: CommitEffect, links: Links) -> Sentence:
    """Return the effect of a commit; its numbers are those of its causes."""
    commit, spack = CommitEntry.of(effect, links), effect.commit.spack
    pieces = ["Dropping "] if commit.taken_back else []
    pieces += [_reference(commit), " ", Name(shortened(commit.title, _LONGEST))]
    if effect.commit.is_sweeping:
        pieces.append(f", which touches {counted(len(effect.commit.packages), 'package')},")
    if spack is not None:
        pieces += [" (", *_spack_step(spack, links.spack(spack)), ")"]
    if commit.is_doubtful:
        pieces.append(" perhaps")
    return Sentence(*pieces, f" {_did(effect.num_specs, effect.num_involved)}")


def _spack_step(spack: SpackChange, url: str | None) -> list[str]:
    if spack.before is None or spack.after is None:
        return ["another Spack"]
    before, after = (Value(short_digest(name)) for name in (spack.before, spack.after))
    compare = [": ", Reference("compare", url)] if url else []
    return ["Spack ", before, " → ", after, *compare]


def _phrases(cause: CauseEntry) -> CausePhrases:
    name = cause.name
    return cause_phrases(name.kind, name.package, name.before, name.after)


def _pieces(template: str, cause: CauseEntry) -> list[str]:
    name = cause.name
    before, after = (
        None if text is None else shortened(text, _LONGEST) for text in (name.before, name.after)
    )
    texts = filled(template, name.package, before, after)
    return [_MARKS.get(field, str)(text) for text, field in texts]


def _clauses(groups: Sequence[Group], rebuilds: Rebuilds) -> Iterator[list[str]]:
    """Yield clauses about the effects of the groups of causes, ordered by reach."""
    alone = [group for group in groups if not rebuilds.reaches_others(group[0])]
    first, *others = [group for group in groups if group not in alone] or [[]]
    if not first and len(alone) == len(alone[0]) == 1:
        yield _first_clause(alone[0], [], are_all=False)
        return
    if not first:
        yield [_alone(alone, "change")]
        return
    num_reached = first[0].num_involved
    shared = {
        number: rebuilds.num_shared(first[0], group[0])
        for number, group in enumerate(others)
        if 2 * group[0].num_involved > num_reached
    }
    along = [number for number, count in shared.items() if 2 * count > num_reached]
    are_all = all(shared[number] == num_reached for number in along)
    companions = [cause for number in along for cause in others[number]]
    yield _first_clause(first, companions, are_all=are_all)
    further = [group for number, group in enumerate(others) if number not in along]
    shown = further if len(further) <= _FEW else further[: _FEW - 1]
    for group in shown:
        yield [*_causes(group), f" {_did(num_specs(group), group[0].num_involved)}"]
    ends = []
    if rest := further[len(shown) :]:
        changes = spelled(sum(map(len, rest)), "more change")
        most = counted(rest[0][0].num_involved, "spec")
        ends.append(f"{changes} reached {most} or fewer" + (" each" if len(rest) > 1 else ""))
    if alone:
        ends.append(_alone(alone, "more change"))
    if ends:
        yield ["; ".join(ends)]


def _did(num_main: int, num_reached: int) -> str:
    """Return the number of specs whose main cause something is, and the number that it reached."""
    if not num_main:
        return f"reached {counted(num_reached, 'spec')}"
    main = f"accounts for {counted(num_main, 'spec')}"
    return f"{main} and reached {num_reached:,}" if num_reached > num_main else main


def _first_clause(first: Group, companions: Sequence[CauseEntry], *, are_all: bool) -> list[str]:
    clause = _clause(first[0])
    if partners := first[1:]:
        clause += [", together with ", *_causes(partners)]
    num_reached = first[0].num_involved
    clause.append(f", which {_did(num_specs(first), num_reached)}")
    if companions:
        how_many = f", {'all' if are_all else 'most'} of which " if num_reached > 1 else ", which "
        clause += [how_many, *_causes(companions), " reached, too"]
    return clause


def _alone(groups: Sequence[Group], noun: str) -> str:
    count = sum(map(len, groups))
    own = "its own package" if count == 1 else "their own packages"
    return f"{spelled(count, noun)} reached only {own}"


def _clause(cause: CauseEntry) -> list[str]:
    """Return the pieces of a main clause about a cause."""
    template = _phrases(cause).clause
    if not template:
        return [*noun_phrase(cause), " changed"]
    return [*_pieces(template, cause), *_first_commit(cause)]


def _causes(causes: Iterable[CauseEntry]) -> list[str]:
    return enumerated(map(noun_phrase, causes), _FEW)


def specs_sentence(num_specs: int, counts: PairCounts) -> Sentence:
    """Return a sentence about the specs of head, of which there are ``num_specs``."""
    rebuilt, replaced, changed = counts.specs_rebuilt, counts.specs_replaced, counts.specs_changed
    new = counts.specs_added - rebuilt - replaced
    # Counterparts may be out of scope.
    removed = counts.specs_removed - counts.reasons.get(SpecChangeReason.REPLACED, 0)
    parts = (
        (rebuilt, "was rebuilt unchanged", "were rebuilt unchanged"),
        (replaced, "replaces a different one", "replace different ones"),
        (new, "is new", "are new"),
        (changed, "has other facts", "have other facts"),
    )
    clauses = [[f"{count:,} {one if count == 1 else many}"] for count, one, many in parts if count]
    gone = f"{_were(removed, 'removed')} without a replacement"
    if clauses:
        end = f"; {gone}." if removed else "."
        if len(clauses) == 1 < num_specs and num_specs in (rebuilt, replaced, new, changed):
            return Sentence(f"All {clauses[0][0].replace(' ', ' specs ', 1)}{end}")
        return Sentence(f"Of {counted(num_specs, 'spec')}, ", *enumerated(clauses), end)
    if removed:
        noun = "spec" if removed == 1 else "specs"
        return Sentence(gone.replace(" ", f" {noun} ", 1) + ".")
    return Sentence("No spec was added, removed or changed.")


_STEPS = (PackageChangeKind.UPGRADED, PackageChangeKind.DOWNGRADED)


def packages_sentence(packages: Iterable[PackageChange | PackageCounts]) -> Sentence | None:
    """Return a sentence about the changes of packages; it names the packages if they are few."""
    of_kinds: dict[PackageChangeKind, list[PackageChange | PackageCounts]] = {}
    for package in packages:
        of_kinds.setdefault(package.kind, []).append(package)
    clauses = []
    for kind in (PackageChangeKind.ADDED, PackageChangeKind.REMOVED, *_STEPS):
        if entries := of_kinds.get(kind):
            clause = [_were(len(entries), kind.value)]
            if len(entries) <= _FEW:
                named = (
                    _version_step(entry) if kind in _STEPS else [Name(entry.name)]
                    for entry in entries
                )
                clause += [" (", *enumerated(named), ")"]
            clauses.append(clause)
    return Sentence("Of the packages, ", *enumerated(clauses), ".") if clauses else None


def package_line(
    change: PackageChange, replaced: Mapping[str, list[str]], facts: Mapping[str, int]
) -> Sentence:
    """Return what changed of a package: its versions, specs or facts.

    ``replaced`` has the removed versions of which specs were replaced by specs of other versions,
    with these versions. ``facts`` has the number of persisting specs with another value by fact.
    """
    name = Name(change.name), " "
    match change.kind:
        case PackageChangeKind.ADDED:
            return Sentence(*name, *listed(change.versions_after))
        case PackageChangeKind.CHANGED:
            counts = (
                f"{in_words(fact)} of {counted(count, 'spec')}" for fact, count in facts.items()
            )
            return Sentence(name[0], f": {', '.join(counts)}")
        case kind if kind in (*_STEPS, PackageChangeKind.VERSIONS_CHANGED):
            return Sentence(*name, *_version_steps(change, replaced))
    added, removed = counted(change.specs_added, "spec"), change.specs_removed
    if not removed:
        specs = f"{added} added"
    elif not change.specs_added:
        specs = f"{counted(removed, 'spec')} removed"
    else:
        specs = f"{added} added, {removed:,} removed"
    return Sentence(*name, *listed(change.versions_after), f" ({specs})")


def _version_steps(change: PackageChange, replaced: Mapping[str, list[str]]) -> list[str]:
    """Return the changes of a package's versions, beginning with that of its newest version.

    Only upgraded and downgraded packages begin with it. A version that others replaced is not
    listed as removed, and those are not listed as added.
    """
    before, after = change.newest_before or "", change.newest_after or ""
    moved = change.kind in _STEPS
    named = {version for others in replaced.values() for version in others} | replaced.keys()
    if moved:
        named |= {before, after}
    steps = [
        [*listed([version]), " → ", *listed(others)]
        for version, others in replaced.items()
        if not (moved and version == before and others == [after])
    ]
    for what, versions in (("added", change.versions_added), ("removed", change.versions_removed)):
        if others := [version for version in versions if version not in named]:
            steps.append([f"{what} ", *listed(others)])
    pieces = [piece for step in steps for piece in ("; ", *step)][1:]
    if not moved:
        return [Value(after), ": ", *pieces]
    also = [" (also ", *pieces, ")"] if pieces else []
    return [Value(before), " → ", Value(after), *also]


def binaries_sentence(num_replaced: int) -> Sentence | None:
    """Return a sentence about replaced binaries; None without one."""
    if not num_replaced:
        return None
    were = "was" if num_replaced == 1 else "were"
    return Sentence(f"{counted(num_replaced, 'binary')} {were} replaced under the same hash.")


def size_sentence(before: int | None, after: int | None) -> Sentence | None:
    """Return a sentence about the change of the total size; None if a side has no known sizes."""
    if before is None or after is None:
        return None
    if before == after:
        return Sentence(f"The size is {size(after)}, as before.")
    verb = "grew" if after > before else "shrank"
    return Sentence(f"The size {verb} by {size(abs(after - before))} to {size(after)}.")


def stacks_sentences(stacks: Sequence[StackChange | MovedStack]) -> list[Sentence]:
    """Return a sentence about the stacks that were added, and one about those that were removed."""
    sentences = []
    for kind in (StackChangeKind.ADDED, StackChangeKind.REMOVED):
        named = [
            [Name(stack.name), f" with {counted(stack.num_specs, 'spec')}"]
            for stack in stacks
            if stack.kind is kind
        ]
        if len(named) == 1:
            sentences.append(Sentence("The stack ", *named[0], f" was {kind.value}."))
        elif named:
            how_many = spelled(len(named), "stack")
            were = [f"{how_many} were {kind.value}: ", *enumerated(named, _FEW)]
            sentences.append(_sentence(were))
    return sentences


def stack_line(stack: StackChange) -> Sentence:
    """Return the numbers of specs and packages of a stack that was added or removed."""
    specs = counted(stack.num_specs, "spec")
    packages = counted(len(stack.packages_added) + len(stack.packages_removed), "package")
    return Sentence(Name(stack.name), f" ({specs} of {packages})")


# -- stored changes of a revision


def revision_sentences(
    step: Neighbours,
    changes: MainChanges | None,
    causes: Iterable[CauseEntry],
    packages: Iterable[PackageCounts],
) -> list[Sentence]:
    """Return the stored changes of a revision, the main ones first.

    ``changes`` is None for the first of a series, and ``causes`` are theirs.
    """
    base, head = step
    if base is None or changes is None:
        return main_changes_sentences(head, changes, ())
    sentences = [
        *stacks_sentences(changes.stacks),
        specs_sentence(head.num_specs, changes.counts),
        packages_sentence(packages),
        size_sentence(base.total_size, head.total_size),
        *(_share_sentence(cause, changes.counts) for cause in causes),
    ]
    return [sentence for sentence in sentences if sentence is not None]


def main_changes_sentences(
    revision: RevisionInfo, changes: MainChanges | None, causes: Sequence[CauseEntry]
) -> list[Sentence]:
    """Return the stacks that a revision added or removed, and its main cause, or else its counts.

    ``changes`` is None for the first of a series, and ``causes`` are theirs.
    """
    if changes is None:
        return [Sentence(f"The first revision, with {counted(revision.num_specs, 'spec')}.")]
    main = [_share_sentence(cause, changes.counts) for cause in causes[:1]]
    return [*stacks_sentences(changes.stacks), *main] or [
        specs_sentence(revision.num_specs, changes.counts)
    ]


def cause_subject(cause: CauseEntry) -> list[str]:
    """Return the pieces that name a cause, by the subject of the only commit that explains it."""
    if cause.commits is None or len(cause.commits) != 1:
        return noun_phrase(cause)
    (commit,) = cause.commits
    return [Value(shortened(commit.title, _LONGEST)), " (", _reference(commit), ")"]


def _share_sentence(cause: CauseEntry, counts: PairCounts) -> Sentence:
    replacements = counted(counts.specs_rebuilt + counts.specs_replaced, "replacement")
    share = f" accounts for {cause.num_specs:,} of {replacements}"
    return _sentence([*cause_subject(cause), share])


# -- losses


def losses_sentences(losses: Losses) -> list[Sentence]:
    """Return sentences about everything that is no longer available.

    A version that another one replaced is not lost.
    """
    clauses: list[list[str]] = []
    if lost := _lost(losses):
        is_one = len(losses.packages) + len(losses.versions_gone) == 1
        clauses.append([*enumerated(lost), f" {'is' if is_one else 'are'} no longer available"])
    if losses.coverage:
        count = len({cell.package for cell in losses.coverage})
        packages = spelled(count, "other package" if losses.packages else "package")
        are = "is" if count == 1 else "are"
        clauses.append([f"{packages} {are} no longer built everywhere"])
    return [_sentence(clause) for clause in clauses or [["every package remains available"]]]


def lost_line(package: str, versions: Sequence[str], num_specs: int) -> Sentence:
    """Return the versions of a package that are lost, and the number of their specs."""
    return Sentence(Name(package), " ", *listed(versions), f" ({counted(num_specs, 'spec')})")


def lost_with_line(stacks: Sequence[str], packages: Sequence[LostPackage]) -> Sentence:
    """Return what removed stacks took along, in one line: the stacks are the event."""
    count, noun = counted(len(packages), "package"), "stack" if len(stacks) == 1 else "stacks"
    names = enumerated([Name(stack)] for stack in stacks)
    lost = [piece for package in packages for piece in (", ", Name(package.name))][1:]
    return Sentence(f"{count} with the {noun} ", *names, ": ", *lost)


def lost_cells_line(values: Sequence[str], cells: Iterable[LostCell]) -> Sentence:
    """Return the packages that are lost for the same values, with what is nearest to them."""
    place = [piece for value in values for piece in (" for ", Name(value))][1:]
    lost = []
    for cell in cells:
        lost += [", ", Name(cell.package)]
        if (nearest := cell.nearest) is not None:
            lost += [" (there is ", Value(nearest.version), " for ", Value(nearest.target)]
            lost += [" in ", *listed(nearest.stacks), ")"] if nearest.stacks else [")"]
    return Sentence(*place, ": ", *lost[1:])


def _lost(losses: Losses) -> list[list[str]]:
    """Return the numbers of lost packages, those that a stack took along as well, and versions."""
    lost = []
    if count := len(losses.packages):
        with_stack = sum(bool(package.with_stacks) for package in losses.packages)
        how_many = f"{with_stack:,} of them " if with_stack < count else "all " * (count > 1)
        why = f" ({how_many}with a removed stack)" if with_stack else ""
        lost.append([spelled(count, "package") + why])
    if losses.versions_gone:
        lost.append([spelled(len(losses.versions_gone), "version")])
    return lost


def _sentence(pieces: Sequence[str]) -> Sentence:
    """Return a sentence with a capital first letter, unless it begins with a name."""
    return Sentence(*_capital(pieces), ".")


def _capital(pieces: Sequence[str]) -> list[str]:
    first, *more = pieces
    if not isinstance(first, Name | Value):
        first = first[0].upper() + first[1:]
    return [first, *more]


def _were(count: int, what: str) -> str:
    return f"{count:,} {'was' if count == 1 else 'were'} {what}"


def _version_step(entry: PackageChange | PackageCounts) -> list[str]:
    if isinstance(entry, PackageChange):
        before, after = entry.newest_before or "", entry.newest_after or ""
    elif len(entry.versions_added) == len(entry.versions_removed) == 1:
        (before,), (after,) = entry.versions_removed, entry.versions_added
    else:
        return [Name(entry.name)]
    return [Name(entry.name), " ", Value(before), " → ", Value(after)]
