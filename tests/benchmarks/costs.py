"""``cost``: how well the units that a query is said to cost agree with the time that it takes.

Each contender is a query; measured is how many microseconds one of its units takes. The ratios are
the spread of the prices: far above 1 a query is too cheap, far below 1 too dear. Prices are meant
for the largest revisions, so that many are too dear for most; too cheap by more than the target
nothing may be.
"""

from collections.abc import Callable, Iterator
from functools import partial
from time import thread_time

import orjson

from schema.api import API
from schema.context import Context
from schema.limits import Limits
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.library import Library
from tests.benchmarks.measuring import Measurement, Target, measure
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
    "cachelog: cursors": "specs(first: 1000) { edges { cursor } pageInfo { endCursor } }",
    "cachelog: ids": "specs(first: 1000) { nodes { id tarball packageHash } }",
    "cachelog: a facet of a filter": 'specs(first: 0, filter: {hashPrefix: "a"}) '
    "{ facets { versions { value } } }",
    "cachelog: many values in a filter": "specs(first: 0, filter: {packages: [%s]}) { totalCount }"
    % " ".join(f'"p{number}"' for number in range(400)),
    "cachelog: specs of a stack": 'stack(name: "e4s") { specs(first: 0) { totalCount } }',
    "cachelog: packages that are searched": 'packages(filter: {search: "a"}, first: 0) '
    "{ totalCount }",
    "cachelog: packages of a compiler": 'packages(filter: {compilers: ["gcc"]}, first: 0) '
    "{ totalCount }",
    "cachelog: sums of packages": "packages(first: 1000) { nodes { numSpecs totalSize } }",
    "cachelog: values of packages": "packages(first: 1000) "
    "{ nodes { compilers targets platforms } }",
    "cachelog: ordered pages within pages": "packages(first: 200) { nodes { "
    "specs(first: 5, orderBy: {field: SIZE}) { nodes { hash } } } }",
    "cachelog: queries within pages": "packages(first: 500) { nodes { "
    'specs(first: 0, matching: "%gcc") { totalCount } } }',
    "cachelog: edges of dependencies": "specs(first: 200) { nodes { dependencies { "
    "edges { types virtuals node { name hash spec { version } } } } } }",
}
_OF_COMPARISON = {
    "cachelog: changed packages": "packages(first: 1000) { nodes { name kind } }",
    "cachelog: few changed packages": "packages(first: 5) { totalCount }",
    "cachelog: changed packages, both sides": "packages(first: 1000) "
    "{ nodes { before { versions } after { versions } versionsAdded } }",
    "cachelog: searched packages": 'packages(search: "a", first: 0) { totalCount }',
    "cachelog: changed specs": "specs(first: 1000) { nodes { hash kind fields { path } } }",
    "cachelog: changed specs, both sides": "specs(first: 1000) "
    "{ nodes { before { short } after { short } } }",
    "cachelog: filtered specs": 'specs(filter: {compilers: ["gcc"]}, kinds: [ADDED]) '
    "{ totalCount }",
    "cachelog: changed stacks": "stacks { name packagesAdded packagesRemoved }",
    "cachelog: a summary": "summary { specsAdded packagesAdded }",
    "cachelog: release notes": "releaseNotes",
    "cachelog: release notes as JSON": "releaseNotes(format: JSON)",
}
_OF_CATALOG = {
    "cachelog: tags": "{ tags { name series latest { numSpecs } } }",
    "cachelog: introspection": "{ __schema { types { name fields { name type { name } } } } }",
    "cachelog: ids of nothing": "{ nodes(ids: [%s]) { id } }"
    % " ".join(f'"U3BlYzox{number:04}"' for number in range(400)),
    "cachelog: unknown refs": "{ %s }"
    % " ".join(f'a{n}: revision(ref: "develop-{n}x") {{ tag }}' for n in range(40)),
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
    queries |= _OF_CATALOG
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
    assert told.units, f"{text} is refused: {api.document(text).errors}"

    def ask() -> None:
        answer = api.execute(text, context=Context(catalog, library))
        orjson.dumps(answer.body())

    taken = min(_seconds_of_work(ask) for _ in range(3))
    return taken * 1_000_000 / (told.units - told.kept_units)


def _seconds_of_work(function: Callable[[], object]) -> float:
    """Return how long this thread computes in one call, whatever else the machine does."""
    started = thread_time()
    function()
    return thread_time() - started
