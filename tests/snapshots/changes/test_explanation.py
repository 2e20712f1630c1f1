"""Explanations of a comparison and of its parts, against the model, and extreme graphs."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from snapshots.changes.diff import SpecChangeKind
from snapshots.models import Spec
from tests.expensive import FEWER_EXAMPLES, examples
from tests.model.builds import crowds, towers, weeks
from tests.model.changes import (
    Cause,
    Causes,
    Kind,
    added_reasons,
    counterparts,
    removed_reasons,
)
from tests.model.explained import Explained
from tests.model.real import STACKS, dates, history
from tests.model.real import records as real_records
from tests.model.states import State
from tests.snapshots.changes.graphs import edge, node
from tests.snapshots.factories import hash_of

ADDED, REMOVED, CHANGED = SpecChangeKind

Week = tuple[State, State]


LIMITS = {
    "involvement.MAX_CACHED_BYTES": 0,
    "involvement.BLOCK_BYTES": 1,
}


@contextmanager
def caches(are_usual: bool) -> Iterator[None]:
    """Let results be computed in small blocks that are hardly cached, unless as usual."""
    with pytest.MonkeyPatch.context() as patch:
        for name, limit in {}.items() if are_usual else LIMITS.items():
            patch.setattr(f"snapshots.changes.{name}", limit)
        yield


BASE = [
    node("zlib", version="1.2"),
    node("hdf5", "zlib"),
    node("py", "hdf5"),
    node("png"),
    node("gone"),
    node("moved", stacks=("e4s",)),
]
HEAD = [
    node("zlib:2", version="1.3"),
    node("hdf5:2", "zlib:2", variants=("+mpi",)),
    node("py:2", "hdf5:2"),
    node("png"),
    node("new"),
    node("moved", stacks=("hep",)),
]


@given(st.one_of(weeks(), towers), st.booleans())
def test_drawn_weeks(week: Week, is_cached: bool) -> None:
    """Reasons, counterparts and causes are those of the model, cached or computed in blocks."""
    with caches(is_cached):
        check(*week)


@examples(100)
@given(crowds, st.booleans())
def test_many_specs_of_a_package(week: Week, is_cached: bool) -> None:
    """The model agrees on packages with many specs, with votes of dependents."""
    with caches(is_cached):
        check_reasons(*week)


def copied(state: State, count: int) -> State:
    """Return a state with each spec under so many hashes; each copy depends on its own copies."""

    def copy(digest: str, number: int) -> str:
        return hash_of(f"{number} {digest}") if digest in state.specs else digest

    specs = [
        replace(
            spec,
            hash=copy(spec.hash, number),
            dependencies=spec.dependencies
            and tuple(
                sorted(replace(edge, hash=copy(edge.hash, number)) for edge in spec.dependencies)
            ),
        )
        for number in range(count)
        for spec in state.specs.values()
    ]
    return State(specs, [spec for key, spec in state.nodes.items() if key not in state.specs])


@examples(40)
@given(weeks(), st.integers(2, 5))
def test_equal_graphs_under_many_hashes(week: Week, count: int) -> None:
    """The model agrees where votes, ties and pairs cross between copies of one graph."""
    check(*(copied(state, count) for state in week))


def test_real_week() -> None:
    """The model agrees on real indexes; nodes with own changes are the causes of each spec."""
    base, head = (State(*real_records(date, STACKS)) for date in dates()[-2:])
    check(base, head)
    week = Explained(base, head)
    assert week.causes[0] == Cause(Kind.RECIPE, "gettext")
    assert sum(week.num_specs.values()) == 394 == len(week.counterparts(ADDED))
    assert set(week.reasons(ADDED).values()) == {"rebuilt", "replaces"}
    assert set(week.reasons(REMOVED).values()) == {"replaced"}
    lines = (history() / dates()[-1] / "recipes.txt").read_text().splitlines()
    changed_in_git = {line.split()[1] for line in lines if line.startswith("recipe ")}
    recipes = {cause.package for cause in week.causes if cause.kind is Kind.RECIPE}
    assert changed_in_git >= recipes != set()


def check(base: State, head: State) -> None:
    """Assert that counterparts, reasons, causes, numbers and paths are the model's."""
    check_causes(base, head, check_reasons(base, head))


def check_reasons(base: State, head: State) -> dict[str, str]:
    """Assert that counterparts and reasons are the model's; return the counterparts."""
    returned = frozenset(digest for digest in head.specs if digest < "n")
    week = Explained(base, head, returned)
    expected = counterparts(base, head)
    assert week.counterparts(ADDED) == expected
    assert week.counterparts(REMOVED) == {before: after for after, before in expected.items()}
    assert week.reasons(ADDED) == added_reasons(base, head, returned)
    assert week.reasons(REMOVED) == removed_reasons(base, head)
    assert set(week.reasons(CHANGED).values()) <= {"facts"}
    return expected


