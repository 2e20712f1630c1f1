"""Limits of a running request, and its data: each revision is loaded once, up to a limit."""

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from threading import Thread
from typing import Any

import orjson
import pytest

from schema.api import API
from schema.context import Context
from schema.execution import budget
from schema.execution.budget import (
    BRIEF_BYTES,
    BRIEF_SECONDS,
    Budget,
    BudgetExceeded,
    NotLoaded,
)
from schema.limits import Limits
from snapshots.catalog.library import Library
from tests.expensive import IS_QUICK
from tests.schema.worlds import World, opened, plain

api = API(row_bytes=0)
"""The API without cached rows, which would make the same request ever cheaper."""


class Clock:
    """A clock that advances by ``step`` seconds at each call."""

    def __init__(self, step: float = 0.0) -> None:
        self.now = 0.0
        self.step = step
        self.looks = 0

    def __call__(self) -> float:
        """Return the time."""
        self.looks += 1
        self.now += self.step
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Replace the clock of the budget."""
    clock = Clock()
    monkeypatch.setattr(budget, "monotonic", clock)
    return clock


def test_time_limit(clock: Clock) -> None:
    """A check passes up to the limit, then raises; waiting for others does not count."""
    request_budget = Budget(Limits(max_seconds=2))
    with request_budget.waiting():
        clock.now += 100
    clock.now += 2
    request_budget.check()
    clock.now += 0.1
    with pytest.raises(BudgetExceeded, match="longer than 2 seconds") as raised:
        request_budget.check()
    assert raised.value.code == "QUERY_TIMEOUT"


def test_brief_time_limit(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """It counts only the time of the own thread; then the request has to leave the event loop."""
    own = Clock()
    monkeypatch.setattr(budget, "thread_time", own)
    request_budget = Budget(Limits(), is_brief=True)
    clock.now += 10
    own.now += BRIEF_SECONDS / 2
    request_budget.check()
    request_budget.check()
    own.now += BRIEF_SECONDS
    clock.now += BRIEF_SECONDS
    with pytest.raises(NotLoaded):
        request_budget.check()


def test_brief_byte_limit() -> None:
    """A response that is too large for the event loop is made elsewhere, not refused."""
    request_budget = Budget(Limits(), is_brief=True)
    request_budget.spend(BRIEF_BYTES)
    with pytest.raises(NotLoaded):
        request_budget.spend(1)


def test_request_is_cancelled_by_another_thread() -> None:
    """It ends at its next check, also if it was waiting."""
    request_budget = Budget()
    with request_budget.waiting():
        thread = Thread(target=request_budget.cancel)
        thread.start()
        thread.join()
    with pytest.raises(BudgetExceeded) as raised:
        list(request_budget.each([1]))
    assert raised.value.code == "REQUEST_CANCELLED"


def test_byte_limit() -> None:
    """One byte more than allowed is refused."""
    request_budget = Budget(Limits(max_answer_bytes=10))
    request_budget.spend(4)
    request_budget.spend(6)
    with pytest.raises(BudgetExceeded, match="more than 10 bytes") as raised:
        request_budget.spend(1)
    assert raised.value.code == "ANSWER_TOO_LARGE"


def answered(world: World, text: str, request_budget: Budget) -> Any:
    """Answer a query within a budget."""
    context = world.context()
    context.budget = request_budget
    return plain(api.execute(text, context=context))


SPECS = "{ revision { specs { nodes { hash package { numSpecs } } } } }"
QUESTIONS = {
    "one value after the other": "{ revision { a: numSpecs b: numStacks c: digest d: tagName } }",
    "lists that are rendered": SPECS,
    "lists that are resolved": "{ revision { specs { nodes { dependents { totalCount } } } } }",
    "packages one by one": "{ revision { packages { nodes { targets } } } }",
    "dependencies of many": "{ revision { specs(first: 9) { nodes { "
    "dependencies(transitive: true) { totalCount } } } } }",
    "notes": '{ compare(base: "v0.22.0", head: "develop") { releaseNotes(format: HTML) } }',
    "pages within pages": "{ revision { packages { nodes { specs(filter: {targets: []}) "
    "{ totalCount } } } } }",
}


@pytest.mark.parametrize("text", QUESTIONS.values(), ids=QUESTIONS)
def test_time_is_checked_throughout(world: World, text: str, clock: Clock) -> None:
    """Whenever the time runs out, the response is a single error without data."""
    for _ in range(2):  # loading a revision reads the clock, too
        answered(world, text, Budget())
    clock.looks = 0
    assert "errors" not in answered(world, text, Budget())
    looks = clock.looks
    assert looks > (20 if "releaseNotes" in text else 3)
    clock.step = 1
    for seconds in range(1, looks - 1, 5 if IS_QUICK and looks > 50 else 1):
        response = answered(world, text, Budget(Limits(max_seconds=seconds - 0.5)))
        (error,) = response["errors"]
        assert error["extensions"] == {"code": "QUERY_TIMEOUT"}
        assert response["data"] is None


@pytest.mark.parametrize("text", QUESTIONS.values(), ids=QUESTIONS)
def test_counted_bytes_approximate_the_response(world: World, text: str) -> None:
    """One byte less than the count is refused."""
    request_budget = Budget()
    data = answered(world, text, request_budget)["data"]
    num_bytes = request_budget.num_bytes
    assert 0.5 < num_bytes / len(orjson.dumps(data)) < 1.5
    assert "errors" not in answered(world, text, Budget(Limits(max_answer_bytes=num_bytes)))
    response = answered(world, text, Budget(Limits(max_answer_bytes=num_bytes - 1)))
    assert response["errors"][0]["extensions"] == {"code": "ANSWER_TOO_LARGE"}


# -- loaded data


def without_cache(world: World, text: str, done: list[str] | None = None, **limits: int) -> Any:
    """Answer a query with a library that caches nothing; add the work that is ``done``."""

    def observe(work: str) -> AbstractContextManager[None]:
        if done is not None:
            done.append(work)
        return nullcontext()

    library = Library(world.catalog, frame_bytes=0, comparison_bytes=0, observe=observe)
    context = Context(world.catalog, library, budget=Budget(Limits(**limits)))
    return plain(api.execute(text, context=context))


LISTS = " ".join(f'a{number}: packages(search: "a") {{ totalCount }}' for number in range(9))


@pytest.mark.parametrize(
    ("text", "work"),
    [
        (f'{{ compare(base: "develop~1", head: "develop") {{ {LISTS} }} }}', "compare"),
        (
            "{ revision { packages { nodes { specs { totalCount } } } specs { totalCount } } }",
            "load",
        ),
    ],
)
def test_data_is_loaded_once_for_all_fields(world: World, text: str, work: str) -> None:
    """Also if it is too large to be cached for other requests."""
    done: list[str] = []
    assert "errors" not in without_cache(world, text, done)
    assert done.count(work) == 1


def numbers_of(digests: list[str]) -> str:
    """Return a query for the contents of some revisions."""
    fields = (
        f'r{number}: revision(ref: "{digest}") {{ specs(first: 0) {{ totalCount }} }}'
        for number, digest in enumerate(digests)
    )
    return f"{{ {' '.join(fields)} }}"


def test_number_of_revisions_is_limited(world: World) -> None:
    """In any order, with repetitions; one more than allowed ends the request."""
    digests = [revision.digest for revision in world.catalog.history.revisions]
    distinct = list(dict.fromkeys(digests))[:3]
    assert "errors" not in without_cache(world, numbers_of(distinct[:2]), max_revisions=2)
    response = without_cache(world, numbers_of(distinct), max_revisions=2)
    (error,) = response["errors"]
    assert error["extensions"]["code"] == "QUERY_TOO_LARGE"
    assert "more than 2 revisions" in error["message"]
    assert response["data"] is None
    assert "errors" not in world.ask(numbers_of(distinct[:2] * 20))


def test_repeated_loading_counts(world: World) -> None:
    """Without a cache, a request cannot alternate between revisions indefinitely."""
    revisions = world.catalog.history.revisions
    digests = list(dict.fromkeys(revision.digest for revision in revisions))[:3]
    response = without_cache(world, numbers_of(digests * 5), max_revisions=4)
    assert response["errors"][0]["extensions"]["code"] == "QUERY_TOO_LARGE"


COMPARED = '{ compare(base: "develop~1", head: "develop") { %s } }'
LATE = {
    "a frame": "{ revision { specs { totalCount } } }",
    "dependencies": "{ revision { specs { nodes { dependencies { totalCount } } } } }",
    "a comparison": COMPARED % "packages { nodes { name } }",
    "causes": COMPARED % "causes { totalCount }",
    "reasons": COMPARED % "specs { nodes { reason } }",
    "a summary": COMPARED % "summary { numSpecsRebuilt }",
}
LONG = {
    "a walk": '{ revision(ref: "v0.22.0") { specs(matching: "* ^zlib") { totalCount } } }',
    "coverage": COMPARED % "coverage(by: []) { totalCount }",
    "notes": COMPARED % "releaseNotes",
    "rules": COMPARED % 'check(rules: [{name: "a", forbid: "package-removed"}]) { hasPassed }',
}


@pytest.mark.parametrize("text", (LATE | LONG).values(), ids=LATE | LONG)
def test_event_loop_never_blocks(world: World, text: str) -> None:
    """Loading and long work are left to a thread."""
    fresh = opened(Path(world.catalog.location))

    def answered(**limits: Any) -> Any:
        context = Context(fresh.catalog, fresh.library, **limits)
        return plain(api.execute(text, context=context))

    with pytest.raises(NotLoaded):
        answered(may_load=False)
    expected = answered()
    assert "errors" not in expected
    if text in LATE.values():
        assert answered(may_load=False) == expected
    else:
        with pytest.raises(NotLoaded):
            answered(may_take_long=False)
