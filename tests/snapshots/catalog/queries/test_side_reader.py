"""The sides of a comparison: their specs, and the errors for texts that name none."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.library import Library
from snapshots.catalog.side_reader import read_side
from snapshots.changes.diff import SpecChangeKind
from snapshots.errors import CachelogError, NoCatalog
from snapshots.models import (
    Dependency,
    FileInfo,
    SideInfo,
    Spec,
    StackInfo,
    is_revision,
    revision_facts,
)
from snapshots.refs import title
from snapshots.sources.settings import ReadSettings
from tests.model import real
from tests.snapshots.factories import a_snapshot, a_spec, day, hash_of
from tests.snapshots.sources.buildcache.folders import put
from tests.snapshots.sources.buildcache.indexes import (
    GCC,
    LIBELF,
    RUNTIME,
    WRAPPER,
    installation,
    small_database,
)
from tests.snapshots.sources.git.repositories import page
from tests.snapshots.sources.lockfiles.locks import HDF5, ZLIB, lock_file, small_lock_file

SETTINGS = ReadSettings(proof=False)


def needs(spec: Spec) -> Dependency:
    """Return an edge to a spec."""
    return Dependency(spec.name, spec.hash, ("link",))


TOOL = a_spec("tool", name="tool", stacks=("hep",), dependencies=())
BOTH = a_spec("both", name="both", stacks=("e4s", "hep"), dependencies=(), size=5)
APP = a_spec("app", name="app", stacks=("e4s",), dependencies=(needs(TOOL), needs(BOTH)))


class Sides:
    """The sides of a catalog with one revision, and of files."""

    def __init__(self, location: Path) -> None:
        self.catalog = Catalog(str(location))
        self.library = Library(self.catalog)

    def read(self, text: object) -> SideInfo:
        """Read a side."""
        return read_side(str(text), self.library, self.catalog.require_history, lambda: SETTINGS)

    def hashes(self, side: SideInfo) -> set[str]:
        """Return the hashes of a side."""
        hashes = self.library.frames.get(side.content).hashes
        return {hashes.at(row) for row in range(len(hashes))}

    def outside(self, side: SideInfo) -> set[str]:
        """Return the names of the dependencies of a side's specs that are not in the side."""
        graph = self.library.dependencies.get(side.content)
        return {graph.outside.spec(row).name for row in range(len(graph.outside))}


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> Sides:
    """Return a catalog with a revision of two stacks, for tests that only read it."""
    sides = Sides(tmp_path_factory.mktemp("catalog"))
    sides.catalog.publish([a_snapshot([TOOL, BOTH, APP])], taken_at=day(1))
    return sides


