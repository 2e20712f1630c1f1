"""Cache pages and the indexes that they are made of say the same."""

import json
from pathlib import Path

import msgspec
import pytest

from snapshots.changes.diff import Comparison
from snapshots.contents import Content, Snapshot
from snapshots.demo import history, write_pages
from snapshots.frames.frame import Frame
from snapshots.models import SPEC_FACTS, Spec
from snapshots.sources.buildcache.database import decode
from snapshots.sources.pages.cache_page import parse_page
from snapshots.sources.reports import Report
from snapshots.sources.settings import ReadSettings
from snapshots.spack.notation import canonical_variants
from tests.snapshots.factories import a_snapshot, a_spec
from tests.snapshots.sources.buildcache.folders import text
from tests.snapshots.sources.buildcache.indexes import GCC, LIBELF, database, edge, node
from tests.snapshots.sources.buildcache.rewriting import write_list
from tests.snapshots.sources.readings import read_cache, read_pages

OF_INDEXES_ALONE = [name for name, fact in SPEC_FACTS.items() if fact.may_be_unknown]


def from_pages(snapshot: Snapshot, folder: Path) -> Content:
    """Write a snapshot as cache pages; return what is read of them."""
    write_pages(snapshot, folder)
    report = Report()
    (read,) = read_pages([folder], report=report)
    assert report.warnings == []
    return read.content


def from_indexes(snapshot: Snapshot, folder: Path, version: str) -> Content:
    """Write a snapshot as indexes, one a stack; return what is read of them."""
    listed = write_list(folder, snapshot.tag, snapshot.content.specs(), version)
    report = Report()
    settings = ReadSettings(proof=False)
    (read,) = read_cache(str(listed), settings=settings, report=report)
    assert report.warnings == []
    return read.content


def frame(content: Content) -> Frame:
    """Return the columns of a content."""
    return Frame(content.table(), content.digest)


def changes(base: Content, head: Content) -> tuple[list[object], ...]:
    """Return all that changed, but not where it stands in the two contents."""
    comparison = Comparison(frame(base), frame(head))
    specs = [(change.kind, change.hash, change.name) for change in comparison.specs]
    return list(specs), list(comparison.packages), list(comparison.stacks)


def known_to_pages(spec: Spec) -> Spec:
    """Return a spec without the facts that pages do not have."""
    return msgspec.structs.replace(spec, **dict.fromkeys(OF_INDEXES_ALONE))


@pytest.mark.parametrize("version", ["7", "8"])
def test_pages_and_indexes_say_the_same(tmp_path: Path, version: str) -> None:
    """A comparison finds no difference between the two, and the same between two revisions."""
    before, after = history(revisions=2, packages=60, specs=400)
    old_pages, new_pages = from_pages(before, tmp_path / "1"), from_pages(after, tmp_path / "2")
    old_index = from_indexes(before, tmp_path / "3", version)
    new_index = from_indexes(after, tmp_path / "4", version)
    assert len(old_pages) == len(old_index) == 400
    assert changes(old_pages, old_index) == changes(new_index, new_pages) == ([], [], [])
    assert list(map(known_to_pages, old_index.specs())) == list(old_pages.specs())
    happened = changes(old_pages, new_pages)
    assert all(happened)
    assert changes(old_pages, new_index) == happened
    assert changes(old_index, new_pages) == happened


@pytest.mark.parametrize("version", ["7", "8"])
def test_every_spelling(tmp_path: Path, version: str) -> None:
    """What the demo does not have is spelled alike too: patches, flags, values with a plus."""
    variants = (
        "+tensile",
        "~ipo",
        "build_system=cmake",
        "amdgpu_target=gfx908,gfx90a",
        "languages=c,c++,fortran",
        "patches=26090f4,b231fcc",
        'cflags="-O2 -g"',
        "fflags=-g",
    )
    snapshot = a_snapshot([a_spec(variants=variants), a_spec("b", compiler=None, stacks=("root",))])
    of_pages = from_pages(snapshot, tmp_path / "pages")
    of_indexes = from_indexes(snapshot, tmp_path / "indexes", version)
    assert changes(of_pages, of_indexes) == ([], [], [])
    spec = next(spec for spec in of_indexes.specs() if spec.hash == a_spec().hash)
    assert spec.variants == canonical_variants(variants)
    assert spec.stacks == a_spec().stacks


def test_the_newest_spelling_of_pages() -> None:
    """A page as Spack itself spells it, quotes and all, gives the spec of the index."""
    parameters = {
        "build_system": "cmake",
        "ipo": False,
        "tensile": True,
        "amdgpu_target": ["gfx90a", "gfx908"],
        "languages": ["c", "c++", "fortran"],
        "patches": [f"b231fcc{'0' * 57}", f"26090f4{'0' * 57}"],
    }
    detail = {
        "hash": LIBELF,
        "compiler": "gcc@=10.2.1",
        "versions": ["0.8.13"],
        "os": "debian6",
        "platform": "test",
        "target": "m1",
        "variants": [
            "amdgpu_target:=gfx908,gfx90a",
            "build_system=cmake",
            "~ipo",
            "languages:='c,c++,fortran'",
            "patches:=26090f4,b231fcc",
            "+tensile",
        ],
        "stacks": [],
        "size": "-",
    }
    page = f'---\ntitle: "libelf"\nspec_details: {json.dumps([detail])}\n---\n'
    edges = [edge("gcc", GCC, ["build"], ["c", "cxx"])]
    built = node("libelf", LIBELF, "0.8.13", parameters=parameters, dependencies=edges)
    index = text(database(node("gcc", GCC, "10.2.1"), built))
    (stated,) = parse_page(page.encode(), "specs.md", Report()).specs
    decoded = decode(index, "index.json", Report(), proof=False)
    assert [known_to_pages(spec) for spec in decoded.in_cache.values()] == [stated]
