"""A catalog with several series, in which specs are added, removed and returned, and its model."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from schema.node import key_of, node_id
from snapshots.catalog.catalog import Catalog
from snapshots.changes.reasons import SpecChangeReason
from snapshots.contents import Content, Snapshot
from snapshots.models import Spec
from tests.model.histories import HistoryQueries
from tests.schema.worlds import SOURCE, State, World, counts, opened, shown
from tests.snapshots.factories import a_spec, day


class History(NamedTuple):
    """A catalog, and the model of its history."""

    world: World
    past: HistoryQueries


def published_history(folder: Path, lines: Sequence[tuple[str, int, Sequence[Spec]]]) -> History:
    """Publish specs under tags, each on a day and by its own import."""
    catalog = Catalog(str(folder))
    for tag, number, specs in lines:
        snapshot = Snapshot(tag=tag, content=Content.of(specs), source=SOURCE, taken_at=day(number))
        catalog.publish([snapshot])
    contents = {Content.of(specs).digest: Content.of(specs) for _, _, specs in lines}
    by_digest = {digest: list(content.specs()) for digest, content in contents.items()}
    world = opened(folder)
    revisions = world.catalog.history.revisions[::-1]
    states = [State(revision, tuple(by_digest[revision.digest])) for revision in revisions]
    past = HistoryQueries(world.catalog.history, by_digest)
    return History(World(world.catalog, world.library, tuple(states)), past)


_ZLIB = a_spec("z1", name="zlib", version="1.3", stacks=("root",))
_ZLIB_AGAIN = a_spec("z2", name="zlib", version="1.3", stacks=("root",))
_NEWER_ZLIB = a_spec("z3", name="zlib", version="1.3.1", stacks=("root",))
_HDF5 = a_spec("h1")
_CMAKE = a_spec("c1", name="cmake", version="3.30", stacks=("root",))

A = (_ZLIB, _HDF5)
B = (_ZLIB_AGAIN, _HDF5, _CMAKE)
C = (_NEWER_ZLIB, replace(_HDF5, stacks=("e4s", "hep", "root")))

LINES = (
    ("develop-2025-01-05", 0, A),
    ("develop-2025-01-12", 7, B),
    ("develop", 20, A),
    ("develop", 21, B),
    ("develop", 22, A),
    ("develop", 23, C),
    ("develop", 24, A),
    ("v0.22.0", 30, B),
    ("v0.22.1", 31, A),
    ("v0.22.0", 32, C),
    ("once", 40, B),
    ("nothing", 41, ()),
    ("emptied", 42, A),
    ("emptied", 43, ()),
    ("emptied", 44, A),
)
"""A, B, A in one series; an old release that is rebuilt; a single revision; no specs."""

HASHES = sorted({spec.hash for _, _, specs in LINES for spec in specs})

REVISION = "{ tagName digest }"
SPAN = (
    f"series {{ name }} first {REVISION} last {REVISION} "
    f"isCurrent reasonCame reasonGone goneIn {REVISION}"
)
HASH = f"id hash name version newest {REVISION} spec {{ hash version }} spans {{ {SPAN} }}"
ENTRY = (
    f"id revision {REVISION} comparison {{ base {REVISION} head {REVISION} }} kind versionsAdded "
    "versionsRemoved numSpecsAdded numSpecsRemoved numSpecsChanged reasons { reason numSpecs }"
)
PACKAGE = (
    f"id name series {{ name }} firstSeen {REVISION} lastSeen {REVISION} isCurrent "
    f"entries(first: 1000) {{ totalCount nodes {{ {ENTRY} }} edges {{ cursor node {{ kind }} }} }}"
)
POINT = (
    f"revision {REVISION} takenAt numSpecs "
    "numPackages totalSize numSpecsAdded numSpecsRemoved numSpecsChanged "
    "numSpecsRebuilt numSpecsReplaced numPackagesAdded numPackagesRemoved"
)
HISTORY_OF_HASH = f"query($hash: String!) {{ hash(hash: $hash) {{ {HASH} }} }}"
HISTORY_OF_PACKAGE = (
    "query($series: String!, $name: String!) { series(name: $series) "
    f"{{ package(name: $name) {{ {PACKAGE} }} }} }}"
)
GROWTH = (
    "query($series: String!, $since: DateTime, $until: DateTime, $last: Int) "
    "{ series(name: $series) { growth(since: $since, until: $until, last: $last) "
    f"{{ {POINT} }} }} }}"
)
HOLDING = (
    "query($hashes: [String!]!, $series: String) { "
    f"revisionsHolding(hashes: $hashes, series: $series) {{ totalCount nodes {REVISION} }} }}"
)
IN_SERIES = (
    "series { name } versions numSpecs numRevisions isCurrent firstSeen { digest tagName } "
    "lastSeen { digest tagName } goneIn { digest tagName }"
)
CATALOG_PACKAGE = f"id name isGone best {{ {IN_SERIES} }} inSeries {{ {IN_SERIES} }}"
SERIES = """{
  allSeries { id name latest { tagName } revisions { totalCount nodes { tagName } } }
  tags {
    series { name }
    latest { tag { series { name } } series { name } }
  }
}"""
ALL_PACKAGES = (
    "query($search: String, $gone: Boolean) "
    f"{{ packages(search: $search, gone: $gone) {{ nodes {{ {CATALOG_PACKAGE} }} }} }}"
)
ONE_PACKAGE = (
    "query($name: String!, $series: String) { mainSeries { name } package(name: $name) "
    f"{{ {CATALOG_PACKAGE} seriesPackage(series: $series) {{ name series {{ name }} }} }} }}"
)


def hash_json(past: HistoryQueries, text: str) -> dict[str, Any] | None:
    """Return the expected value of HASH."""
    history = past.hash_history(text)
    if history is None:
        return None
    spans = [
        shown(span, "first last is_current reason_came reason_gone gone_in")
        | {"series": {"name": span.series}}
        for span in history.spans
    ]
    own = {"id": node_id("HashHistory", text), "hash": text, "spans": spans}
    spec = {"hash": text, "version": history.version}
    return shown(history, "name version newest") | own | {"spec": spec}


def package_json(past: HistoryQueries, series: str, name: str) -> dict[str, Any] | None:
    """Return the expected value of PACKAGE, except cursors."""
    timeline = past.package_timeline(name, series)
    if timeline is None:
        return None
    nodes = [
        shown(entry, "kind versions_added versions_removed")
        | counts(entry, "specs_added specs_removed specs_changed")
        | {
            "id": node_id("PackageHistoryEntry", series, key_of(entry.head), name),
            "revision": shown(entry, "head")["head"],
            "comparison": entry.base and shown(entry, "base head"),
            "reasons": [
                {"reason": reason.name, "numSpecs": entry.reasons[reason]}
                for reason in SpecChangeReason
                if reason in entry.reasons
            ],
        }
        for entry in timeline.entries
    ]
    edges = [
        {"cursor": entry.head.ref, "node": {"kind": entry.kind.name}} for entry in timeline.entries
    ]
    return shown(timeline, "name first_seen last_seen") | {
        "id": node_id("SeriesPackage", series, name),
        "series": {"name": series},
        "isCurrent": timeline.last_seen == past.history.of_series(series)[0],
        "entries": {"totalCount": len(nodes), "nodes": nodes, "edges": edges},
    }


def growth_json(past: HistoryQueries, series: str) -> list[dict[str, Any]]:
    """Return the expected value of POINT for each revision of a series."""
    return [
        shown(step.head, "taken_at num_specs num_packages total_size")
        | counts(
            past.counts(step.pair),
            "specs_added specs_removed specs_changed packages_added packages_removed",
        )
        | {
            "revision": shown(step, "head")["head"],
            "numSpecsRebuilt": past.counts(step.pair).reasons.get(SpecChangeReason.REBUILT, 0),
            "numSpecsReplaced": past.counts(step.pair).reasons.get(SpecChangeReason.REPLACES, 0),
        }
        for step in past.history.neighbours(series)
    ]