def written(path: Path, value: Any) -> Path:
    """Write a value as JSON to a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))
    return path


def test_stack_of_a_revision(sides: Sides) -> None:
    """The side has the specs of the stack; other dependencies are outside, and stacks unknown."""
    side = sides.read("develop:e4s")
    assert isinstance(side, StackInfo)
    assert not is_revision(side)
    assert sides.hashes(side) == {BOTH.hash, APP.hash}
    assert sides.outside(side) == {"tool"}
    assert title(side).startswith("develop@2025-01-06.")
    counts = (side.num_packages, side.num_specs, side.known_stacks, side.total_size)
    assert counts == (2, 2, None, 5)
    assert revision_facts(side)["stack"] == "e4s"
    assert not sides.library.frames.get(side.content).stacks.items


def test_other_stacks_are_not_compared(sides: Sides) -> None:
    """A spec of two stacks is unchanged between them."""
    base, head = sides.read("develop:e4s"), sides.read("develop:hep")
    compared = sides.library.compare(base, head)
    changes = {(change.hash, change.kind) for change in compared.specs}
    assert changes == {(TOOL.hash, SpecChangeKind.ADDED), (APP.hash, SpecChangeKind.REMOVED)}
    assert compared.num_unchanged == 1
    assert not sides.library.find_returned(base, head).any()


@pytest.mark.parametrize("path", ["spack.lock", "env/spack.lock", "other.json"])
def test_lock_file(sides: Sides, tmp_path: Path, path: str) -> None:
    """The side has its concrete specs and roots; external specs are outside."""
    file = written(tmp_path / path, small_lock_file())
    side = sides.read(file.parent if path.startswith("env") else file)
    assert isinstance(side, FileInfo)
    assert sides.hashes(side) == {HDF5, ZLIB}
    assert sides.outside(side) == {"gcc"}
    assert side.roots == (HDF5,)
    assert title(side) == f"{side.source.location} ({side.digest[:12]})"
    facts = revision_facts(side)
    assert (facts["tag"], facts["taken_at"], facts["num_roots"]) == (None, None, 1)
    assert "roots" not in facts


@pytest.mark.parametrize("path", ["index.json", "opt/.spack-db/index.json"])
def test_index(sides: Sides, tmp_path: Path, path: str) -> None:
    """It is read as by an import, and not published."""
    is_installation = "opt" in path
    file = written(tmp_path / path, installation() if is_installation else small_database())
    side = sides.read(file.parent if is_installation else file)
    assert isinstance(side, FileInfo)
    assert side.source.kind == ("installation" if is_installation else "index")
    external = {GCC} if is_installation else set()
    assert sides.hashes(side) == {LIBELF, RUNTIME, WRAPPER} | external
    assert sides.outside(side) == (set() if is_installation else {"gcc"})
    assert side.roots is None
    assert revision_facts(side)["num_roots"] is None
    sides.catalog.refresh()
    assert len(sides.catalog.history.revisions) == 1


@pytest.mark.parametrize("path", ["develop/zlib/specs.md", "develop", "zlib.md.gz"])
def test_pages(sides: Sides, tmp_path: Path, path: str) -> None:
    """The side has the specs of a page, or of a folder with the pages of one tag."""
    data = page("zlib", "zlib", "zlib-ng")
    put(tmp_path / "develop/zlib/specs.md", data)
    put(tmp_path / "zlib.md.gz", gzip.compress(data))
    side = sides.read(tmp_path / path)
    assert isinstance(side, FileInfo)
    assert (side.source.kind, side.num_specs, side.roots) == ("pages", 2, None)
    assert sides.hashes(side) == {hash_of("zlib"), hash_of("zlib-ng")}


def test_files_are_compared_without_a_catalog(tmp_path: Path) -> None:
    """Only a ref needs a catalog."""
    sides = Sides(tmp_path / "none")
    assert sides.read(written(tmp_path / "spack.lock", small_lock_file())).num_specs == 2
    assert not (tmp_path / "none").exists()
    with pytest.raises(NoCatalog):
        sides.read("develop")


def write_cycle(path: Path) -> None:
    """Write a lock file of a spec that depends on itself."""
    value = small_lock_file()
    nodes = value["concrete_specs"]
    nodes[ZLIB]["dependencies"] = [
        edge for edge in nodes[HDF5]["dependencies"] if edge["name"] == "zlib"
    ]
    written(path, value)


FORMS = "a lock file, the index of a build cache or an installation, or a cache page"
WRONG: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing": (lambda _: None, "does not exist"),
    "folder": (Path.mkdir, "has no cache pages"),
    "empty": (Path.touch, "is empty"),
    "text": (lambda path: path.write_text("# specs\n"), f"is not {FORMS}"),
    "object": (lambda path: path.write_text("{}"), f"is not {FORMS}"),
    "half": (lambda path: path.write_text('{"roots": '), "is not valid JSON"),
    "tags": (
        lambda path: written(path, {"develop": [{"label": "e4s", "url": "a"}]}),
        f"is a list of tags and stacks, not {FORMS}",
    ),
    "new": (lambda path: written(path, lock_file([], [], 99)), "'99' is not a version"),
    "circle": (write_cycle, "depends on itself, which no spec can: zlib"),
}


@pytest.mark.parametrize(("make", "reason"), WRONG.values(), ids=WRONG.keys())
def test_invalid_files(
    sides: Sides, tmp_path: Path, make: Callable[[Path], object], reason: str
) -> None:
    """The error names the path and the reason."""
    path = tmp_path / "side.json"
    make(path)
    with pytest.raises(CachelogError) as caught:
        sides.read(path)
    assert str(caught.value).startswith(str(path))
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "develop:e5s",
            "no revision 'develop:e5s': develop has no stack 'e5s'; nearest: develop:e4s",
        ),
        ("develop:none", "develop has no stack 'none'; there are: e4s, hep"),
        ("develop:", "develop has no stack ''; there are: e4s, hep"),
        ("main", "no revision 'main': there is no tag main"),
        ("main:e4s", "no revision 'main': there is no tag main"),
        ("develop~1:e4s", "no revision 'develop~1': develop is the first of its series"),
        ("https://x.org/index.json", "https://x.org/index.json: is a URL; only files are compared"),
    ],
)
def test_invalid_texts(sides: Sides, text: str, message: str) -> None:
    """The error names the invalid part, and similar names."""
    with pytest.raises(CachelogError) as caught:
        sides.read(text)
    assert message in str(caught.value)


@pytest.mark.parametrize("stack", real.STACKS)
@pytest.mark.parametrize("date", real.dates())
def test_real_lock_file_equals_the_index(tmp_path: Path, date: str, stack: str) -> None:
    """Spack wrote both of one concretization."""
    sides = Sides(tmp_path)
    folder = real.history() / date / stack
    base, head = sides.read(folder / "index.json"), sides.read(folder / "spack.lock")
    compared = sides.library.compare(base, head)
    assert not len(compared.specs)
    assert compared.num_unchanged == base.num_specs
