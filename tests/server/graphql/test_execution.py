"""Where requests are executed: in the event loop what is short, in threads what is not."""

import asyncio
import shutil
import threading
import time
from pathlib import Path
from typing import Any

import orjson
import pytest

from schema.api import API, OperationResult
from schema.context import Context
from schema.execution.budget import BudgetExceeded
from server.asgi.lanes import Lanes
from server.graphql.execution import Executed, Execution
from server.graphql.requests import GraphQLRequest
from server.settings import Settings
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.history_answers import HistoryAnswers
from snapshots.catalog.library import Library
from snapshots.catalog.specs_table import ContentReader
from snapshots.changes.diff import Comparison
from snapshots.changes.explanation import Explanation
from snapshots.errors import CatalogError
from snapshots.frames.frame import Frame

SMALL = "{ revision { specs(first: 1) { nodes { hash } } } }"
LARGE = (
    "{ revision { packages(first: 100) { nodes { specs(first: 100) { nodes { hash "
    "variants } } } } } }"
)


def execution_of(demo_catalog: Path, lanes: Lanes) -> Execution:
    """Return the execution over a catalog of which nothing is in memory."""
    catalog = Catalog(str(demo_catalog))
    catalog.refresh()
    return Execution(API(), catalog, Library(catalog), lanes)


@pytest.fixture
def execution(demo_catalog: Path, lanes: Lanes) -> Execution:
    """Return the execution over that catalog."""
    return execution_of(demo_catalog, lanes)


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Return, of each execution that ended, whether it was in the thread of the event loop."""
    found: list[bool] = []
    execute = API.execute

    def watched(*args: Any, **options: Any) -> OperationResult:
        answer = execute(*args, **options)
        found.append(threading.current_thread() is threading.main_thread())
        return answer

    monkeypatch.setattr(API, "execute", watched)
    return found


def executed(execution: Execution, *queries: str) -> list[Executed]:
    """Execute queries one after the other in an event loop of this thread."""

    async def run() -> list[Executed]:
        return [await execution.execute(GraphQLRequest(query, None, None)) for query in queries]

    return asyncio.run(run())


def test_what_has_to_be_loaded_is_loaded_in_a_thread(
    demo_catalog: Path, lanes: Lanes, threads: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No other: the request is executed without loading, and in the event loop from then on."""
    loading: list[str] = []
    load = ContentReader.frame

    def watched(reader: ContentReader, digest: str) -> Frame:
        loading.append(threading.current_thread().name)
        return load(reader, digest)

    monkeypatch.setattr(ContentReader, "frame", watched)
    first, second = executed(execution_of(demo_catalog, lanes), SMALL, SMALL)
    assert [name.rsplit("_", 1)[0] for name in loading] == ["cachelog-loading"]
    assert threads == [False, True]
    assert first == second
    assert orjson.loads(first.body)["data"]["revision"]["specs"]["nodes"]


