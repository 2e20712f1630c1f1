"""What ``years`` asks a server: the same of a catalog of many revisions as of one of the last few.

Documents and pages are about the newest contents, and about hashes and packages of theirs.
"""

from pathlib import Path
from urllib.parse import quote

from snapshots.catalog.catalog import Catalog
from snapshots.demo.draws import Draw
from tests.benchmarks.sessions import Question

_DRAWN = 12
_AWAY = 8

_LIST = '{revision(ref:"develop"){specs(first:1000){totalCount nodes{hash name version}}}}'
_COMPARE = (
    '{compare(base:"develop~NUMBER",head:"develop"){'
    "summary{specsAdded specsRemoved packagesUpgraded specsRebuilt coverageLost}"
    "specs(first:10){nodes{kind reason hash name}} causes(first:5){nodes{kind}}}}"
)
_HASH = '{hash(hash:"HASH"){spans{reasonCame first{tag takenAt} goneIn{tag}}}}'
_PACKAGE = (
    '{series(name:"develop"){package(name:"NAME"){firstSeen{takenAt} lastSeen{takenAt} '
    "entries(first:10){totalCount nodes{kind specsAdded reasons{reason count} "
    "revision{takenAt}}}}}}"
)
_SERIES = (
    '{series(name:"develop"){latest{numSpecs} '
    "revisions(first:10){totalCount nodes{tag takenAt confirmedAt numSpecs}}}}"
)
_REVISIONS = "{revisions(first:10){nodes{tag takenAt digest numSpecs}} tags{name latest{takenAt}}}"

LONGER = {
    "a package's history",
    "a package's feed",
    "all points of the growth",
    "page of a series",
    "a series' feed",
}
"""What says more where there are more revisions than ten, and so takes longer."""


def questions(folder: Path) -> list[Question]:
    """Return what to ask a catalog."""
    catalog = Catalog(str(folder))
    newest = catalog.require_history().of_tag("develop")[0]
    frame, draw = catalog.load(newest.digest), Draw(1)
    rows = [int(draw.random() * len(frame)) for _ in range(_DRAWN)]
    hashes = [frame.hashes.at(row) for row in rows]
    names = [frame.package.at(row) for row in rows]
    return [
        Question("1,000 specs of the newest revision", [_LIST]),
        Question("what changed to its neighbour", [_COMPARE.replace("NUMBER", "1")]),
        Question(f"what changed to {_AWAY} before it", [_COMPARE.replace("NUMBER", str(_AWAY))]),
        Question("a hash's history", [_HASH.replace("HASH", it) for it in hashes]),
        Question("a package's history", [_PACKAGE.replace("NAME", it) for it in names]),
        Question("the newest of a series", [_SERIES]),
        Question("the newest of all revisions", [_REVISIONS]),
        Question("all points of the growth", ['{series(name:"develop"){growth{specsAdded}}}']),
        Question("page /", ["/"]),
        Question("page of a series", ["/series/develop"]),
        Question("page of what changed", ["/compare/develop~1...develop"]),
        Question("a series' feed", ["/feeds/develop.atom"]),
        Question("a package's feed", [f"/feeds/develop/{quote(it)}.atom" for it in names]),
        Question("/health/ready", ["/health/ready"]),
    ]
