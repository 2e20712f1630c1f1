"""What an entry says in its title and summary, in numbers alone."""

from collections.abc import Iterable

from snapshots.changes.kept_changes import PairCounts
from snapshots.changes.reasons import SpecChangeReason
from snapshots.history import Neighbours
from snapshots.notes.highlights import size_sentence, specs_sentence
from snapshots.notes.package_kinds import HAPPENED
from snapshots.notes.sentences import Name, Sentence, Value, enumerated
from snapshots.notes.units import long_day
from snapshots.timelines.packages import PackageEntry
from snapshots.wording import counted, in_words

_FEW_VERSIONS = 5


def series_title(neighbours: Neighbours, counts: PairCounts | None) -> Sentence:
    """Return the title of a revision's entry; ``counts`` are None where they are not known."""
    head = neighbours.head
    return Sentence(Value(head.tag), f" of {long_day(head.taken_at)}: ", _news(neighbours, counts))


def series_summary(neighbours: Neighbours, counts: PairCounts | None) -> list[Sentence]:
    """Return what changed with a revision, in a few sentences."""
    base, head = neighbours
    if base is None:
        stand = f"{counted(head.num_specs, 'spec')} of {counted(head.num_packages, 'package')}"
        return [Sentence(f"The first revision of its series, with {stand}.")]
    sentences = [_specs(neighbours, counts)]
    if counts is not None and (packages := _packages(counts)):
        sentences.append(packages)
    if grown := size_sentence(base.total_size, head.total_size):
        sentences.append(grown)
    return sentences


def package_title(entry: PackageEntry, name: str) -> Sentence:
    """Return the title of the entry of a revision that touched a package."""
    head = entry.head
    pieces = [Value(name), f": {HAPPENED[entry.kind]}"]
    for verb, versions in (("came", entry.versions_added), ("went", entry.versions_removed)):
        if versions:
            pieces += [", ", *enumerated(*_listed(versions)), f" {verb}"]
    return Sentence(*pieces, " in ", Value(head.tag), f" of {long_day(head.taken_at)}")


def package_summary(entry: PackageEntry, name: str) -> list[Sentence]:
    """Return what a revision did to a package, in a few sentences."""
    sentences = []
    for verb, versions in (("came", entry.versions_added), ("went", entry.versions_removed)):
        if versions:
            what = "Version " if len(versions) == 1 else "Versions "
            listed = enumerated(*_listed(versions))
            sentences.append(Sentence(what, *listed, " of ", Name(name), f" {verb}."))
    told = _counts_told(
        [(entry.num_added, "added"), (entry.num_removed, "removed"), (entry.num_changed, "changed")]
    )
    sentences.append(Sentence(f"Specs: {told}.") if told else Sentence("No spec changed."))
    reasons = [(count, in_words(reason.value)) for reason, count in entry.reasons.items()]
    if reasons:
        sentences.append(Sentence(f"By reason: {_counts_told(reasons)}."))
    return sentences


def _news(neighbours: Neighbours, counts: PairCounts | None) -> str:
    """Return what is new in a few words."""
    base, head = neighbours
    if base is None:
        return f"the first of its series, {counted(head.num_specs, 'spec')}"
    if base.digest == head.digest:
        return "nothing changed"
    if counts is None:
        return _net(base.num_specs, head.num_specs)
    rebuilt, replaced = _counterparts(counts)
    new = counts.specs_added - rebuilt - replaced
    removed = _without_counterpart(counts)
    return _counts_told(
        [
            (new, "new"),
            (removed, "removed"),
            (replaced, "replaced"),
            (rebuilt, "rebuilt"),
            (counts.specs_changed, "with other facts"),
        ],
        noun="spec",
    )


def _specs(neighbours: Neighbours, counts: PairCounts | None) -> Sentence:
    base, head = neighbours
    if base is None or counts is None:
        before = 0 if base is None else base.num_specs
        return Sentence(f"There are {_net(before, head.num_specs)}.")
    rebuilt, replaced = _counterparts(counts)
    return specs_sentence(
        head.num_specs,
        added=counts.specs_added,
        rebuilt=rebuilt,
        replaced=replaced,
        removed=_without_counterpart(counts),
    )


def _packages(counts: PairCounts) -> Sentence | None:
    told = _counts_told(
        [
            (counts.packages_added, "added"),
            (counts.packages_removed, "removed"),
            (counts.packages_changed, "changed"),
        ]
    )
    return Sentence(f"Packages: {told}.") if told else None


def _net(before: int, after: int) -> str:
    """Return how many specs there are, and how many more or fewer than before."""
    stand = counted(after, "spec")
    if before == after:
        return f"{stand}, as many as before"
    than = "more" if after > before else "fewer"
    return f"{stand}, {abs(after - before):,} {than} than before"


def _counterparts(counts: PairCounts) -> tuple[int, int]:
    """Return how many added specs were rebuilt, and how many replace others that differ."""
    reasons = counts.reasons
    return reasons.get(SpecChangeReason.REBUILT, 0), reasons.get(SpecChangeReason.REPLACES, 0)


def _without_counterpart(counts: PairCounts) -> int:
    """Return how many removed specs nothing took the place of."""
    return counts.specs_removed - counts.reasons.get(SpecChangeReason.REPLACED, 0)


def _counts_told(counts: Iterable[tuple[int, str]], noun: str | None = None) -> str:
    """Return numbers with what they count, those that are 0 left out; the first has the noun."""
    told: list[str] = []
    for count, what in counts:
        if count:
            number = counted(count, noun) if noun and not told else f"{count:,}"
            told.append(f"{number} {what}")
    return ", ".join(told)


def _listed(versions: tuple[str, ...]) -> tuple[list[list[str]], str]:
    """Return the first versions as items of a sentence, and how many more there are."""
    shown = versions if len(versions) <= _FEW_VERSIONS + 1 else versions[:_FEW_VERSIONS]
    more = f"{len(versions) - len(shown):,} more" if len(shown) < len(versions) else ""
    return [[Value(version)] for version in shown], more
