"""What rules find, beside a plain way over records."""

from collections.abc import Collection, Sequence
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from snapshots.changes.causes import CauseCount
from snapshots.changes.coverage import CoverageDimension
from snapshots.changes.rules.measures import MEASURES, CommitRebuild, RuleSubject
from snapshots.changes.rules.rules import (
    Cover,
    Forbidden,
    Rule,
    RuleLevel,
    judge,
    read_amount,
)
from snapshots.errors import CatalogError, InvalidArgument, RuleUnusable
from snapshots.models import ConcreteSpec, Dependency, Spec
from snapshots.notes.changelog import summarize
from tests.expensive import FEWER_EXAMPLES
from tests.model import cells
from tests.snapshots.changes.rules.judged import forbid, judge_one, judged, limit, require
from tests.snapshots.changes.states import pairs
from tests.snapshots.factories import NAMES, a_spec, hash_of

STACK_TARGET = (CoverageDimension.STACK, CoverageDimension.TARGET)
ONLY = st.builds(
    RuleSubject,
    stack=st.sampled_from((None, "e4s", "hep")),
    package=st.sampled_from(((), ("lib*",), ("hdf5", "zlib"))),
    except_=st.sampled_from(((), ("*10",), (*NAMES[1:3],))),
    matching=st.sampled_from((None, "+mpi", "target=m1")),
)


def have_names_for_ever(pair: tuple[list[Spec], list[Spec]]) -> bool:
    """Tell whether each hash is of one package, as every real one is."""
    names = {spec.hash: spec.name for spec in pair[0]}
    return all(names.get(spec.hash, spec.name) == spec.name for spec in pair[1])


PAIRS = pairs().filter(have_names_for_ever)


def is_known(stack: str | None, *sides: list[Spec]) -> bool:
    """Tell whether a side has a stack."""
    return stack is None or any(stack in spec.stacks for specs in sides for spec in specs)


def one_is_silent(*sides: list[Spec]) -> bool:
    """Tell whether one side has specs of which none has a stack beside root, and the other not."""
    tell = {not specs or any({*spec.stacks} - {"root"} for spec in specs) for specs in sides}
    return len(tell) == 2


def matches(query: str | None, spec: Spec) -> bool:
    """Tell whether a spec matches one of the queries above."""
    return {"+mpi": "+mpi" in spec.variants, "target=m1": spec.target == "m1"}[query or ""]


def names(dimensions: Sequence[CoverageDimension]) -> list[str]:
    """Return the names that the model has for dimensions."""
    return [dimension.value for dimension in dimensions]


HAPPENED = [what for what in Forbidden if what is not Forbidden.HOLE]


@given(what=st.sampled_from(HAPPENED), pair=PAIRS, only=ONLY)
def test_forbid(what: Forbidden, pair: tuple[list[Spec], list[Spec]], only: RuleSubject) -> None:
    """It finds what the records say of the specs in scope; each breach has its rows in base."""
    base, head = pair
    if not is_known(only.stack, base, head):
        with pytest.raises(RuleUnusable, match="stack"):
            judge_one(forbid(what), base, head, only)
        return
    if one_is_silent(base, head) and (only.stack or what is Forbidden.STACK_REMOVED):
        with pytest.raises(RuleUnusable, match="does not list stacks, so nothing can be judged"):
            judge_one(forbid(what), base, head, only)
        return
    dimensions = STACK_TARGET if what is Forbidden.COVERAGE_LOST else ()
    if dimensions and not all(cells.states_all(names(dimensions), side) for side in pair):
        with pytest.raises(RuleUnusable, match="does not list it, so nothing can be judged"):
            judge_one(forbid(what, dimensions), base, head, only)
        return
    result = judge_one(forbid(what, dimensions), base, head, only)
    before, after = (
        cells.in_scope(side, only, lambda spec: matches(only.matching, spec)) for side in pair
    )
    expected = cells.forbidden(what, before, after, only.stack)
    assert len(result.breaches) == len(expected)
    assert result.passed is not bool(expected)
    scope = {spec.hash: spec for spec in before}
    for breach in result.breaches:
        rows = [scope[digest] for digest in breach.hashes()]
        assert rows
        assert any(set(key) <= facts_of(rows[0]) for key in expected)
        assert {spec.name for spec in rows} == {breach.package} or breach.package is None


