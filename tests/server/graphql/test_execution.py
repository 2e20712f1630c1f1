"""Where requests are executed: in the event loop what is short, in threads what is not."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import orjson
import pytest

from schema import api
from server.graphql.execution import Executed, Execution
from server.graphql.requests import GraphQLRequest
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.library import Library

SMALL = "{ revision { specs(first: 1) { nodes { hash } } } }"
LARGE = "{ revision { packages(first: 100) { nodes { specs(first: 100) { nodes { hash } } } } } }"


@pytest.fixture
def execution(demo_catalog: Path) -> Execution:
    """Return the execution over a catalog of which nothing is in memory."""
    catalog = Catalog(str(demo_catalog))
    catalog.refresh()
    return Execution(catalog, Library(catalog))


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Return, of each execution that ended, whether it was in the thread of the event loop."""
    found: list[bool] = []
    execute = api.execute

    def watched(*args: Any, **options: Any) -> api.Answer:
        answer = execute(*args, **options)
        found.append(threading.current_thread() is threading.main_thread())
        return answer

    monkeypatch.setattr(api, "execute", watched)
    return found


def executed(execution: Execution, *queries: str) -> list[Executed]:
    """Execute queries one after the other in an event loop of this thread."""

    async def run() -> list[Executed]:
        return [await execution.execute(GraphQLRequest(query, None, None)) for query in queries]

    return asyncio.run(run())


def test_what_has_to_be_loaded_is_executed_in_a_thread(
    execution: Execution, threads: list[bool]
) -> None:
    """From then on it is in memory, and the event loop answers at once."""
    first, second = executed(execution, SMALL, SMALL)
    assert threads == [False, True]
    assert first == second
    assert orjson.loads(first.body)["data"]["revision"]["specs"]["nodes"]


def test_what_asks_for_many_objects_is_executed_in_a_thread(
    execution: Execution, threads: list[bool]
) -> None:
    """Also where everything is in memory."""
    executed(execution, SMALL, LARGE, LARGE)
    assert threads == [False, False, False]


def test_no_more_than_four_are_executed_in_threads_at_once(
    execution: Execution, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others wait, so that threads do not take the time of each other."""
    lock, running, most = threading.Lock(), 0, 0
    execute = api.execute

    def counted(*args: Any, **options: Any) -> api.Answer:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        try:
            return execute(*args, **options)
        finally:
            with lock:
                running -= 1

    monkeypatch.setattr(api, "execute", counted)

    async def run() -> list[Executed]:
        request = GraphQLRequest(LARGE, None, None)
        return await asyncio.gather(*(execution.execute(request) for _ in range(12)))

    assert len(set(asyncio.run(run()))) == 1
    assert 1 <= most <= 4


@pytest.mark.parametrize(
    ("query", "started", "is_good", "is_permanent"),
    [
        (SMALL, True, True, False),
        ("{ revision", False, False, True),
        ("{ nope }", False, False, True),
        ('{ revision(ref: "nope") { tag } }', True, False, False),
        ("{ __typename }", True, True, True),
    ],
)
def test_what_is_told_of_an_answer(
    execution: Execution, query: str, started: bool, is_good: bool, is_permanent: bool
) -> None:
    """Whether it was executed at all, has no errors, and stays true for ever."""
    (found,) = executed(execution, query)
    assert (found.started, found.is_good, found.is_permanent) == (started, is_good, is_permanent)
    assert ("errors" in orjson.loads(found.body)) == (not is_good)
