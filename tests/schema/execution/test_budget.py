"""Limits of a running request: beyond a limit, the request ends immediately with an error."""

from threading import Thread
from typing import Any

import orjson
import pytest

from schema.api import API
from schema.execution import budget
from schema.execution.budget import Budget, BudgetExceeded
from schema.limits import Limits
from tests.schema.worlds import World, plain

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
    "one value after the other": "{ revision { a: numSpecs b: numStacks c: digest d: tag } }",
    "lists that are rendered": SPECS,
    "lists that are resolved": "{ revision { specs { nodes { dependents { totalCount } } } } }",
    "packages one by one": "{ revision { packages { nodes { numSpecsByStack { stack } } } } }",
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
    for seconds in range(1, looks - 1):
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