def facts_of(spec: Spec) -> set[str]:
    """Return the facts that a breach may name."""
    return {spec.name, spec.version, spec.hash, spec.target, *spec.stacks}


@FEWER_EXAMPLES
@given(pair=PAIRS, only=ONLY, by=st.sampled_from([(CoverageDimension.TARGET,), STACK_TARGET]))
def test_require(
    pair: tuple[list[Spec], list[Spec]], only: RuleSubject, by: tuple[CoverageDimension, ...]
) -> None:
    """Head has it at all, and in each cell that base has it in."""
    base, head = pair
    if not is_known(only.stack, base, head) or (only.stack and one_is_silent(base, head)):
        return
    before, after = (
        [
            spec
            for spec in cells.in_scope(side, only, lambda spec: matches(only.matching, spec))
            if spec.name == "hdf5" and "+shared" in spec.variants
        ]
        for side in pair
    )
    assert judge_one(require("hdf5+shared"), base, head, only).passed is bool(after)
    if not all(cells.states_all(names(by), side) for side in pair):
        return
    result = judge_one(require("hdf5+shared", by), base, head, only)
    lost = cells.lost_cells(names(by), before, after, only.stack)
    assert result.passed is (bool(after) and not lost)
    assert len(result.breaches) == (len(lost) or (not after))


@given(pair=PAIRS)
def test_limits_count_as_the_summary_does(pair: tuple[list[Spec], list[Spec]]) -> None:
    """Every count of a comparison's summary can be limited, under its name with dashes."""
    what = judged(*pair)
    assert what.comparison is not None
    counts = summarize(what.comparison)
    for name in MEASURES:
        field = name.replace("-", "_")
        if hasattr(counts, field):
            count = getattr(counts, field)
            if count is None:
                assert name.startswith("stacks-")
                continue
            for at_most, passed in ((count, True), (count - 1, False)):
                if at_most >= 0:
                    rule = limit(name, at_most)
                    (result,) = judge([rule], what).results
                    assert result.passed is passed, name


def builds(number: int, **facts: object) -> list[Spec]:
    """Return so many specs of one package."""
    return [a_spec(f"{facts}{label}", **facts) for label in range(number)]


TEN = [*builds(8, name="hdf5", size=100), *builds(2, name="zlib", size=50)]


@pytest.mark.parametrize(
    ("measure", "at_most", "passed", "message"),
    [
        ("specs-removed", 2, True, "2 specs removed, at most 2"),
        ("specs-removed", 1, False, "2 specs removed, at most 1"),
        ("specs-removed", "20 %", True, "2 specs removed (20.00 % of 10), at most 20 %"),
        ("specs-removed", "19.99%", False, "2 specs removed (20.00 % of 10), at most 19.99 %"),
        ("packages-removed", "50 %", True, "1 package removed (50.00 % of 2), at most 50 %"),
        ("specs-added", 0, True, "0 specs added, at most 0"),
        ("size-removed", "100 B", True, "100 B (100 bytes) removed, at most 100 B"),
        ("size-removed", 99, False, "100 B (100 bytes) removed, at most 99 bytes"),
        (
            "size-removed",
            "11 %",
            False,
            "100 B (100 bytes) removed (11.11 % of 900), at most 11 %",
        ),
        ("size-added", "1 TiB", True, "0 B (0 bytes) added, at most 1 TiB"),
    ],
)
def test_limits(measure: str, at_most: int | str, passed: bool, message: str) -> None:
    """A limit itself is allowed; a percentage is one of what base has of the same."""
    result = judge_one(limit(measure, at_most), TEN, TEN[:8])
    assert (result.passed, result.message) == (passed, message)
    assert [breach.message for breach in result.breaches] == ([] if passed else [message])
    if not passed and measure != "packages-removed":
        assert {*result.breaches[0].hashes()} == {spec.hash for spec in TEN[8:]}


