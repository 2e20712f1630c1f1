"""The causes of most rebuilds in a series, compared with sums over the causes of each pair."""

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from snapshots.changes.sides import Side
from snapshots.changes.stored_changes import (
    NO_COUNTS,
    causes_of_package,
    changes_to_store,
    comparisons_table,
)
from snapshots.history import History, Pair
from snapshots.models import CauseKind, RevisionInfo
from snapshots.recipes.commits import Between, Commit
from snapshots.timelines.causes import SeriesCause, SeriesCauseKey, SeriesCauses
from snapshots.timelines.growth import MAX_CAUSES, main_changes
from tests.expensive import FEWER_EXAMPLES
from tests.model.builds import Build, Need, state_of, towers, weeks
from tests.model.changes import Causes, counterparts
from tests.model.explained import frame_and_graph
from tests.model.states import State
from tests.snapshots.factories import a_revision, a_spec, day

PACKAGE, KIND, COMMIT = SeriesCauseKey


class Series:
    """A series of states, a day apart, and its stored changes."""

    def __init__(self, states: Sequence[State]) -> None:
        self.states = states
        sides = [Side(*frame_and_graph(state)) for state in states]
        self.revisions = [
            replace(a_revision("develop", number), digest=side.frame.digest)
            for number, side in enumerate(sides)
        ]
        self.history = History(self.revisions)
        self.kept = [
            changes_to_store(base, head)
            for base, head in pairwise(sides)
            if base.frame.digest != head.frame.digest
        ]
        self.table = comparisons_table(self.kept, "cachelog", None)
        self.models = {
            number: Causes(base, head, counterparts(base, head))
            for number, (base, head) in enumerate(pairwise(states), 1)
            if sides[number - 1].frame.digest != sides[number].frame.digest
        }
        """The causes of each pair in the model, by the number of its head."""

    def causes(self) -> SeriesCauses:
        """Return the causes."""
        return SeriesCauses(self.table, "develop", self.history)

    def expected(self, by: Sequence[SeriesCauseKey], since: int = 0) -> dict[Any, Any]:
        """Return the points of each key, counted by the model."""
        points: dict[Any, dict[int, list[int]]] = defaultdict(dict)
        for number, model in self.models.items():
            if number < since:
                continue
            for cause in model.num_involved:
                names = {PACKAGE: cause.package, KIND: CauseKind[cause.kind.name]}
                key = tuple(names[name] for name in by)
                counts = points[key].setdefault(number, [0, 0])
                counts[0] += len(model.specs(cause))
                counts[1] += model.num_involved[cause]
        return points


def shown(causes: Sequence[SeriesCause], by: Sequence[SeriesCauseKey]) -> dict[Any, Any]:
    """Return the causes in the same form."""
    result = {}
    for cause in causes:
        key = tuple({PACKAGE: cause.package, KIND: cause.kind}[name] for name in by)
        result[key] = {
            (point.revision.taken_at - day(0)).days: [point.num_specs, point.num_involved]
            for point in cause.points
        }
        assert cause.num_revisions == len(cause.points)
        assert cause.num_specs == sum(point.num_specs for point in cause.points)
        assert cause.num_involved == sum(point.num_involved for point in cause.points)
    assert len(result) == len(causes)
    return result


def check_packages(series: Series) -> None:
    """Check the main causes of each package in each pair."""
    counts: dict[Any, Counter[Any]] = defaultdict(Counter)
    for number, model in series.models.items():
        head = series.states[number]
        pair = Pair(*(revision.digest for revision in series.revisions[number - 1 : number + 1]))
        for cause in model.num_involved:
            for digest in model.specs(cause):
                of_package = counts[pair, head.specs[digest].name]
                of_package[cause.kind.name, cause.package, cause.before, cause.after] += 1
    for number, kept in enumerate(series.kept):
        for name in {change.name for change in kept.packages}:
            causes = causes_of_package(series.table, number, name)
            assert {
                (cause.kind.name, cause.package, cause.before, cause.after): num_specs
                for cause, num_specs in causes
            } == counts.get((kept.pair, name), {})
            numbers = [num_specs for _, num_specs in causes]
            assert numbers == sorted(numbers, reverse=True)