def check_causes(base: State, head: State, pairs: Mapping[str, str]) -> None:
    """Assert that the causes of counterparts, their numbers and paths are the model's."""
    expected = Causes(base, head, pairs)
    week = Explained(base, head)
    num_specs = Counter(expected.main.values())
    assert week.causes == expected.ordered()
    for number, (cause, record) in enumerate(zip(week.causes, week.records, strict=True)):
        assert record.num_specs == num_specs[cause]
        assert record.num_involved == expected.num_involved[cause]
        assert {*record.packages} == expected.packages(cause)
        assert {week.causes[other] for other in record.together} == expected.together(cause)
        assert [fact.path for fact in record.facts] == expected.facts(cause)
        assert week.specs(number, involved=False) == expected.specs(cause)
        assert week.specs(number, involved=True) == expected.involved_in(cause)
    assert week.main == expected.main | {
        pairs[digest]: main for digest, main in expected.main.items()
    }
    for after, before in pairs.items():
        involved = week.involved[after]
        assert involved[0] == expected.main[after]
        assert set(involved) == expected.involved[after]
        assert len(involved) == len(expected.involved[after])
        assert week.involved[before] == involved
        assert expected.is_shortest_path(after, week.paths[after])
    some = [digest for digest in head.specs if digest < "n"]
    assert week.counted(some) == expected.counted(some)


# -- two sides without common builds, as caches of two machines


def moved(state: State, generic: Collection[str], of_stack: str) -> State:
    """Return a state as another machine builds it; generic packages have the same target."""

    def there(spec: Spec) -> Spec:
        edges = spec.dependencies
        return replace(
            spec,
            hash=hash_of(f"moved {spec.hash}"),
            target=spec.target if spec.name in generic else f"{spec.target}_there",
            stacks=tuple(
                stack if stack == "root" else f"{stack}{of_stack}" for stack in spec.stacks
            ),
            dependencies=edges
            and tuple(replace(edge, hash=hash_of(f"moved {edge.hash}")) for edge in edges),
        )

    inside = [there(spec) for spec in state.specs.values()]
    outside = [there(spec) for key, spec in state.nodes.items() if key not in state.specs]
    return State(inside, outside)


GENERIC = st.sets(st.sampled_from(("a", "b", "gcc", "mpich")), max_size=2)


@FEWER_EXAMPLES
@given(st.one_of(weeks(), crowds), GENERIC, st.sampled_from(("", "-there")))
def test_two_machines(week: Week, generic: set[str], of_stack: str) -> None:
    """Specs have counterparts on another machine as in the model, also with common stacks."""
    check(week[0], moved(week[1], generic, of_stack))


# -- extreme graphs, which Spack does not create

MANY = 1_500


class Graph:
    """The two sides of a comparison, filled node by node; no hash is on both sides."""

    def __init__(self) -> None:
        self.base: list[Spec] = []
        self.head: list[Spec] = []

    def add(self, label: str, *needs: str, recipes: str = "rr") -> None:
        """Add a node to both sides, with the recipe of each side; needs are labels of others."""
        for side, specs in enumerate((self.base, self.head)):
            edges = [edge(f"{need}:{side}", name=need.partition(" ")[0]) for need in sorted(needs)]
            facts = {"name": label.partition(" ")[0], "package_hash": recipes[side]}
            specs.append(node(f"{label}:{side}", *edges, **facts))


@pytest.mark.parametrize("recipes", ["rr", "rs"])
def test_deep_chain(recipes: str) -> None:
    """A chain of thousands of dependencies is followed to its end, with a cause at each step."""
    graph = Graph()
    graph.add("p0", recipes="rs")
    for number in range(1, MANY):
        graph.add(f"p{number}", f"p{number - 1}", recipes=recipes)
    top = hash_of(f"p{MANY - 1}:1")
    explained = Explained(State(graph.base), State(graph.head))
    if recipes == "rr":
        assert explained.num_specs == {Cause(Kind.RECIPE, "p0"): MANY}
        assert len(explained.path(top)) == MANY
    else:
        assert {*explained.involved[top]} == {*explained.causes}
        assert set(explained.num_specs.values()) == {1}
        assert sum(explained.num_involved.values()) == MANY * (MANY + 1) // 2


def test_exponential_number_of_paths() -> None:
    """Two to the power of hundreds of paths to one cause are not walked one by one."""
    graph = Graph()
    for number in range(300):
        below = [f"{side}{number - 1}" for side in ("left", "right") if number]
        for side in ("left", "right"):
            graph.add(f"{side}{number}", *below, recipes="rr" if number else "rs")
    explained = Explained(State(graph.base), State(graph.head))
    assert set(explained.num_involved.values()) == {599}
    assert sum(explained.num_specs.values()) == 600
    assert len(explained.path(hash_of("left299:1"))) == 300


def test_thousands_of_equal_specs() -> None:
    """Equal specs of one package are paired by their hashes; so are equal dependencies of one."""
    graph = Graph()
    labels = [f"hdf5 {number}" for number in range(MANY)]
    for label in labels:
        graph.add(label, "zlib")
    graph.add("zlib", recipes="rs")
    graph.add("top", *labels)
    explained = Explained(State(graph.base), State(graph.head))
    base, head = (sorted(hash_of(f"{label}:{side}") for label in labels) for side in (0, 1))
    others = {hash_of(f"{name}:1"): hash_of(f"{name}:0") for name in ("zlib", "top")}
    assert explained.counterparts(ADDED) == dict(zip(head, base, strict=True)) | others
    assert explained.num_specs == {Cause(Kind.RECIPE, "zlib"): MANY + 2}
