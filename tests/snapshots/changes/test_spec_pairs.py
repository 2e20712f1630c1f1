"""Two specs side by side: differences, causes and shared dependencies, against the model."""

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots.changes.causes import CauseStep
from snapshots.changes.pairings import FieldChange
from snapshots.changes.sides import Side
from snapshots.changes.spec_pairs import SpecPair, dependency_changes, variant_changes
from snapshots.changes.vocabulary import difference_phrase
from snapshots.models import Dependency, Spec
from tests.expensive import FEWER_EXAMPLES
from tests.model import questions
from tests.model.builds import towers, weeks
from tests.model.changes import Causes, own_differences, pair_edges
from tests.model.explained import frame_and_graph, hash_at, named
from tests.model.real import dates, records
from tests.model.states import State
from tests.snapshots.changes.causes import records as cause_records
from tests.snapshots.changes.graphs import edge, node
from tests.snapshots.factories import a_spec


def reached(state: State, spec: Spec) -> dict[str, str]:
    """Return the hashes of the specs that a spec reaches, with their packages."""
    names = questions.names(state)
    return {digest: names[digest] for digest in questions.reached(state, spec.hash)}


def variants_of(texts: Iterator[str] | tuple[str, ...]) -> dict[str, Any]:
    """Return variants by their names."""
    return {
        text.strip("+~").split("=")[0]: text.split("=", 1)[1] if "=" in text else text[0] == "+"
        for text in texts
    }


class ComparedPair:
    """A comparison of two specs, in the model's terms."""

    def __init__(self, base: State, head: State, before: Spec, after: Spec) -> None:
        self.sides = [Side(*frame_and_graph(state)) for state in (base, head)]
        rows = [
            side.frame.hashes.find(spec.hash)
            for side, spec in zip(self.sides, (before, after), strict=True)
        ]
        assert rows[0] is not None
        assert rows[1] is not None
        self.pair = SpecPair(self.sides[0], rows[0], self.sides[1], rows[1])
        self.causes = named(cause_records(self.pair.explanation.causes))

    def pairs(self, path: Any) -> list[tuple[str, str]]:
        """Return the hashes of the steps of a path."""
        steps: list[CauseStep] = list(path)
        return [
            (hash_at(self.sides[0], step.base_node), hash_at(self.sides[1], step.head_node))
            for step in steps
        ]


def check(base: State, head: State, before: Spec, after: Spec) -> None:
    """Assert that the comparison of two specs is the model's."""
    compared = ComparedPair(base, head, before, after)
    pair = compared.pair
    is_one_package, is_one_spec = before.name == after.name, before.hash == after.hash
    check_own(pair, before, after)
    # Causes: all of the pair, or of two packages those of the pairs below.
    model = Causes(base, head, {after.hash: before.hash})
    start = before.hash, after.hash
    below = {start, *model.reached[start]} if is_one_package else model.reached[start]
    causes = {cause for at in below for cause in model.own(at)} if not is_one_spec else set()
    assert {*compared.causes} == causes
    assert len(compared.causes) == len(causes)
    distances = distances_from(model, start)
    for cause, path in zip(compared.causes, map(compared.pairs, pair.paths), strict=True):
        assert path[0] == start
        assert cause in model.own(path[-1])
        assert all(step in model.below[last] for last, step in pairwise(path))
        nearest = min(distances[at] for at in below if cause in model.own(at))
        assert len(path) == nearest + 1
    check_dependencies(compared, model, base, head, before, after)
    ours, theirs = reached(base, before), reached(head, after)
    shared = {hash_at(compared.sides[0], node) for node in pair.below.shared.tolist()}
    assert shared == ours.keys() & theirs.keys()
    assert len(pair.below.shared) == len(shared)
    tops = (
        a_spec(dependencies=tuple(Dependency(name, digest, ()) for digest, name in nodes.items()))
        for nodes in (ours, theirs)
    )
    edges = pair_edges(base, head, *tops)
    differing = {(old.hash, new.hash) for old, new in edges.common if old.hash != new.hash}
    assert {(old.hash, new.hash) for old, new in pair.below.differing} == differing
    assert {end.hash for end in pair.below.only_base} == {edge.hash for edge in edges.lost}
    assert {end.hash for end in pair.below.only_head} == {edge.hash for edge in edges.gained}
    check_document(pair)


def check_own(pair: SpecPair, before: Spec, after: Spec) -> None:
    """Check own facts, and variants."""
    expected = own_differences(before, after)
    facts = {change.path: (change.before, change.after) for change in pair.facts}
    name = ["name"] if before.name != after.name else []
    assert [*facts] == name + [
        fact for fact in expected if fact not in ("variants", "dependencies")
    ]
    for path, values in facts.items():
        assert values == (getattr(before, path), getattr(after, path))
    assert pair.variants.before == sorted({*before.variants} - {*after.variants})
    assert pair.variants.after == sorted({*after.variants} - {*before.variants})
    for change in variant_changes(pair.variants):
        name_of_variant = change.path.split("/")[1]
        assert change.before == variants_of(before.variants).get(name_of_variant)
        assert change.after == variants_of(after.variants).get(name_of_variant)


