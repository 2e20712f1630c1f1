"""What a request may use while it runs: over it, the request ends at once, with a clear error."""

from collections.abc import Callable
from threading import Thread
from typing import Any

import orjson
import pytest

from schema.api import API
from schema.execution import budget
from schema.execution.budget import Budget, BudgetExceeded
from schema.limits import Limits
from schema.revisions.package import Package
from tests.schema.worlds import World, plain

api = API(row_bytes=0)
"""The API without kept rows, with which the same request would take less and less."""


class Clock:
    """A clock that stands still but for ``step`` seconds each time it is looked at."""

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
    """Put a clock in the place of the budget's own."""
    clock = Clock()
    monkeypatch.setattr(budget, "monotonic", clock)
    return clock


def test_time_runs_out(clock: Clock) -> None:
    """Up to the limit a check passes, then it raises; waiting for others does not count."""
    used = Budget(Limits(max_seconds=2))
    with used.waiting():
        clock.now += 100
    clock.now += 2
    used.check()
    clock.now += 0.1
    with pytest.raises(BudgetExceeded, match="longer than 2 seconds") as raised:
        used.check()
    assert raised.value.code == "QUERY_TIMEOUT"


def test_another_thread_cancels() -> None:
    """A request that nobody waits for ends at its next check, also where it waited meanwhile."""
    used = Budget()
    with used.waiting():
        thread = Thread(target=used.cancel)
        thread.start()
        thread.join()
    with pytest.raises(BudgetExceeded) as raised:
        list(used.each([1]))
    assert raised.value.code == "REQUEST_CANCELLED"


def test_bytes_run_out() -> None:
    """As many bytes as are allowed pass; one more does not."""
    used = Budget(Limits(max_answer_bytes=10))
    used.spend(4)
    used.spend(6)
    with pytest.raises(BudgetExceeded, match="more than 10 bytes") as raised:
        used.spend(1)
    assert raised.value.code == "ANSWER_TOO_LARGE"


def answered(world: World, text: str, used: Budget) -> Any:
    """Answer a question within a budget."""
    context = world.context()
    context.budget = used
    return plain(api.execute(text, context=context))


SPECS = "{ revision { specs { nodes { hash package { numSpecs } } } } }"
QUESTIONS = {
    "one value after the other": "{ revision { a: numSpecs b: numStacks c: digest d: tag } }",
    "lists that are rendered": SPECS,
    "lists that are resolved": "{ revision { specs { nodes { dependents { totalCount } } } } }",
    "packages one by one": "{ revision { packages { nodes { numSpecsByStack { stack } } } } }",
    "dependencies of many": "{ revision { specs(first: 9) { nodes { "
    "dependencies(transitive: true) { totalCount } } } } }",
    "pages within pages": "{ revision { packages { nodes { specs(filter: {targets: []}) "
    "{ totalCount } } } } }",
}


@pytest.mark.parametrize("text", QUESTIONS.values(), ids=QUESTIONS)
def test_time_is_looked_at_all_along(world: World, text: str, clock: Clock) -> None:
    """Wherever the time runs out on the way, the answer is the one error and no data."""
    for _ in range(2):  # to load a revision stops the clock, which looks at it, too
        answered(world, text, Budget())
    clock.looks = 0
    assert "errors" not in answered(world, text, Budget())
    looks = clock.looks
    assert looks > 3
    clock.step = 1
    for seconds in range(1, looks - 1):
        response = answered(world, text, Budget(Limits(max_seconds=seconds - 0.5)))
        (error,) = response["errors"]
        assert error["extensions"] == {"code": "QUERY_TIMEOUT"}
        assert response["data"] is None


@pytest.mark.parametrize("text", QUESTIONS.values(), ids=QUESTIONS)
def test_bytes_are_counted_about_right(world: World, text: str) -> None:
    """What is counted is about the length of the data; one byte fewer is refused."""
    used = Budget()
    data = answered(world, text, used)["data"]
    assert 0.5 < used.num_bytes / len(orjson.dumps(data)) < 1.5
    assert "errors" not in answered(world, text, Budget(Limits(max_answer_bytes=used.num_bytes)))
    response = answered(world, text, Budget(Limits(max_answer_bytes=used.num_bytes - 1)))
    assert response["errors"][0]["extensions"] == {"code": "ANSWER_TOO_LARGE"}


def test_a_field_ends_a_cancelled_request(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cancelled in the middle of a list, the rest of the list is not asked."""
    used, made = Budget(), []
    init: Callable[..., None] = Package.__init__

    def cancelling(self: Package, **facts: Any) -> None:
        made.append(facts)
        used.cancel()
        init(self, **facts)

    monkeypatch.setattr(Package, "__init__", cancelling)
    text = (
        '{ revision { packages(first: 9) { nodes { revision { package(name: "x") { name } } } } } }'
    )
    response = answered(world, text, used)
    assert response["errors"][0]["extensions"] == {"code": "REQUEST_CANCELLED"}
    assert len(made) == 1


def test_the_time_is_looked_at_while_notes_are_written(world: World, clock: Clock) -> None:
    """Between their parts: those of revisions far apart take long."""
    newest, *_, oldest = world.context().history.digests
    text = f'{{ compare(base: "{oldest}", head: "{newest}") {{ releaseNotes(format: HTML) }} }}'
    answered(world, text, Budget())  # to explain them stops the clock, which looks at it, too
    clock.looks = 0
    answered(world, text, Budget())
    looks = clock.looks
    assert looks > 20
    clock.step = 1
    response = answered(world, text, Budget(Limits(max_seconds=looks / 2)))
    assert response["errors"][0]["extensions"] == {"code": "QUERY_TIMEOUT"}
    assert response["data"] is None
