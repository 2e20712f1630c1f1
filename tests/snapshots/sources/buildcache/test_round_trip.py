"""Cache pages and the indexes that they are made of say the same."""

import json
from typing import Any

import pytest
from msgspec.structs import replace

from snapshots.models import SPEC_FACTS, Spec
from snapshots.sources.buildcache.database import decode
from snapshots.sources.pages.cache_page import parse_page
from snapshots.sources.reports import Report
from tests.snapshots.sources.buildcache.folders import text
from tests.snapshots.sources.buildcache.indexes import FLAGS, GCC, LIBELF, database, edge, node

OF_INDEXES_ALONE = {name: None for name, fact in SPEC_FACTS.items() if fact.may_be_unknown}

DETAIL = {
    "hash": LIBELF,
    "compiler": "gcc@=10.2.1",
    "versions": ["0.8.13"],
    "os": "debian6",
    "platform": "test",
    "target": "m1",
    "stacks": [],
    "size": "-",
}
VARIANTS: dict[str, dict[str, Any]] = {
    "amdgpu_target:=gfx908,gfx90a": {"amdgpu_target": ["gfx90a", "gfx908"]},
    "build_system=cmake": {"build_system": "cmake"},
    "~ipo": {"ipo": False},
    "languages:='c,c++,fortran'": {"languages": ["c", "c++", "fortran"]},
    "patches:=26090f4,b231fcc": {"patches": [f"b231fcc{'0' * 57}", f"26090f4{'0' * 57}"]},
    "+tensile": {"tensile": True},
    "cflags='-O2 -g'": {"cflags": ["-O2", "-g"]},
    "fflags=-g": {"fflags": ["-g"]},
}
"""Variants as Spack spells them on pages, and the parameters of a node in an index."""


def of_page(**facts: Any) -> Spec:
    """Return the one spec of a page with these facts."""
    page = f"---\ntitle: libelf\nspec_details: {json.dumps([DETAIL | facts])}\n---\n"
    (spec,) = parse_page(page.encode(), "specs.md", Report()).specs
    return spec


def of_index(version: str, **facts: Any) -> Spec:
    """Return the one spec of an index, with the facts that pages have."""
    spec = node("libelf", LIBELF, "0.8.13", **facts)
    index = text(database(node("gcc", GCC, "10.2.1"), spec, version=version))
    (decoded,) = decode(index, "index.json", Report(), proof=False).in_cache.values()
    return replace(decoded, **OF_INDEXES_ALONE)


@pytest.mark.parametrize(
    ("version", "compiler"),
    [
        ("7", {"compiler": {"name": "gcc", "version": "10.2.1"}}),
        ("8", {"dependencies": [edge("gcc", GCC, ["build"], ["c", "cxx"])]}),
    ],
)
def test_pages_and_indexes_say_the_same(version: str, compiler: dict[str, Any]) -> None:
    """A page as Spack spells it, quotes and all, gives the spec of the index."""
    parameters = {name: value for of_one in VARIANTS.values() for name, value in of_one.items()}
    spec = of_index(version, parameters=FLAGS | parameters, **compiler)
    assert of_page(variants=list(VARIANTS)) == spec
    without = of_index(version, parameters=FLAGS)
    assert of_page(variants=[], compiler="none") == without
