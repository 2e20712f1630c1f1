"""Versions of the database and the notations that they have."""

import json
from typing import Any

import pytest

from snapshots.models import Spec
from snapshots.sources.buildcache.database import IndexSpecs, decode
from snapshots.sources.reports import Report
from tests.snapshots.sources.buildcache.indexes import (
    LIBELF,
    database,
    node,
    small_database,
)


def read(value: Any) -> dict[str, Spec]:
    """Return the specs of an index that is given as a JSON value."""
    return dict(decode(json.dumps(value).encode(), "index.json", Report(), proof=False).in_cache)


def joined(newer: Any, older: Any, report: Report | None = None) -> IndexSpecs:
    """Return what two indexes of one build cache say together."""
    texts = [json.dumps(it).encode() for it in (newer, older)]
    return decode(texts[0], "index.json", report or Report(), older=texts[1:], proof=False)


@pytest.mark.parametrize(
    ("newer", "older", "version"),
    [
        ({"version": "2"}, {"version": "1"}, "2"),
        ({"version": "2", "package_hash": None}, {"version": "1"}, "1"),
        ({"version": "2", "annotations": None}, {"version": "1"}, "1"),
        ({"version": "2", "provided_virtuals": ["elf"]}, {"version": "1"}, "2"),
        ({"version": "2"}, {"version": "1", "patches": ["b231fcc"]}, "1"),
    ],
)
def test_the_richer_record_wins(newer: dict[str, Any], older: dict[str, Any], version: str) -> None:
    """Of two records of a hash the one that tells more counts, and else the newer database's."""
    found = joined(
        database(node("libelf", LIBELF, **newer), version="9"),
        database(node("libelf", LIBELF, **older)),
    )
    assert found.in_cache[LIBELF].version == version


def test_what_one_of_two_databases_has_in_the_cache_is_there() -> None:
    """Also a record of the other one that tells more, and says that it is not."""
    newer = database(node("libelf", LIBELF), version="9")
    older = database(node("libelf", LIBELF, package_hash=None))
    for first, second in ((newer, older), (older, newer)):
        first["database"]["installs"][LIBELF]["in_buildcache"] = False
        second["database"]["installs"][LIBELF]["in_buildcache"] = True
        spec = joined(newer, older).in_cache[LIBELF]
        assert spec.package_hash is not None


def test_unknown_keys_are_ignored() -> None:
    """Keys that cachelog does not know change nothing."""
    value = small_database()
    value["more"] = value["database"]["more"] = {"deep": [1, {}]}
    for install in value["database"]["installs"].values():
        install["more"] = install["spec"]["more"] = install["spec"]["arch"]["more"] = None
    assert read(value) == read(small_database())