def test_a_percentage_of_nothing_allows_nothing() -> None:
    """Where base has none, any number is more than every percentage."""
    result = judge_one(limit("specs-added", "1000 %"), [], TEN)
    assert (result.passed, result.message) == (
        False,
        "10 specs added where base has none, at most 1000 %",
    )
    assert judge_one(limit("specs-added", "0 %"), [], []).passed


def test_unknown_sizes() -> None:
    """What cannot be measured breaks its limit; the message states what is known in part."""
    unknown = [replace(spec, size=None) for spec in TEN]
    result = judge_one(limit("size-removed", "9 TiB"), unknown, unknown[:8])
    assert not result.passed
    assert "how much was removed is unknown" in result.message
    assert "--sizes" in result.message
    partly = [*TEN[:9], unknown[9]]
    result = judge_one(limit("size-removed", "9 TiB"), partly, partly[:8])
    assert result.passed
    assert "50 B (50 bytes) and 1 spec of unknown size removed" in result.message


def test_rebuilt_and_replaced() -> None:
    """They are counted by their reasons, in scope alone."""
    after = [replace(spec, hash=hash_of(f"new {spec.hash}")) for spec in TEN]
    for only, count in ((RuleSubject(), 10), (RuleSubject(package=("zlib",)), 2)):
        result = judge_one(limit("specs-rebuilt", 0), TEN, after, only)
        assert result.message == f"{count} specs rebuilt, at most 0"
    after = [replace(spec, version="2") for spec in after]
    assert judge_one(limit("specs-replaced", 9), TEN, after).breaches


@pytest.mark.parametrize("only", [RuleSubject(), RuleSubject(stack="e4s")])
def test_stacks_that_one_side_does_not_state(only: RuleSubject) -> None:
    """Nobody knows what became of them: what cannot be judged does not pass."""
    stated = [a_spec(stacks=("e4s", "root"))]
    unstated = [replace(spec, stacks=()) for spec in stated]
    about_stacks: list[Rule] = [
        forbid(Forbidden.STACK_REMOVED),
        forbid(Forbidden.COVERAGE_LOST),
        limit("stacks-removed", 9),
        limit("coverage-lost", 9),
    ]
    demands = [*about_stacks, forbid(Forbidden.SPEC_REMOVED)] if only.stack else about_stacks
    for sides, who in (((stated, unstated), "head"), ((unstated, stated), "base")):
        for demand in demands:
            with pytest.raises(
                RuleUnusable, match=f"{who} does not list .*so nothing can be judged"
            ):
                judge_one(demand, *sides, only)
    assert judge_one(forbid(Forbidden.SPEC_REMOVED), stated, unstated).passed
    assert judge_one(forbid(Forbidden.STACK_REMOVED), unstated, unstated).passed


LINKED = Dependency("zlib", hash_of("z"), ("build", "link"))
TOOL = Dependency("cmake", hash_of("cmake"), ("build",))


def test_holes() -> None:
    """What is missing for specs to be installed; with base and without, which may have any."""
    hdf5 = a_spec("h", dependencies=(LINKED, TOOL), stacks=("e4s",))
    lua = a_spec("l", name="lua", dependencies=(), stacks=("hep",))
    zlib = a_spec("z", name="zlib", dependencies=(), stacks=("hep",))
    rule = forbid(Forbidden.HOLE)
    for base in (None, [hdf5], [lua]):
        result = judge_one(rule, base, [hdf5, lua])
        assert (result.passed, result.message) == (False, "1 hole")
        (breach,) = result.breaches
        missing = f"zlib /{hash_of('z')[:7]} is missing"
        assert breach.message == f"{missing}, needed to install 1 spec"
        assert (breach.package, breach.hashes()) == ("zlib", [hash_of("h")])
        assert judge_one(rule, base, [hdf5, lua, zlib]).passed
        assert judge_one(rule, base, []).passed
    assert not judge_one(rule, None, [hdf5, lua], RuleSubject(stack="e4s")).passed
    assert judge_one(rule, None, [hdf5, lua], RuleSubject(stack="hep")).passed
    assert judge_one(rule, None, [hdf5, lua], RuleSubject(except_=("hdf5",))).passed


