"""``cost``: how well the units that a query is said to cost agree with the time that it takes.

Each contender is a query; measured is how many microseconds one of its units takes. The ratios are
the spread of the prices: far above 1 a query is too cheap, far below 1 too dear. Prices are meant
for the largest revisions, so that many are too dear for most; too cheap by more than the target
nothing may be.
"""

from collections.abc import Iterator
from functools import partial

import orjson

from schema.api import API
from schema.context import Context
from schema.limits import Limits
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.library import Library
from tests.benchmarks.measuring import Measurement, Target, measure, milliseconds
from tests.benchmarks.plans import Plan

_IN_REVISION = {
    "unit: a page of 1,000 specs": "specs(first: 1000) { nodes { hash name version compiler } }",
    "cachelog: one number": "numSpecs",
    "cachelog: 1,000 short forms": "specs(first: 1000) { nodes { short } }",
    "cachelog: lists of texts": "specs(first: 1000) { nodes { variants stacks } }",
    "cachelog: a filter": 'specs(filter: {compilers: ["gcc"]}) { totalCount }',
    "cachelog: an order": "specs(orderBy: {field: SIZE}) { nodes { hash } }",
    "cachelog: a query": 'specs(matching: "%gcc") { totalCount }',
    "cachelog: two queries of dependencies": 'specs(matching: "^acts ^adios2") { totalCount }',
    "cachelog: facets": "specs(first: 0) { facets { packages { value count } "
    "versions { value count } stacks { value count } } }",
    "cachelog: stacks": "stacks { name numSpecs numPackages totalSize }",
    "cachelog: packages of stacks": "stacks { packages(first: 0) { totalCount } }",
    "cachelog: 1,000 packages": "packages(first: 1000) { nodes { name versions stacks } }",
    "cachelog: counts by stack": "packages(first: 1000) { nodes { numSpecsByStack "
    "{ stack numSpecs } } }",
    "cachelog: pages within pages": "packages(first: 1000) { nodes { specs(first: 20) "
    "{ nodes { hash version } } } }",
    "cachelog: filters within pages": "packages(first: 1000) { nodes { "
    'specs(first: 0, filter: {stacks: ["e4s"]}) { totalCount } } }',
    "cachelog: facets within pages": "packages(first: 200) { nodes { specs(first: 0) "
    "{ facets { stacks { value count } } } } }",
    "cachelog: dependencies": "specs(first: 200) { nodes { dependencies { nodes { name } } } }",
    "cachelog: walks": "specs(first: 100) { nodes { dependents(transitive: true) "
    "{ totalCount } } }",
    "cachelog: objects one by one": "packages(first: 1000) { nodes { revision { numSpecs } } }",
}
_OF_COMPARISON = {
    "cachelog: changed packages": "packages(first: 1000) { nodes { name kind } }",
    "cachelog: changed specs": "specs(first: 1000) { nodes { hash kind fields { path } } }",
    "cachelog: release notes": "releaseNotes",
}

TARGET = Target(3.0)
"""How many times too cheap a query may be."""


def run(plan: Plan) -> Iterator[Measurement]:
    """Measure what a unit of each query takes, with all that it needs in memory."""
    catalog = plan.data.opened()
    library, api = Library(catalog), API(Limits(max_cost=10**9, max_answer_bytes=10**10))
    base, head = plan.data.digests()
    queries = {name: f"{{ revision {{ {text} }} }}" for name, text in _IN_REVISION.items()}
    for name, text in _OF_COMPARISON.items():
        queries[name] = f'{{ compare(base: "{base}", head: "{head}") {{ {text} }} }}'
    turns = {
        name: partial(_microseconds_a_unit, api, catalog, library, text)
        for name, text in queries.items()
    }
    targets = dict.fromkeys(queries, TARGET)
    yield from measure(
        "cost",
        "microseconds a unit",
        turns,
        unit="us",
        rounds=plan.rounds,
        targets=targets,
    )


def _microseconds_a_unit(api: API, catalog: Catalog, library: Library, text: str) -> float:
    told = api.cost(text, None, None)

    def ask() -> None:
        answer = api.execute(text, context=Context(catalog, library))
        orjson.dumps(answer.body())

    taken = min(milliseconds(ask) for _ in range(3))
    return taken * 1_000 / (told.units - told.kept_units)
