"""``cost``: how well the units that a query is said to cost agree with the time that it takes.

Each contender is a query; measured is how many microseconds one of its units takes. The ratios are
the spread of the prices: far above 1 a query is too cheap, far below 1 too dear. Prices are meant
for the largest revisions, so that many are too dear for most; too cheap by more than the target
nothing may be.
"""

from collections.abc import Callable, Iterator
from functools import partial
from time import thread_time
from typing import NamedTuple

import orjson

from schema.api import API
from schema.context import Context
from schema.limits import Limits
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.history_answers import HistoryAnswers
from snapshots.catalog.library import Library
from tests.benchmarks.cost_queries import IN_REVISION, OF_CATALOG, OF_COMPARISON
from tests.benchmarks.measurements import Measurement, Target, measure, set_aside
from tests.benchmarks.plans import Plan

TARGET = Target(3.0)
"""How many times too cheap a query may be."""


def run(plan: Plan) -> Iterator[Measurement]:
    """Measure what a unit of each query takes, with all that it needs in memory."""
    catalog = plan.data.opened()
    library, api = Library(catalog), API(Limits(max_cost=10**9, max_answer_bytes=10**10))
    request = ReadRequest(catalog, library, HistoryAnswers(catalog, library))
    base, head = plan.data.digests()
    queries = {name: f"{{ revision {{ {text} }} }}" for name, text in IN_REVISION.items()}
    for name, text in OF_COMPARISON.items():
        queries[name] = f'{{ compare(base: "{base}", head: "{head}") {{ {text} }} }}'
    queries |= OF_CATALOG
    turns = {
        name: partial(_microseconds_a_unit, api, request, text) for name, text in queries.items()
    }
    targets = dict.fromkeys(queries, TARGET)
    set_aside()
    yield from measure(
        "cost",
        "microseconds a unit",
        turns,
        unit="us",
        rounds=plan.rounds,
        targets=targets,
    )


class ReadRequest(NamedTuple):
    """What is request, with all that is kept of it."""

    catalog: Catalog
    library: Library
    answers: HistoryAnswers


def _microseconds_a_unit(api: API, request: ReadRequest, text: str) -> float:
    told = api.cost(text, None, None)
    event = request.catalog.history.revisions[0] if text.startswith("subscription") else None
    assert told.units, f"{text} is refused: {api.document(text).errors}"

    def ask() -> None:
        context = Context(request.catalog, request.library, answers=request.answers)
        answer = api.execute(text, context=context, event=event)
        orjson.dumps(answer.body())

    taken = min(_seconds_of_work(ask) for _ in range(3))
    return taken * 1_000_000 / (told.units - told.cached_units)


def _seconds_of_work(function: Callable[[], object]) -> float:
    """Return how long this thread computes in one call, whatever else the machine does."""
    started = thread_time()
    function()
    return thread_time() - started
