"""``compare``, second part: what a client asks of a comparison, and what each part of it costs.

The reference is in every case the two differences of the hashes as sets of Python strings.
"""

from collections.abc import Callable, Iterator
from functools import partial

import orjson

from schema.context import Context
from snapshots.catalog.asking.library import Library
from snapshots.catalog.catalog import Catalog
from snapshots.changes.diff import Comparison, list_spec_changes
from snapshots.changes.package_changes import list_package_changes
from snapshots.changes.pairings import CommonNames, pair
from snapshots.changes.stack_changes import StackChanges, common_stacks
from snapshots.frames.frame import Frame
from snapshots.notes import rendering
from snapshots.notes.changelog import changelog
from tests.benchmarks.measuring import Measurement, Target, Turn, measure, milliseconds, set_aside
from tests.benchmarks.plans import Plan
from tests.schema.usual import api

_REFERENCE = "Python: difference of two sets of hashes"
_FIRST = "cachelog: the first compare over GraphQL"
"""With the summary, the first 50 specs, the first 50 packages and all stacks."""

_COMPARE = "query($base:String!,$head:String!){compare(base:$base,head:$head){%s}}"
_SUMMARY = (
    "summary{packagesAdded packagesRemoved packagesUpgraded packagesDowngraded "
    "packagesVersionsChanged packagesRebuilt packagesChanged packagesUnchanged specsAdded "
    "specsRemoved specsChanged specsUnchanged stacksAdded stacksRemoved totalSizeBefore "
    "totalSizeAfter totalSizeDelta}"
)
_SPECS = (
    "specs(%s){totalCount pageInfo{hasNextPage endCursor} nodes{kind hash name "
    "before{version compiler} after{version compiler} fields{path before after}}}"
)
_PACKAGES = (
    "packages(%s){totalCount pageInfo{hasNextPage endCursor} nodes{name kind versionsAdded "
    "versionsRemoved specsAdded specsRemoved specsChanged sizeDelta}}"
)
_STACKS = (
    "stacks{name kind numSpecsBefore numSpecsAfter specsAdded specsRemoved sizeDelta "
    "packagesAdded packagesRemoved}"
)
_WHOLE = _COMPARE % f"{_SUMMARY} {_SPECS % 'first:50'} {_PACKAGES % 'first:50'} {_STACKS}"
_PAGES = {
    "the same again": _WHOLE,
    "50 specs of two kinds": _COMPARE % (_SPECS % "first:50 kinds:[ADDED,CHANGED]"),
    "50 specs of a filter": _COMPARE
    % (_SPECS % 'first:50 filter:{compilers:["gcc"] stacks:["e4s"]}'),
    "50 specs from the middle on": _COMPARE.replace("){", ",$after:String){", 1)
    % (_SPECS % "first:50 after:$after"),
    "50 packages of a search": _COMPARE % (_PACKAGES % 'first:50 kinds:[REBUILT] search:"LIB"'),
    "1,000 specs": _COMPARE % (_SPECS % "first:1000"),
}


def run(plan: Plan) -> Iterator[Measurement]:
    """Measure on the two neighbours, and on two revisions that are further apart."""
    for catalog in (plan.data.opened(), _opened(plan)):
        newer, older = catalog.history.revisions
        question = _Question(catalog, older.digest, newer.digest)
        hashes = len(question.comparison.specs)
        yield from measure(
            "compare",
            f"two loaded revisions that differ in {hashes:,} hashes",
            question.contenders(),
            unit="ms",
            rounds=plan.rounds,
            targets={_FIRST: Target(1)},
        )


def _opened(plan: Plan) -> Catalog:
    catalog = Catalog(str(plan.data.distant))
    catalog.refresh()
    return catalog


class _Question:
    """Two revisions, compared in each way that is measured."""

    def __init__(self, catalog: Catalog, base: str, head: str) -> None:
        self._catalog = catalog
        self._base, self._head = base, head
        self._library = Library(catalog)
        self.comparison = self._library.comparisons.get((base, head))
        self._explanation = self._library.explain(base, head)
        middle = self.comparison.specs[len(self.comparison.specs) // 2]
        self._variables = {"base": base, "head": head, "after": middle.hash}
        self._ask(self._library, _WHOLE)  # documents are parsed and checked once for each text

    def contenders(self) -> dict[str, Turn]:
        """Return what is measured."""
        base, head = self.comparison.base, self.comparison.head
        pairing = pair(base, head)
        names = CommonNames(base.packages, head.packages)
        folds: dict[str, Callable[[], object]] = {
            "pair the hashes": partial(pair, base, head),
            "list the specs": partial(list_spec_changes, pairing, names),
            "fold to packages": partial(list_package_changes, pairing, names),
            "fold to stacks": lambda: StackChanges(pairing, common_stacks(pairing), names),
            "the whole comparison": partial(Comparison, base, head),
            "release notes in Markdown": self._notes,
        }
        pages = {name: partial(self._ask, self._library, query) for name, query in _PAGES.items()}
        return {
            _REFERENCE: self._sets,
            _FIRST: self._first,
            **{f"cachelog: {name}": partial(_timed, it) for name, it in (folds | pages).items()},
        }

    def _sets(self) -> float:
        base, head = (set(frame.hashes.texts) for frame in self._load())
        set_aside()
        return milliseconds(lambda: (head - base, base - head))

    def _first(self) -> float:
        library = Library(self._catalog)
        self._load(library)
        set_aside()
        return milliseconds(partial(self._ask, library, _WHOLE))

    def _load(self, library: Library | None = None) -> tuple[Frame, Frame]:
        frames = (library or Library(self._catalog)).frames
        return frames.get(self._base), frames.get(self._head)

    def _ask(self, library: Library, query: str) -> bytes:
        context = Context(self._catalog, library)
        answer = api.execute(query, self._variables, context=context)
        if answer.errors:
            raise SystemExit(f"{query}: {answer.errors}")
        return orjson.dumps(answer.body())

    def _notes(self) -> str:
        newer, older = self._catalog.history.revisions
        return rendering.markdown(changelog(older, newer, self._explanation))


def _timed(function: Callable[[], object]) -> float:
    set_aside()
    return milliseconds(function)