def test_unknown_holes() -> None:
    """A source that states no dependencies states no holes either."""
    with pytest.raises(RuleUnusable, match="forbid: head does not list dependencies"):
        judge_one(forbid(Forbidden.HOLE), None, [a_spec()])
    stated = a_spec("l", name="lua", dependencies=(), stacks=("hep",))
    silent = a_spec("s", name="zlib", stacks=("e4s",))
    result = judge_one(forbid(Forbidden.HOLE), None, [stated, silent])
    assert result.passed
    assert result.message == "0 holes; not known of 1 spec, as dependencies are not"
    above = a_spec("a", name="hdf5", dependencies=(Dependency("zlib", silent.hash, ("link",)),))
    result = judge_one(forbid(Forbidden.HOLE), None, [stated, silent, above])
    assert "not known of 2 specs" in result.message
    with pytest.raises(RuleUnusable, match="forbid: head does not list dependencies"):
        judge_one(forbid(Forbidden.HOLE), None, [stated, silent], RuleSubject(stack="e4s"))


@pytest.mark.parametrize("base", [None, TEN[1:]])
@pytest.mark.parametrize(
    ("at_most", "only", "passed", "message"),
    [
        (8, RuleSubject(), True, "8 specs built again as twins, at most 8"),
        (7, RuleSubject(), False, "8 specs built again as twins, at most 7"),
        (
            "79 %",
            RuleSubject(),
            False,
            "8 specs built again as twins (80.00 % of 10), at most 79 %",
        ),
        (1, RuleSubject(package=("zlib",)), True, "1 spec built again as twins, at most 1"),
    ],
)
def test_twins_of_head_are_limited(
    base: list[Spec] | None, at_most: int | str, only: RuleSubject, passed: bool, message: str
) -> None:
    """All but the first of each group, whatever base has; a percentage is one of head's specs."""
    result = judge_one(limit("twins", at_most), base, TEN, only)
    assert (result.passed, result.message) == (passed, message)
    assert [breach.num_specs for breach in result.breaches] == ([] if passed else [8])
    nothing = judge_one(limit("twins", "1 %"), base, [])
    assert nothing.message == "0 specs built again as twins where head has none, at most 1 %"


def test_cover() -> None:
    """So many specs of the lock file are there; those that are not are the breaches."""
    wanted = tuple(
        ConcreteSpec(hash=spec.hash, name=spec.name, version=spec.version) for spec in TEN
    )

    def cover(at_least: int | str) -> Rule:
        return Cover(name="a rule", cover="spack.lock", specs=wanted, at_least=at_least)

    head = TEN[1:]
    assert judge_one(cover("90 %"), None, head).passed
    assert judge_one(cover(9), None, head).passed
    result = judge_one(cover("90.01 %"), None, head)
    assert not result.passed
    assert result.message == "9 of 10 specs of spack.lock found (90.00 %), at least 90.01 %"
    (breach,) = result.breaches
    assert (breach.hashes(), breach.package) == ([TEN[0].hash], "hdf5")
    assert judge_one(cover("100 %"), None, head, RuleSubject(package=("zlib",))).passed
    assert judge_one(cover("100 %"), None, head, RuleSubject(except_=("hdf5",))).passed
    elsewhere = [replace(spec, stacks=("hep",)) for spec in TEN[:1]] + head
    assert judge_one(cover(10), None, elsewhere).passed
    assert not judge_one(cover(10), None, elsewhere, RuleSubject(stack="e4s")).passed


