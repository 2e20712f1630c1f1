"""``cost``: the time per unit of cost, for each kind of query.

Each contender is a query, measured in microseconds per unit. A unit is a value. The cheapest are
those of lists that are rendered as a whole, such as the reference; values that are resolved one by
one take up to some 30 times as long. No query may take longer than that.
"""

from collections.abc import Callable, Iterator
from functools import partial
from time import thread_time
from typing import Any, NamedTuple

import orjson

from schema.api import API
from schema.context import Context
from schema.limits import Limits
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.history_cache import HistoryCache
from snapshots.catalog.library import Library
from tests.benchmarks.cost_queries import DOCUMENTS, IN_REVISION, OF_CATALOG, OF_COMPARISON, RULES
from tests.benchmarks.measurements import Measurement, measure, set_aside
from tests.benchmarks.plans import Plan


def run(plan: Plan) -> Iterator[Measurement]:
    """Measure the time per unit of each query, with all its data in memory."""
    catalog = plan.data.opened()
    library, api = Library(catalog), API(Limits(max_cost=10**9, max_answer_bytes=10**10))
    sources = Sources(catalog, library, HistoryCache(catalog, library))
    base, head = plan.data.digests()
    queries = {name: f"{{ revision {{ {text} }} }}" for name, text in IN_REVISION.items()}
    for name, text in OF_COMPARISON.items():
        queries[name] = f'{{ compare(base: "{base}", head: "{head}") {{ {text} }} }}'
    queries |= {name: f"{{ {text} }}" for name, text in OF_CATALOG.items()} | DOCUMENTS
    check = f'compare(base: "{base}", head: "{head}") {{ check(rules: $rules) {{ hasPassed }} }}'
    queries |= dict.fromkeys(RULES, f"query($rules: [JSON!]!) {{ {check} }}")
    turns = {
        name if name.startswith("unit: ") else f"cachelog: {name}": partial(
            _microseconds_per_unit, api, sources, text, {"rules": RULES.get(name)}
        )
        for name, text in queries.items()
    }
    set_aside()
    yield from measure(
        "cost",
        "microseconds a unit",
        turns,
        unit="us",
        rounds=plan.rounds,
    )


class Sources(NamedTuple):
    """The catalog of the queries, and its caches."""

    catalog: Catalog
    library: Library
    answers: HistoryCache


def _microseconds_per_unit(
    api: API, sources: Sources, text: str, variables: dict[str, Any]
) -> float:
    cost = api.cost(text, None, variables)
    assert cost.units, f"{text} is refused: {api.documents.get(text).errors}"

    def execute() -> None:
        context = Context(sources.catalog, sources.library, answers=sources.answers)
        answer = api.execute(text, variables, context=context)
        orjson.dumps(answer.body())

    seconds = min(_seconds_of_work(execute) for _ in range(3))
    return seconds * 1_000_000 / (cost.units - cost.shared_units)


def _seconds_of_work(function: Callable[[], object]) -> float:
    """Return the processor time of this thread in one call."""
    started = thread_time()
    function()
    return thread_time() - started
