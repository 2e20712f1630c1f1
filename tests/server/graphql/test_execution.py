"""Execution of requests: short ones in the event loop, long ones in threads."""

import asyncio
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

import orjson
import pytest

import snapshots.catalog.library
from schema.api import API
from schema.execution import budget
from server.asgi.lanes import Lanes
from server.graphql.execution import Executed, Execution
from server.graphql.requests import GraphQLRequest
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.library import Library
from snapshots.catalog.specs_table import ContentReader

pytestmark = pytest.mark.anyio

SMALL = "{ revision { specs(first: 1) { nodes { hash } } } }"
LARGE = (
    "{ revision { packages(first: 100) { nodes { specs(first: 100) { nodes { hash "
    "variants } } } } } }"
)
WALK = '{ revision { specs(matching: "^zlib") { totalCount } } }'


def catalog_of(folder: Path) -> Catalog:
    """Return a catalog, refreshed."""
    catalog = Catalog(str(folder))
    catalog.refresh()
    return catalog


def execution_of(folder: Path, lanes: Lanes) -> Execution:
    """Return the execution over a catalog of which nothing is in memory yet."""
    catalog = catalog_of(folder)
    return Execution(API(), catalog, Library(catalog), lanes)


@pytest.fixture
def execution(demo_catalog: Path, lanes: Lanes) -> Execution:
    """Return the execution over the demo catalog."""
    return execution_of(demo_catalog, lanes)


class Calls:
    """The calls of a method: the name of the thread, without its number, and the arguments.

    As long as ``may_go_on`` is not set, each of them waits. ``in_loop`` is, for each that has
    returned, whether it ran in the thread of the event loop.
    """

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, owner: type | ModuleType, name: str
    ) -> None:
        self.threads: list[str] = []
        self.arguments: list[tuple[Any, ...]] = []
        self.in_loop: list[bool] = []
        self.may_go_on = threading.Event()
        self.may_go_on.set()
        method = getattr(owner, name)

        def watched(*arguments: Any, **options: Any) -> Any:
            self.threads.append(threading.current_thread().name.rsplit("_", 1)[0])
            self.arguments.append(arguments[1:])
            assert self.may_go_on.wait(20)
            result = method(*arguments, **options)
            self.in_loop.append(threading.current_thread() is threading.main_thread())
            return result

        monkeypatch.setattr(owner, name, watched)

    async def begin(self) -> None:
        """Wait for the first call."""
        async with asyncio.timeout(20):
            while not self.threads:
                await asyncio.sleep(0.01)


async def executed(execution: Execution, *queries: str) -> list[Executed]:
    """Execute queries one after the other."""
    return [await task for query in queries for task in begun(execution, query)]


def begun(execution: Execution, *queries: str) -> list["asyncio.Task[Executed]"]:
    """Begin to execute queries concurrently."""
    requests = [GraphQLRequest(query, None, None) for query in queries]
    return [
        asyncio.create_task(execution.execute(request, execution.weigh(request)[0]))
        for request in requests
    ]


def codes(executed: Executed) -> set[str]:
    """Return the codes of the errors of an answer."""
    return {error["extensions"]["code"] for error in orjson.loads(executed.body)["errors"]}


async def test_revisions_are_loaded_in_a_thread(
    execution: Execution, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The request is executed in the event loop once they are in memory."""
    executing = Calls(monkeypatch, API, "execute")
    loading = Calls(monkeypatch, ContentReader, "frame")
    first, second = await executed(execution, SMALL, SMALL)
    assert loading.threads == ["cachelog-loading"]
    assert executing.in_loop == [False, True]
    assert first == second
    assert orjson.loads(first.body)["data"]["revision"]["specs"]["nodes"]


async def test_request_that_takes_longer_than_expected_leaves_the_event_loop(
    execution: Execution, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is interrupted at a check of its budget, and executed in a thread."""
    await executed(execution, SMALL)
    executing = Calls(monkeypatch, API, "execute")
    monkeypatch.setattr(budget, "BRIEF_SECONDS", 0.0)
    (result,) = await executed(execution, SMALL)
    assert result.is_good
    assert executing.threads == [threading.main_thread().name, "cachelog-light"]


async def test_explanations_are_shared_and_do_not_delay_loading(
    demo_catalog: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In separate threads; requests that are tired of waiting can ask again for the result."""
    explaining = Calls(monkeypatch, snapshots.catalog.library, "explain")
    explaining.may_go_on.clear()
    lanes = Lanes.of_server(patience=0.1)
    execution = execution_of(demo_catalog, lanes)
    base, head, *_, oldest = catalog_of(demo_catalog).history.digests
    pair = f'compare(base: "{base}", head: "{head}")'
    texts = [f"{{ {pair} {{ causes(first: {n}) {{ totalCount }} }} }}" for n in range(5)]
    waiting = begun(execution, *texts)
    await explaining.begin()
    other = f'{{ revision(ref: "{oldest}") {{ specs(first: 1) {{ totalCount }} }} }}'
    (loaded,) = await executed(execution, other)
    assert loaded.is_good
    refusals = await asyncio.gather(*waiting, return_exceptions=True)
    assert {getattr(refusal, "code", None) for refusal in refusals} == {"EXPLAINING"}
    explaining.may_go_on.set()
    answers: list[Any] = refusals
    async with asyncio.timeout(20):
        while any(isinstance(answer, Exception) for answer in answers):
            answers = await asyncio.gather(*begun(execution, *texts), return_exceptions=True)
    assert all(answer.is_good for answer in answers)
    assert explaining.threads == ["cachelog-explaining"]
    lanes.close()


async def test_long_work_is_executed_in_a_thread(
    execution: Execution, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A walk, or many objects, even if everything is in memory."""
    executing = Calls(monkeypatch, API, "execute")
    await executed(execution, WALK, WALK, LARGE, LARGE, SMALL)
    assert executing.in_loop == [False] * 4 + [True]