@pytest.mark.parametrize(
    "demand",
    [
        forbid(Forbidden.SPEC_REMOVED),
        require("hdf5", (CoverageDimension.TARGET,)),
        limit("specs-added", 1),
    ],
)
def test_what_needs_a_base_says_so(demand: Rule) -> None:
    """One revision alone is judged by the other rules."""
    with pytest.raises(RuleUnusable, match=r"rule 'a rule', \w+: needs a base"):
        judge_one(demand, None, TEN)
    assert judge_one(require("hdf5"), None, TEN).message == "8 specs found"
    assert judge_one(require("hdf5+cuda"), None, TEN).message == "no hdf5+cuda found"


def test_require_names_what_base_has() -> None:
    """The rows are those of base."""
    result = judge_one(require("zlib"), TEN, TEN[:8])
    assert result.message == "no zlib found, where base has 2 specs"
    assert {*result.breaches[0].hashes()} == {spec.hash for spec in TEN[8:]}


def test_covering_a_stack_names_what_others_have() -> None:
    """What is there, but not in the stack, is missing there; what has no like has no nearest."""
    wanted = (ConcreteSpec(hash=TEN[0].hash, name="hdf5"), ConcreteSpec(hash="q" * 32, name="none"))
    elsewhere = [replace(TEN[0], stacks=("hep",)), *TEN[1:]]
    demand = Cover(name="a rule", cover="a list", specs=wanted)
    result = judge_one(demand, None, elsewhere, RuleSubject(stack="e4s"))
    assert [breach.message for breach in result.breaches] == [
        f"hdf5 /{TEN[0].hash[:7]} is missing there, though other stacks have it",
        "none /qqqqqqq is missing",
    ]
    assert [breach.num_specs for breach in result.breaches] == [1, 1]


def test_a_limit_on_coverage_counts_the_cells_of_base() -> None:
    """Of the one stack alone, where a rule is about one."""
    base = [a_spec("a", stacks=("e4s", "hep")), a_spec("b", name="zlib", stacks=("e4s", "hep"))]
    rule = limit("coverage-lost", "0 %")
    result = judge_one(rule, base, base[:1])
    assert result.message == "2 cells lost (50.00 % of 4), at most 0 %"
    assert result.breaches[0].hashes() == []
    result = judge_one(rule, base, base[:1], RuleSubject(stack="hep"))
    assert result.message == "1 cell lost (50.00 % of 2), at most 0 %"
    gained = judge_one(limit("coverage-gained", 1), base[:1], base)
    assert gained.message == "2 cells gained, at most 1"


def test_a_limit_on_what_one_commit_rebuilt() -> None:
    """Of the specs that the rule is about; it is a fault where the commits are not known."""
    base = [a_spec("a", name="zlib", version="1"), a_spec("b", name="hdf5", version="1")]
    head = [a_spec("c", name="zlib", version="2"), a_spec("d", name="hdf5", version="2")]
    subject = judged(base, head)

    def most(counts: Sequence[CauseCount]) -> CommitRebuild | None:
        causes = [count.number for count in counts]
        return CommitRebuild("abc zlib, hdf5: bump (#7)", causes) if causes else None

    subject = replace(subject, most_rebuilt=most)
    rule = limit("specs-rebuilt-by-commit", "50 %")
    (result,) = judge([rule], subject).results
    assert result.message == (
        "2 specs rebuilt by one commit (100.00 % of 2), at most 50 %: abc zlib, hdf5: bump (#7)"
    )
    assert set(result.breaches[0].hashes()) == {spec.hash for spec in head}
    (result,) = judge([replace(rule, package="zlib", at_most=1)], subject).results
    assert result.passed
    assert result.message.startswith("1 spec rebuilt by one commit, at most 1: abc")
    (result,) = judge([replace(rule, package="none")], subject).results
    assert result.message.startswith("0 specs rebuilt by one commit where base has none, at most")
    with pytest.raises(RuleUnusable, match="known only of published revisions"):
        judge([rule], judged(base, head))