def check_main(series: Series) -> None:
    """Check that the causes in the main changes are those that explain the most specs."""
    totals = dict.fromkeys(series.history.pairs, NO_COUNTS)
    totals |= {kept.pair: kept.counts for kept in series.kept}
    main = main_changes(totals, series.table, "develop", series.history)
    for number, revision in enumerate(series.revisions[1:], 1):
        model = series.models.get(number)
        of_causes = {
            (cause.kind.name, cause.package, cause.before, cause.after): len(model.specs(cause))
            for cause in (model.num_involved if model else ())
            if model and cause.kind.name != "UNKNOWN"
        }
        causes = main[revision.ref].causes
        names = [(cause.kind.name, cause.package, cause.before, cause.after) for cause in causes]
        assert [of_causes[name] for name in names] == [cause.num_specs for cause in causes]
        largest = sorted(filter(None, of_causes.values()), reverse=True)[:MAX_CAUSES]
        assert [cause.num_specs for cause in causes] == largest


def check_next(series: Series, packages: Collection[str]) -> None:
    """Check which step after each revision is the first with a cause in packages."""
    points = series.expected([PACKAGE])
    numbers = {number for (name,), of in points.items() if name in packages for number in of}
    causes = series.causes()
    for number, revision in enumerate(series.revisions):
        following = next((later for later in sorted(numbers) if later > number), None)
        step = causes.next_in(packages, revision)
        assert (step and step.head) == (following and series.revisions[following])
    assert causes.next_in(packages, a_revision("other", 1)) is None


def check(series: Series) -> None:
    """Check the sums by each key, of all revisions and of some."""
    causes = series.causes()
    check_packages(series)
    check_main(series)
    for packages in ((), ("a",), ("b", "gcc")):
        check_next(series, packages)
    for by in ((PACKAGE,), (KIND,), (PACKAGE, KIND), ()):
        every = causes.summed(by)
        assert shown(every, by) == series.expected(by)
        counts = [(-cause.num_specs, -cause.num_involved) for cause in every]
        assert counts == sorted(counts)
        since = causes.summed(by, since=day(2))
        assert shown(since, by) == series.expected(by, since=2)
        assert causes.summed(by, until=day(0)) == []


@FEWER_EXAMPLES
@given(st.lists(weeks(), min_size=1, max_size=3) | st.tuples(towers, towers))
def test_series_agree_with_the_model(pairs: Sequence[tuple[State, State]]) -> None:
    """Any successive states, with and without dependencies, flat and tall."""
    check(Series(_distinct([state for pair in pairs for state in pair if state.specs])))


def _distinct(states: Sequence[State]) -> list[State]:
    """Return the states without those that equal an earlier one."""
    digests = [frame_and_graph(state)[0].digest for state in states]
    return [
        state for number, state in enumerate(states) if digests.index(digests[number]) == number
    ]


# -- examples

LINK = ("link",)


def week(version: str, recipe: str = "r1") -> State:
    """Return a state of two packages above one."""
    return state_of(
        [
            Build(name="zlib", version=version, recipe=recipe),
            Build(name="png", needs=(Need(0, LINK),)),
            Build(name="tiff", needs=(Need(0, LINK),)),
        ]
    )


SERIES = Series([week("1.2"), week("1.3"), week("1.3", "r2"), week("1.4", "r2")])


def a_commit(oid: str, *packages: str) -> Commit:
    """Return a commit that touches packages."""
    return Commit(oid * 40, (), day(0), oid, packages, (), None)


def test_causes_by_commit() -> None:
    """Each commit that touched the recipe has the cause; steps without commits are left out."""
    commits = {1: ["a", "b"], 3: ["b"]}

    def between(_base: RevisionInfo, head: RevisionInfo) -> Between | None:
        number = SERIES.revisions.index(head)
        if number not in commits:
            return None
        touching = [a_commit(oid, "zlib") for oid in commits[number]]
        return Between([*touching, a_commit("c", "other")], ())

    b, a = SERIES.causes().summed([COMMIT], between=between)
    assert (b.commit, b.num_specs, b.num_revisions) == (a_commit("b", "zlib"), 6, 2)
    assert (a.commit, a.num_specs, a.num_revisions) == (a_commit("a", "zlib"), 3, 1)
    assert a.key != b.key
    assert SERIES.causes().summed([COMMIT]) == []


def test_architecture_as_a_cause() -> None:
    """It is stored as explained, if two builds are for different architectures only."""
    facts = {"namespace": "builtin", "package_hash": "r1", "variants": ()}
    before = a_spec("a", target="zen4", **facts)
    after = a_spec("b", target="neoverse_v2", stacks=("hep", "root"), **facts)
    series = Series([State([before]), State([after])])
    (cause,) = series.kept[0].causes or ()
    assert cause.kind is CauseKind.ARCHITECTURE
    check(series)
