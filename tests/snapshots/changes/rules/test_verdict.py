"""Results of rules, against plain loops over records."""

from collections.abc import Collection, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import asdict, replace

from snapshots.changes.coverage import CoverageDimension
from snapshots.changes.rules.measures import MEASURES, RuleScope
from snapshots.changes.rules.rules import Cover, Forbidden, Rule, RuleLevel, judge
from snapshots.changes.summary import summarize
from snapshots.errors import CatalogError, RuleUnusable
from snapshots.models import ConcreteSpec, Dependency, Spec
from tests.expensive import FEWER_EXAMPLES
from tests.model import cells
from tests.model.states import State
from tests.snapshots.changes.rules.judgements import forbid, judge_one, limit, require, rule_context
from tests.snapshots.changes.states import pairs
from tests.snapshots.factories import NAMES, a_spec, hash_of

STACK_TARGET = (CoverageDimension.STACK, CoverageDimension.TARGET)
ONLY = st.builds(
    RuleScope,
    stack=st.sampled_from((None, "e4s", "hep")),
    package=st.sampled_from(((), ("lib*",), ("hdf5", "zlib"))),
    except_=st.sampled_from(((), ("*10",), (*NAMES[1:3],))),
    matching=st.sampled_from((None, "+mpi", "target=m1")),
)


def have_stable_names(pair: tuple[list[Spec], list[Spec]]) -> bool:
    """Return whether each hash is of one package, as in real caches."""
    names = {spec.hash: spec.name for spec in pair[0]}
    return all(names.get(spec.hash, spec.name) == spec.name for spec in pair[1])


PAIRS = pairs().filter(have_stable_names)


def has_stack(stack: str | None, *sides: list[Spec]) -> bool:
    """Return whether a side has a stack."""
    return stack is None or any(stack in spec.stacks for specs in sides for spec in specs)


def one_lists_no_stacks(*sides: list[Spec]) -> bool:
    """Return whether one side alone lists no stacks except root."""
    return len({State(specs).states_stacks for specs in sides}) == 2


def matches(query: str | None, spec: Spec) -> bool:
    """Return whether a spec matches one of the queries above."""
    return {"+mpi": "+mpi" in spec.variants, "target=m1": spec.target == "m1"}[query or ""]


def names(dimensions: Sequence[CoverageDimension]) -> list[str]:
    """Return the model's names of dimensions."""
    return [dimension.value for dimension in dimensions]


HAPPENED = [*{*Forbidden} - {Forbidden.HOLE, Forbidden.BINARY_REPLACED}]
HAPPENED.sort(key=list(Forbidden).index)


@given(change=st.sampled_from(HAPPENED), pair=PAIRS, only=ONLY)
def test_forbid(change: Forbidden, pair: tuple[list[Spec], list[Spec]], only: RuleScope) -> None:
    """Breaches follow from the records in scope; each has its rows of base."""
    base, head = pair
    if not has_stack(only.stack, base, head):
        with pytest.raises(RuleUnusable, match="stack"):
            judge_one(forbid(change), base, head, only)
        return
    if one_lists_no_stacks(base, head) and (only.stack or change is Forbidden.STACK_REMOVED):
        with pytest.raises(RuleUnusable, match="does not list stacks, so nothing can be checked"):
            judge_one(forbid(change), base, head, only)
        return
    dimensions = STACK_TARGET if change is Forbidden.COVERAGE_LOST else ()
    if dimensions and not all(cells.states_all(names(dimensions), side) for side in pair):
        with pytest.raises(RuleUnusable, match="does not list it, so nothing can be checked"):
            judge_one(forbid(change, dimensions), base, head, only)
        return
    result = judge_one(forbid(change, dimensions), base, head, only)
    before, after = (
        cells.in_scope(side, only, lambda spec: matches(only.matching, spec)) for side in pair
    )
    expected = cells.forbidden(change, before, after, only.stack)
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
    pair: tuple[list[Spec], list[Spec]], only: RuleScope, by: tuple[CoverageDimension, ...]
) -> None:
    """Head has a match at all, and in each cell in which base has one."""
    base, head = pair
    if not has_stack(only.stack, base, head) or (only.stack and one_lists_no_stacks(base, head)):
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
def test_limits_of_the_summary(pair: tuple[list[Spec], list[Spec]]) -> None:
    """Every count of a summary can be limited, under its name with dashes."""
    subject = rule_context(*pair)
    assert subject.comparison is not None
    counts = asdict(summarize(subject.comparison))
    for field in counts.keys() & {name.replace("-", "_") for name in MEASURES}:
        name, count = field.replace("_", "-"), counts[field]
        if count is None:
            assert name.startswith("stacks-")
            continue
        for at_most in range(max(count - 1, 0), count + 1):
            (result,) = judge([limit(name, at_most)], subject).results
            assert result.passed is (at_most == count), name