def test_an_unknown_stack_is_a_fault() -> None:
    """A slip of the pen would let everything pass."""
    with pytest.raises(RuleUnusable, match="stack: neither revision has 'e4z'; nearest: e4s"):
        judge_one(forbid(Forbidden.SPEC_REMOVED), TEN, TEN, RuleSubject(stack="e4z"))
    with pytest.raises(RuleUnusable, match="the revision does not have 'e4z'"):
        judge_one(require("hdf5"), None, TEN, RuleSubject(stack="e4z"))


def test_a_rule_about_nothing_says_so() -> None:
    """It holds, with a remark."""
    result = judge_one(forbid(Forbidden.SPEC_REMOVED), TEN, TEN, RuleSubject(package=("none*",)))
    assert result.passed
    assert "about no spec of either revision" in result.message


@pytest.mark.parametrize(
    ("only", "demand", "key"),
    [
        (RuleSubject(matching="^zlib"), forbid(Forbidden.SPEC_REMOVED), "matching"),
        (RuleSubject(), require("hdf5 ^zlib"), "require"),
    ],
)
def test_a_query_that_cannot_be_answered_names_rule_and_key(
    only: RuleSubject, demand: Rule, key: str
) -> None:
    """An error of the store stays what it is."""
    with pytest.raises(RuleUnusable, match=f"rule 'a rule', {key}: the revision"):
        judge_one(demand, TEN, TEN, only)

    def down() -> Collection[str]:
        raise CatalogError("there", "is down")

    with pytest.raises(CatalogError):
        judge([require("zlip")], replace(judged(None, TEN), elsewhere=down))


def test_only_errors_count_against_a_verdict() -> None:
    """A broken warning is listed, and the verdict stays good."""
    rules = [
        replace(forbid(Forbidden.SPEC_REMOVED), name=level.value, level=level)
        for level in RuleLevel
    ]
    verdict = judge(rules, judged(TEN, TEN[1:]))
    assert [result.passed for result in verdict.results] == [False, False]
    assert not verdict.passed
    verdict = judge(rules[1:], judged(TEN, TEN[1:]))
    assert verdict.passed
    assert [result.rule.name for result in verdict.broken(RuleLevel.WARNING)] == ["warning"]


def test_judging_can_be_ended_between_rules() -> None:
    """Whoever judges may have no more time."""

    def check() -> None:
        raise InvalidArgument("time", "is over")

    with pytest.raises(InvalidArgument):
        judge([require("zlib")], judged(TEN, TEN), check)


def test_amounts_are_exact() -> None:
    """No float is between what was written and what is compared."""
    assert read_amount("0.1 %").value == Decimal("0.1")
    assert read_amount("1.5 KiB").value == 1536


@pytest.mark.parametrize(
    ("what", "after", "message", "gone"),
    [
        (Forbidden.PACKAGE_REMOVED, ["1.13"], "zlib is gone: base has 1 spec of 1.3", ["z"]),
        (Forbidden.PACKAGE_DOWNGRADED, ["1.12"], "hdf5 fell from 1.14 to 1.12", ["h"]),
        (
            Forbidden.VERSION_REMOVED,
            ["1.13"],
            "hdf5 1.14 is gone: base has 1 spec of it",
            ["h"],
        ),
        (
            Forbidden.STACK_REMOVED,
            ["1.13"],
            "the stack hep is gone: base has 1 spec of it",
            ["z"],
        ),
    ],
)
def test_a_breach_says_what_happened(
    what: Forbidden, after: list[str], message: str, gone: list[str]
) -> None:
    """It names what is gone, and has the specs of base that are: of the newest version alone."""
    base = [
        a_spec("h", version="1.14"),
        a_spec("older", version="1.12"),
        a_spec("z", name="zlib", version="1.3", stacks=("hep",)),
    ]
    head = [a_spec(version, version=version) for version in after]
    found = {breach.message: breach for breach in judge_one(forbid(what), base, head).breaches}
    assert found[message].hashes() == [hash_of(label) for label in gone]