def check_dependencies(
    compared: ComparedPair, model: Causes, base: State, head: State, before: Spec, after: Spec
) -> None:
    """Check direct dependencies that differ, and their paths to the largest cause."""
    pair = compared.pair
    is_known = before.dependencies is not None and after.dependencies is not None
    assert pair.are_known == is_known
    edges = pair_edges(base, head, before, after)
    expected: Counter[Any] = Counter((edge.hash, None) for edge in edges.lost)
    expected.update((None, edge.hash) for edge in edges.gained)
    expected.update(
        (old.hash, new.hash)
        for old, new in edges.common
        if (old.hash, old.types, old.virtuals) != (new.hash, new.types, new.virtuals)
    )
    if is_known:
        assert expected == Counter(
            (change.before and change.before.hash, change.after and change.after.hash)
            for change in pair.dependencies
        )
    for change in pair.dependencies:
        path = compared.pairs(change.path)
        if change.before is None or change.after is None or change.before.hash == change.after.hash:
            assert path == []
            continue
        assert path[0] == (change.before.hash, change.after.hash)
        assert all(step in model.below[last] for last, step in pairwise(path))
        assert model.own(path[-1])
        nodes = base.nodes.get(path[0][0]), head.nodes.get(path[0][1])
        if nodes[0] and nodes[1] and own_differences(nodes[0], nodes[1]):
            assert len(path) == 1


def distances_from(model: Causes, start: tuple[str, str]) -> dict[tuple[str, str], int]:
    """Return the number of steps from a pair to each pair that it reaches."""
    distances = {start: 0}
    level = [start]
    while level:
        level = [at for last in level for at in model.below[last] if at not in distances]
        distances |= dict.fromkeys(level, max(distances.values()) + 1)
    return distances


def check_document(pair: SpecPair) -> None:
    """Compare the nested changes with those of walking both documents."""
    base, head = pair.documents
    expected = {path: values for path, values in walked((), base, head) if values[0] != values[1]}
    changes = {
        tuple(change.path.split("/")): (change.before, change.after)
        for change in pair.nested_changes
    }
    assert changes == expected
    phrases = [
        difference_phrase(path, change)
        for _, inside in dependency_changes(pair.nested_changes)
        for path, change in inside
    ]
    assert all(phrases)


def walked(path: tuple[str, ...], base: Any, head: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the values of two documents at each path; None if a document lacks it."""
    if not (isinstance(base, dict) and isinstance(head, dict)):
        yield path, (base, head)
        return
    for name in {*base, *head}:
        yield from walked((*path, name), base.get(name), head.get(name))


def some_pairs(base: State, head: State, number: int) -> Iterator[tuple[Spec, Spec]]:
    """Yield pairs of specs, some of one package."""
    random = Random(number)
    befores, afters = list(base.specs.values()), list(head.specs.values())
    for _ in range(number if befores and afters else 0):
        before, after = random.choice(befores), random.choice(afters)
        yield before, after
        yield before, random.choice(head.of_package(before.name) or afters)


@FEWER_EXAMPLES
@given(st.one_of(weeks(), towers, towers.map(lambda states: (states[1], states[1]))))
def test_against_the_model(states: tuple[State, State]) -> None:
    """The model agrees for any two specs of one or two packages and states."""
    for before, after in some_pairs(*states, 2):
        check(*states, before, after)


def test_real_weeks() -> None:
    """The model agrees on real specs a week apart, of one package and of several."""
    base, head = (State(*records(date)) for date in dates())
    for before, after in some_pairs(base, head, 2):
        check(base, head, before, after)


# -- examples


@pytest.mark.parametrize(
    "facts", [{"compiler": "clang@16.0.6"}, {"compiler": "clang@16.0.6", "spec_format": 6}]
)
def test_specs_of_two_packages(facts: dict[str, Any]) -> None:
    """How each is written is no cause: only what differs below both is."""
    before = node("one", edge("zlib"), edge("gcc", ("build",), ("c",)), compiler=None)
    after = node("other", edge("zlib:2"), **facts)
    base, head = State([before, node("zlib", version="1")]), State([after, node("zlib:2")])
    check(base, head, before, after)


@pytest.mark.parametrize(
    ("path", "before", "after", "phrase"),
    [
        ("version", "1", "2", "version 1 → 2"),
        ("package_hash", "abcdefghijkl", "bcdefghijklm", "recipe abcdefg → bcdefgh"),
        ("operating_system", "rhel8", "rhel9", "operating system rhel8 → rhel9"),
        ("variants/mpi", True, False, "+mpi → ~mpi"),
        ("variants/api", "v1", None, "api=v1 → nothing"),
        ("variants/shared", None, False, "nothing → ~shared"),
        ("dependencies/zlib", None, "link", "now depends on zlib"),
        ("dependencies/zlib", "link", None, "no longer depends on zlib"),
        ("dependencies/zlib", "link", "build,link", "needs zlib for link → build,link"),
    ],
)
def test_phrases(path: str, before: Any, after: Any, phrase: str) -> None:
    """Each difference has a phrase."""
    assert difference_phrase(path.split("/"), FieldChange(path, before, after)) == phrase
