"""What a reader of release notes wants first: a few sentences with the totals and the causes."""

from collections.abc import Sequence

from snapshots.changes.reasons import SpecChangeReason
from snapshots.changes.stack_changes import StackChangeKind
from snapshots.notes.cause_phrases import causes_sentence
from snapshots.notes.document import Changelog
from snapshots.notes.entries import PackageEntry, Section, StackEntry
from snapshots.notes.losses import Losses
from snapshots.notes.rebuilds import Rebuilds
from snapshots.notes.sentences import Name, Sentence, Value, enumerated, names, spelled
from snapshots.wording import counted, size

_FEW = 3


def highlights(log: Changelog, rebuilds: Rebuilds) -> list[Sentence]:
    """Return the sentences, those that have nothing to tell left out."""
    summary, losses = log.summary, log.no_longer_available
    is_told = summary.specs_added or summary.specs_removed or losses.coverage
    sentences = [
        specs_sentence(
            log.after.num_specs,
            added=summary.specs_added,
            rebuilt=summary.specs_rebuilt,
            replaced=summary.specs_replaced,
            removed=_num_removed(log),
        ),
        packages_sentence(log.packages),
        size_sentence(summary.total_size_before, summary.total_size_after),
        stacks_sentence(log.stacks),
        causes_sentence(rebuilds),
        losses_sentence(losses) if is_told else None,
    ]
    return [sentence for sentence in sentences if sentence is not None]


def specs_sentence(
    num_specs: int, *, added: int, rebuilt: int, replaced: int, removed: int
) -> Sentence:
    """Return what head's specs are, and how many others were ``removed`` without a counterpart.

    Those that were rebuilt, and those that replace others that differ, are among the added ones.
    """
    new = added - rebuilt - replaced
    parts = (
        (rebuilt, "was rebuilt as it was", "were rebuilt as they were"),
        (replaced, "replaces another that differs", "replace others that differ"),
        (new, "is new", "are new"),
    )
    told = [[f"{count:,} {one if count == 1 else many}"] for count, one, many in parts if count]
    if told:
        gone = f"; {_were(removed, 'removed')}" if removed else ""
        return Sentence(f"Of {counted(num_specs, 'spec')}, ", *enumerated(told), f"{gone}.")
    if removed:
        were = "was" if removed == 1 else "were"
        return Sentence(f"{counted(removed, 'spec')} {were} removed.")
    return Sentence("No spec was added, removed or rebuilt.")


def packages_sentence(packages: dict[str, list[PackageEntry]]) -> Sentence | None:
    """Return what became of the packages; the few that were removed or went down are named."""
    told: list[list[str]] = []
    added = packages.get(Section.ADDED.value, [])
    removed = packages.get(Section.REMOVED.value, [])
    up, down = packages.get(Section.UPGRADED.value, []), packages.get(Section.DOWNGRADED.value, [])
    if added:
        told.append([_were(len(added), "added"), *_named([[Name(it.name)] for it in added])])
    if removed:
        told.append([_were(len(removed), "removed"), *_named([[Name(it.name)] for it in removed])])
    if up:
        told.append([f"{len(up):,} went up", *_named([_step(it) for it in up])])
    if down:
        told.append([f"{len(down):,} went down", *_named([_step(it) for it in down])])
    if not told:
        return None
    return Sentence("Of the packages, ", *enumerated(told), ".")


def size_sentence(before: int | None, after: int | None) -> Sentence | None:
    """Return how the total size changed; None where a side knows no sizes."""
    if before is None or after is None:
        return None
    if before == after:
        return Sentence(f"The size is {size(after)}, as before.")
    verb = "grew" if after > before else "shrank"
    return Sentence(f"The size {verb} by {size(abs(after - before))} to {size(after)}.")


def stacks_sentence(stacks: dict[str, list[StackEntry]]) -> Sentence | None:
    """Return which stacks came and went; None where none did."""
    told = []
    for kind, what in ((StackChangeKind.ADDED, "new"), (StackChangeKind.REMOVED, "gone")):
        if entries := stacks.get(kind.value):
            verb = "is" if len(entries) == 1 else "are"
            told.append([*names((it.name for it in entries), _FEW), f" {verb} {what}"])
    if not told:
        return None
    return Sentence("Of the stacks, ", *enumerated(told), ".")


def losses_sentence(losses: Losses) -> Sentence:
    """Return how much is no longer available."""
    gone = [it for it in losses.versions if not it.replaced_by]
    older = [it for it in losses.versions if it.is_older]
    told = []
    if losses.packages:
        told.append([spelled(len(losses.packages), "package")])
    if gone:
        told.append([spelled(len(gone), "version"), " that nothing took the place of"])
    if older:
        told.append([spelled(len(older), "version"), " that an older one took the place of"])
    if losses.coverage:
        places = {cell.values for cell in losses.coverage}
        packages = {cell.package for cell in losses.coverage}
        told.append([spelled(len(packages), "package"), " in ", spelled(len(places), "place")])
    if not told:
        but = " but what a newer version took the place of" if losses.versions else ""
        return Sentence(f"Nothing became unavailable{but}.")
    return Sentence("No longer available: ", *enumerated(told), ".")


def _num_removed(log: Changelog) -> int:
    """Return how many specs were removed and have no counterpart, in scope or out of it."""
    replaced = SpecChangeReason.REPLACED.value
    entries = (entry for entries in log.packages.values() for entry in entries)
    return sum(entry.specs_removed - entry.reasons.get(replaced, 0) for entry in entries)


def _were(count: int, what: str) -> str:
    return f"{count:,} {'was' if count == 1 else 'were'} {what}"


def _step(entry: PackageEntry) -> list[str]:
    before, after = entry.newest_before or "", entry.newest_after or ""
    return [Name(entry.name), " ", Value(before), " → ", Value(after)]


def _named(items: Sequence[Sequence[str]]) -> list[str]:
    """Return the items in brackets where they are few."""
    return [" (", *enumerated(items), ")"] if len(items) <= _FEW else []