def test_heavy_requests_have_theirs_loaded_there_too(
    demo_catalog: Path, lanes: Lanes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that the threads that execute never wait for a revision."""
    loading: list[str] = []
    load = ContentReader.frame

    def watched(reader: ContentReader, digest: str) -> Frame:
        loading.append(threading.current_thread().name)
        return load(reader, digest)

    monkeypatch.setattr(ContentReader, "frame", watched)
    executed(execution_of(demo_catalog, lanes), LARGE)
    assert [name.rsplit("_", 1)[0] for name in loading] == ["cachelog-loading"]


def test_explanations_hold_up_no_loading(
    demo_catalog: Path, lanes: Lanes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are found in a thread of their own, so that revisions are loaded beside them."""
    made, ends = list[str](), threading.Event()
    explain = Library._make_explanation

    def watched(library: Library, digests: tuple[str, str]) -> Explanation:
        made.append(threading.current_thread().name)
        assert ends.wait(20)
        return explain(library, digests)

    monkeypatch.setattr(Library, "_make_explanation", watched)
    execution = execution_of(demo_catalog, lanes)
    newest, *others = execution._catalog.history.digests

    async def run() -> list[Executed]:
        pairs = [f'compare(base: "{it}", head: "{newest}")' for it in others[:2]]
        queries = [f"{{ {pair} {{ causes {{ totalCount }} }} }}" for pair in pairs]
        asked = [execution.execute(GraphQLRequest(query, None, None)) for query in queries]
        explained = [asyncio.ensure_future(it) for it in asked]
        while not made:
            await asyncio.sleep(0.01)
        other = f'{{ revision(ref: "{others[-1]}") {{ specs(first: 1) {{ totalCount }} }} }}'
        found = await execution.execute(GraphQLRequest(other, None, None))
        assert not any(it.done() for it in explained)
        ends.set()
        return [found, *await asyncio.gather(*explained)]

    assert all(it.is_good for it in asyncio.run(run()))
    assert [name.rsplit("_", 1)[0] for name in made] == ["cachelog-explaining"] * 2


def test_an_explanation_that_many_ask_for_is_made_once_for_all(
    demo_catalog: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who asks while it is being made waits for it, instead of being refused after its turn."""
    made, ends = list[tuple[str, str]](), threading.Event()
    explain = Library._make_explanation

    def watched(library: Library, digests: tuple[str, str]) -> Explanation:
        made.append(digests)
        assert ends.wait(20)
        return explain(library, digests)

    monkeypatch.setattr(Library, "_make_explanation", watched)
    lanes = Lanes.of(Settings(queue_seconds=0.4))
    execution = execution_of(demo_catalog, lanes)
    base, head, *_ = execution._catalog.history.digests

    async def run() -> list[Executed]:
        pair = f'compare(base: "{base}", head: "{head}")'
        texts = [f"{{ {pair} {{ causes(first: {n}) {{ totalCount }} }} }}" for n in range(5)]
        asked = [execution.execute(GraphQLRequest(text, None, None)) for text in texts]
        waiting = [asyncio.ensure_future(it) for it in asked]
        while not made:
            await asyncio.sleep(0.01)
        await asyncio.sleep(1.5 * lanes.explaining.patience)
        ends.set()
        return await asyncio.gather(*waiting)

    assert all(it.is_good for it in asyncio.run(run()))
    assert made == [(base, head)]
    lanes.close()


def test_histories_are_answered_in_the_lane_that_they_take_the_time_of(
    demo_catalog: Path, lanes: Lanes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading is loading; making changes that are missing takes as long as explaining does."""
    made: list[str] = []
    make = HistoryAnswers._make

    def watched(answers: HistoryAnswers, *asked: Any) -> Any:
        made.append(threading.current_thread().name.rsplit("_", 1)[0])
        return make(answers, *asked)

    monkeypatch.setattr(HistoryAnswers, "_make", watched)
    text = '{ series(name: "develop") { growth { numSpecs } package(name: "zlib") { name } } }'
    first, second = executed(execution_of(demo_catalog, lanes), text, text)
    assert made == ["cachelog-loading"] * 2
    assert first == second
    assert first.is_good
    assert not first.is_permanent
    older = shutil.copytree(demo_catalog, tmp_path / "older")
    shutil.rmtree(older / "comparisons")
    made.clear()
    (found,) = executed(execution_of(older, lanes), text)
    assert found.body == first.body
    assert made == ["cachelog-explaining", "cachelog-loading"]


def test_a_question_whose_history_is_missing_fails_once(
    demo_catalog: Path, lanes: Lanes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is held up once, whatever lanes the request goes through; the next one gets further."""
    older = shutil.copytree(demo_catalog, tmp_path / "older")
    shutil.rmtree(older / "comparisons")
    kept: list[int] = []
    keep = Catalog.keep

    def counted(catalog: Catalog, changes: Any) -> None:
        kept.append(len(changes))
        keep(catalog, changes)

    monkeypatch.setattr(Catalog, "keep", counted)
    execution = execution_of(older, lanes)
    monkeypatch.setattr(execution.answers, "_fill_seconds", 0)
    light = '{ series(name: "develop-DATE") { growth { numSpecs } } }'
    heavy = (
        '{ series(name: "develop-DATE") { growth { revision { id } } package(name: "a") { id } } '
        f"{' '.join(f'a{n}: allSeries {{ revisions {{ totalCount }} }}' for n in range(40))} }}"
    )
    for text in (light, heavy):
        kept.clear()
        (found,) = executed(execution, text)
        assert not found.is_good
        codes = {error["extensions"]["code"] for error in orjson.loads(found.body)["errors"]}
        assert codes == {"HISTORY_INCOMPLETE"}
        assert kept == [1]


def test_what_no_cache_keeps_is_loaded_once(
    demo_catalog: Path, lanes: Lanes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was loaded for a request is there when it is executed, however small the caches are."""
    made: list[tuple[str, str]] = []
    make = Library._make_comparison

    def watched(library: Library, digests: tuple[str, str]) -> Comparison:
        made.append(digests)
        return make(library, digests)

    monkeypatch.setattr(Library, "_make_comparison", watched)
    catalog = Catalog(str(demo_catalog))
    catalog.refresh()
    library = Library(catalog, frame_bytes=0, comparison_bytes=0)
    execution = Execution(API(), catalog, library, lanes)
    newest, *_, oldest = catalog.history.digests
    pair = f'compare(base: "{oldest}", head: "{newest}")'
    for selected in ("summary { specsAdded }", "releaseNotes stacks { name }"):
        made.clear()
        (found,) = executed(execution, f"{{ {pair} {{ {selected} }} }}")
        assert found.is_good
        assert len(made) <= 4, "once here, and once for each that is made from it"


def test_what_takes_long_is_executed_in_a_thread(execution: Execution, threads: list[bool]) -> None:
    """Walking through the dependencies does, also where all of them are in memory."""
    walk = '{ revision { specs(matching: "^zlib") { totalCount } } }'
    executed(execution, walk, walk)
    assert threads == [False, False]


def test_a_revision_that_cannot_be_read_is_an_error_of_its_field(
    demo_catalog: Path, lanes: Lanes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Loading fails outside of the request's execution, but the answer is GraphQL's."""

    def damaged(_reader: ContentReader, digest: str) -> Frame:
        raise CatalogError(str(demo_catalog), f"{digest} is damaged")

    monkeypatch.setattr(ContentReader, "frame", damaged)
    (found,) = executed(execution_of(demo_catalog, lanes), SMALL)
    (error,) = orjson.loads(found.body)["errors"]
    assert error["extensions"]["code"] == "CATALOG_UNAVAILABLE"
    assert str(demo_catalog) not in error["message"]


def test_what_asks_for_many_objects_is_executed_in_a_thread(
    execution: Execution, threads: list[bool]
) -> None:
    """Also where everything is in memory."""
    executed(execution, SMALL, SMALL, LARGE, LARGE)
    assert threads == [False, True, False, False]


def test_few_heavy_ones_are_executed_at_once(
    execution: Execution, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others wait, so that threads do not take the time of each other."""
    lock, running, most = threading.Lock(), 0, 0
    execute = API.execute

    def counted(*args: Any, **options: Any) -> OperationResult:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        try:
            return execute(*args, **options)
        finally:
            with lock:
                running -= 1

    monkeypatch.setattr(API, "execute", counted)

    async def run() -> list[Executed]:
        request = GraphQLRequest(LARGE, None, None)
        return await asyncio.gather(*(execution.execute(request) for _ in range(12)))

    assert len(set(asyncio.run(run()))) == 1
    assert 1 <= most <= Settings().heavy_threads


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


def test_a_request_that_nobody_waits_for_ends(
    execution: Execution, lanes: Lanes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its budget is cancelled, so that its thread is free at once for others."""
    began, budgets = threading.Event(), []

    def endless(*_args: Any, context: Context, **_options: Any) -> OperationResult:
        budgets.append(context.budget)
        began.set()
        while True:
            context.budget.check()
            time.sleep(0.001)

    monkeypatch.setattr(API, "execute", endless)

    async def run() -> None:
        waiting = asyncio.ensure_future(execution.execute(GraphQLRequest(LARGE, None, None)))
        await asyncio.to_thread(began.wait, 10)
        assert lanes.heavy.num_running == 1
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        async with asyncio.timeout(10):
            while lanes.heavy.num_running:
                await asyncio.sleep(0.001)

    asyncio.run(run())
    (budget,) = budgets
    with pytest.raises(BudgetExceeded, match="was cancelled"):
        budget.check()