def builds(number: int, **facts: object) -> list[Spec]:
    """Return ``number`` specs of one package."""
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
        ("packages-removed", 0, False, "1 package removed, at most 0: zlib"),
        ("specs-added", 0, True, "0 specs added, at most 0"),
        ("size-removed", "100 B", True, "100 B (100 bytes) removed, at most 100 B"),
        ("size-removed", 99, False, "100 B (100 bytes) removed, at most 99 bytes"),
        ("size-removed", "11 %", False, "100 B (100 bytes) removed (11.11 % of 900), at most 11 %"),
        ("size-added", "1 TiB", True, "0 B (0 bytes) added, at most 1 TiB"),
        ("twins", 7, True, "7 specs built again as twins, at most 7"),
        ("twins", "80 %", False, "7 specs built again as twins (87.50 % of 8), at most 80 %"),
    ],
)
def test_limits(measure: str, at_most: int | str, passed: bool, message: str) -> None:
    """The limit itself is allowed; a percentage is of the same count in base, of twins in head."""
    result = judge_one(limit(measure, at_most), TEN, TEN[:8])
    assert (result.passed, result.message) == (passed, message)
    assert [breach.message for breach in result.breaches] == ([] if passed else [message])
    if not passed and measure not in ("packages-removed", "twins"):
        assert {*result.breaches[0].hashes()} == {spec.hash for spec in TEN[8:]}


@pytest.mark.parametrize("only", [RuleScope(), RuleScope(stack="e4s")])
def test_unlisted_stacks(only: RuleScope) -> None:
    """A rule about stacks cannot be judged if one side lists none."""
    stated = [a_spec(stacks=("e4s", "root"))]
    unstated = [replace(spec, stacks=()) for spec in stated]
    about_stacks: list[Rule] = [
        forbid(Forbidden.STACK_REMOVED),
        forbid(Forbidden.COVERAGE_LOST),
        limit("stacks-removed", 9),
        limit("coverage-lost", 9),
    ]
    rules = [*about_stacks, forbid(Forbidden.SPEC_REMOVED)] if only.stack else about_stacks
    for sides, side in (((stated, unstated), "head"), ((unstated, stated), "base")):
        for rule in rules:
            with pytest.raises(
                RuleUnusable, match=f"{side} does not list .*so nothing can be checked"
            ):
                judge_one(rule, *sides, only)
    assert judge_one(forbid(Forbidden.SPEC_REMOVED), stated, unstated).passed
    assert judge_one(forbid(Forbidden.STACK_REMOVED), unstated, unstated).passed


def test_replaced_binaries() -> None:
    """Hashes with another checksum on each side; one that a side does not state is unknown."""
    names = ("replaced", "same", "unknown", "new")
    base = [a_spec(name, name=name, checksum=f"sha256:{'a' * 64}") for name in names[:3]]
    head = [
        replace(base[0], checksum=f"sha256:{'b' * 64}"),
        base[1],
        replace(base[2], checksum=None),
        a_spec("new", name="new", checksum=f"sha256:{'b' * 64}"),
    ]
    rule = forbid(Forbidden.BINARY_REPLACED)
    result = judge_one(rule, base, head)
    assert (result.passed, result.message) == (False, "1 binary replaced")
    (breach,) = result.breaches
    assert breach.package == "replaced"
    assert [*breach.hashes()] == [hash_of("replaced")]
    assert f"sha256:{'a' * 64} → sha256:{'b' * 64}" in breach.message
    assert judge_one(rule, base, head, RuleScope(package=("same",))).passed
    assert judge_one(rule, head, head).passed


LINKED = Dependency("zlib", hash_of("z"), ("build", "link"))
TOOL = Dependency("cmake", hash_of("cmake"), ("build",))


def test_holes() -> None:
    """Missing dependencies of installable specs; base may have any, or be absent."""
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
    assert not judge_one(rule, None, [hdf5, lua], RuleScope(stack="e4s")).passed
    assert judge_one(rule, None, [hdf5, lua], RuleScope(stack="hep")).passed
    assert judge_one(rule, None, [hdf5, lua], RuleScope(except_=("hdf5",))).passed


