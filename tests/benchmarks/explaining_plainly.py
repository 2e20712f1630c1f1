"""Counterparts, reasons, causes and coverage as one would first write them: records, dictionaries.

This is what ``explain`` measures cachelog beside. It is plainer than what cachelog does: candidates
with one key are paired in the order of their hashes, not by how much is alike below them.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from snapshots.models import Dependency, Spec

Specs = Mapping[str, Spec]
Cause = tuple[str, str, str | None, str | None]

_OWN: Sequence[tuple[str, Callable[[Spec], Any]]] = (
    ("version", lambda spec: spec.version),
    ("recipe", lambda spec: spec.package_hash),
    ("variants", lambda spec: spec.variants),
    ("dependencies", lambda spec: [(it.name, it.types, it.virtuals) for it in _edges(spec)]),
    ("target", lambda spec: (spec.platform, spec.operating_system, spec.target)),
)


class Explained(NamedTuple):
    """How many specs have a counterpart, the reasons with their numbers, and the causes."""

    num_counterparts: int
    reasons: Counter[str]
    causes: Counter[Cause]


def explain(base: Specs, head: Specs, outside: Specs) -> Explained:
    """Return why specs were added and removed; ``outside`` are those of both that are no rows."""
    added = [spec for digest, spec in head.items() if digest not in base]
    removed = [spec for digest, spec in base.items() if digest not in head]
    pairs = _counterparts(removed, added)
    causes = _Causes(base, head, outside)
    involved = [causes.of(before.hash, after.hash) for before, after in pairs]
    totals = Counter(cause for causes in involved for cause in causes)
    main: Counter[Cause] = Counter()
    reasons: Counter[str] = Counter()
    for (before, after), every in zip(pairs, involved, strict=True):
        own = _own_cause(before, after)
        main[own or max(every, key=totals.__getitem__)] += 1
        reasons["replaces" if own else "rebuilt"] += 1
        reasons["replaced"] += 1
    paired = {spec.hash for pair in pairs for spec in pair}
    came, went = ([it for it in specs if it.hash not in paired] for specs in (added, removed))
    reasons.update(_reasons(came, base.values(), "new_{}"))
    reasons.update(_reasons(went, head.values(), "{}_gone"))
    return Explained(len(pairs), reasons, main)


def coverage(
    base: Iterable[Spec], head: Iterable[Spec]
) -> dict[tuple[str, str, str], tuple[str, int]]:
    """Return the cells of package, stack and target that one side has, with how many specs."""
    before, after = _cells(base), _cells(head)
    lost = {cell: ("lost", before[cell]) for cell in before.keys() - after.keys()}
    return lost | {cell: ("gained", after[cell]) for cell in after.keys() - before.keys()}


def _cells(specs: Iterable[Spec]) -> Counter[tuple[str, str, str]]:
    return Counter(
        (spec.name, stack, spec.target)
        for spec in specs
        for stack in spec.stacks
        if stack != "root"
    )


def _counterparts(removed: Sequence[Spec], added: Sequence[Spec]) -> list[tuple[Spec, Spec]]:
    """Pair by exact keys, tier by tier: first with the architecture, then with a common stack."""
    facts: list[Callable[[Spec], Any]] = [
        lambda spec: spec.variants,
        lambda spec: frozenset(it.name for it in _edges(spec)),
        lambda spec: spec.version,
    ]
    tiers = [(0, 1, 2), (0, 1), (0, 2), (0,), (1, 2), (1,), (2,), ()]
    left, right, pairs = sorted(removed, key=_hash), sorted(added, key=_hash), []
    for with_stack in (False, True):
        for tier in tiers:
            chosen = [facts[number] for number in tier]
            groups: defaultdict[Any, list[Spec]] = defaultdict(list)
            for spec in left:
                groups[_key(spec, chosen, with_stack=with_stack)].append(spec)
            rest = []
            for spec in right:
                group = groups.get(_key(spec, chosen, with_stack=with_stack), [])
                found = next((it for it in group if not with_stack or _meet(it, spec)), None)
                if found is None:
                    rest.append(spec)
                else:
                    group.remove(found)
                    pairs.append((found, spec))
            right = rest
            left = [spec for group in groups.values() for spec in group]
    return pairs


def _hash(spec: Spec) -> str:
    return spec.hash


def _key(spec: Spec, facts: Sequence[Callable[[Spec], Any]], *, with_stack: bool) -> Any:
    where = () if with_stack else (spec.platform, spec.operating_system, spec.target)
    return spec.name, where, *(fact(spec) for fact in facts)


def _meet(one: Spec, other: Spec) -> bool:
    return not ({*one.stacks} & {*other.stacks}) <= {"root"}


def _edges(spec: Spec) -> tuple[Dependency, ...]:
    return spec.dependencies or ()


def _own_cause(before: Spec, after: Spec) -> Cause | None:
    for kind, fact in _OWN:
        if fact(before) != fact(after):
            told = (None, None) if kind == "recipe" else (str(fact(before)), str(fact(after)))
            return kind, before.name, *told
    return None


class _Causes:
    """The causes of pairs of hashes, each pair looked at once."""

    def __init__(self, base: Specs, head: Specs, outside: Specs) -> None:
        self._base, self._head, self._outside = base, head, outside
        self._known: dict[tuple[str, str], frozenset[Cause]] = {}

    def of(self, before: str, after: str) -> frozenset[Cause]:
        """Return the causes of a pair; the demo's dependencies lead in no circle."""
        known = self._known.get((before, after))
        if known is None:
            known = self._known[before, after] = self._find(before, after)
        return known

    def _find(self, before: str, after: str) -> frozenset[Cause]:
        old = self._base.get(before) or self._outside[before]
        new = self._head.get(after) or self._outside[after]
        own = _own_cause(old, new)
        found = {own} if own else set()
        newer = {edge.name: edge.hash for edge in _edges(new)}
        for edge in _edges(old):
            other = newer.get(edge.name, edge.hash)
            if other != edge.hash:
                found |= self.of(edge.hash, other)
        return frozenset(found)


def _reasons(specs: Iterable[Spec], others: Collection[Spec], called: str) -> Iterator[str]:
    """Yield why specs that have no counterpart came, or went."""
    known = {(it.name, it.version) for it in others}
    names = {name for name, _ in known}
    stacks = {stack for it in others for stack in it.stacks}
    targets = {(it.name, it.platform, it.operating_system, it.target) for it in others}
    for spec in specs:
        if spec.name not in names:
            yield called.format("package")
        elif (own := {*spec.stacks} - {"root"}) and not own & stacks:
            yield called.format("stack")
        elif (spec.name, spec.version) not in known:
            yield called.format("version")
        elif (spec.name, spec.platform, spec.operating_system, spec.target) not in targets:
            yield called.format("target")
        else:
            yield called.format("build")