def test_cover() -> None:
    """Specs of the lock file that are missing are the breaches."""
    requested = tuple(
        ConcreteSpec(hash=spec.hash, name=spec.name, version=spec.version) for spec in TEN
    )

    def cover(at_least: int | str) -> Rule:
        return Cover(name="a rule", cover="spack.lock", specs=requested, at_least=at_least)

    head = TEN[1:]
    assert judge_one(cover("90 %"), None, head).passed
    assert judge_one(cover(9), None, head).passed
    result = judge_one(cover("90.01 %"), None, head)
    assert not result.passed
    assert result.message == "9 of 10 specs of spack.lock found (90.00 %), at least 90.01 %"
    (breach,) = result.breaches
    assert (breach.hashes(), breach.package) == ([TEN[0].hash], "hdf5")
    assert judge_one(cover("100 %"), None, head, RuleScope(package=("zlib",))).passed
    assert judge_one(cover("100 %"), None, head, RuleScope(except_=("hdf5",))).passed


@pytest.mark.parametrize(
    "rule",
    [
        forbid(Forbidden.SPEC_REMOVED),
        require("hdf5", (CoverageDimension.TARGET,)),
        limit("specs-added", 1),
    ],
)
def test_rules_that_need_a_base(rule: Rule) -> None:
    """One revision alone is judged by the other rules."""
    with pytest.raises(RuleUnusable, match=r"rule 'a rule', \w+: needs a base"):
        judge_one(rule, None, TEN)
    assert judge_one(require("hdf5"), None, TEN).message == "8 specs found"
    assert judge_one(require("hdf5+cuda"), None, TEN).message == "no hdf5+cuda found"
    result = judge_one(require("zlib"), TEN, TEN[:8])
    assert result.message == "no zlib found, where base has 2 specs"
    assert {*result.breaches[0].hashes()} == {spec.hash for spec in TEN[8:]}


def test_unknown_stack() -> None:
    """A misspelled stack must not let every rule pass."""
    with pytest.raises(RuleUnusable, match="stack: neither revision has 'e4z'; nearest: e4s"):
        judge_one(forbid(Forbidden.SPEC_REMOVED), TEN, TEN, RuleScope(stack="e4z"))
    with pytest.raises(RuleUnusable, match="the revision does not have 'e4z'"):
        judge_one(require("hdf5"), None, TEN, RuleScope(stack="e4z"))


@pytest.mark.parametrize(
    ("only", "rule", "key"),
    [
        (RuleScope(matching="^zlib"), forbid(Forbidden.SPEC_REMOVED), "matching"),
        (RuleScope(), require("hdf5 ^zlib"), "require"),
    ],
)
def test_unanswerable_query(only: RuleScope, rule: Rule, key: str) -> None:
    """The error names rule and key; an error of the catalog is not changed."""
    with pytest.raises(RuleUnusable, match=f"rule 'a rule', {key}: the revision"):
        judge_one(rule, TEN, TEN, only)

    def down() -> Collection[str]:
        raise CatalogError("catalog", "is down")

    with pytest.raises(CatalogError):
        judge([require("zlip")], replace(rule_context(None, TEN), elsewhere=down))


def test_warnings_do_not_fail() -> None:
    """A broken warning is listed, and the verdict passes."""
    rules = [
        replace(forbid(Forbidden.SPEC_REMOVED), name=level.value, level=level)
        for level in RuleLevel
    ]
    verdict = judge(rules, rule_context(TEN, TEN[1:]))
    assert [result.passed for result in verdict.results] == [False, False]
    assert not verdict.passed
    verdict = judge(rules[1:], rule_context(TEN, TEN[1:]))
    assert verdict.passed
    assert [result.rule.name for result in verdict.broken(RuleLevel.WARNING)] == ["warning"]


@pytest.mark.parametrize(
    ("change", "after", "message", "removed"),
    [
        (Forbidden.PACKAGE_REMOVED, ["1.13"], "zlib was removed: base has 1 spec of 1.3", ["z"]),
        (Forbidden.PACKAGE_DOWNGRADED, ["1.12"], "hdf5 fell from 1.14 to 1.12", ["h"]),
        (Forbidden.VERSION_REMOVED, ["1.13"], "hdf5 1.14 was removed: base has 1 spec", ["h"]),
        (Forbidden.STACK_REMOVED, ["1.13"], "the stack hep was removed: base has 1 spec", ["z"]),
    ],
)
def test_messages_of_breaches(
    change: Forbidden, after: list[str], message: str, removed: list[str]
) -> None:
    """A breach names the removed item, and has its specs of base."""
    base = [
        a_spec("h", version="1.14"),
        a_spec("older", version="1.12"),
        a_spec("z", name="zlib", version="1.3", stacks=("hep",)),
    ]
    head = [a_spec(version, version=version) for version in after]
    breaches = {breach.message: breach for breach in judge_one(forbid(change), base, head).breaches}
    assert breaches[message].hashes() == [hash_of(label) for label in removed]
