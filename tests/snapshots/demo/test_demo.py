"""The demo's history: reproducible, valid, and read back from its pages."""

import hashlib
from collections import defaultdict
from graphlib import TopologicalSorter
from itertools import islice
from operator import attrgetter
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from snapshots.demo import develop_history, history, write_pages
from snapshots.demo.packages import package_names
from snapshots.errors import InvalidArgument
from snapshots.sources.reports import Report
from snapshots.spack.names import is_name
from tests.snapshots.sources.readings import read_pages


def test_history_is_stable() -> None:
    """It does not depend on clock, process, hash seed or Python version: its digest is pinned."""
    facts = attrgetter("hash", "version", "variants", "stacks", "size", "dependencies")
    digest = hashlib.sha256()
    for snapshot in history(packages=260, specs=1500):
        specs = [facts(spec) for spec in snapshot.content.specs()]
        digest.update(msgspec.json.encode((snapshot.tag, snapshot.taken_at, specs)))
    assert digest.hexdigest() == "c486c1dffd4cf9cb6f27d8b77c7c26d91166e967d323a1d38e52c3c0714fd5a4"


def test_longer_history_begins_with_the_shorter_one() -> None:
    """Earlier revisions are unchanged."""
    longer, shorter = (history(revisions=number, packages=30, specs=200) for number in (6, 4))
    for one, other in zip(shorter, longer, strict=False):
        assert one.content.digest == other.content.digest
        assert (one.source.kind, one.source.synthetic) == ("demo", True)


def test_history_of_develop() -> None:
    """It has the contents of the other history, each under two tags."""
    numbers = {"revisions": 12, "packages": 40, "specs": 200}
    snapshots = list(develop_history(**numbers))
    dated, develop = snapshots[::2], snapshots[1::2]
    assert [replace(snapshot, tag="develop") for snapshot in dated] == develop
    for snapshot, expected in zip(dated, history(**numbers), strict=True):
        assert snapshot.content.digest == expected.content.digest
        assert snapshot.taken_at == expected.taken_at
        assert snapshot.tag == ("develop-2025-03-23" if snapshot is dated[-1] else expected.tag)


@pytest.mark.parametrize(("packages", "specs"), [(1, 1), (20, 90)])
def test_size_of_small_caches(packages: int, specs: int) -> None:
    """The sizes stay within limits, although chance has more effect on few packages."""
    for snapshot in history(revisions=40, packages=packages, specs=specs):
        assert packages - packages // 12 <= len(snapshot.content.packages) <= packages
        assert len(snapshot.content.packages) <= len(snapshot.content) <= 3 * specs


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"revisions": 0}, "revisions"),
        ({"packages": 0}, "packages"),
        ({"specs": -1}, "specs"),
        ({"packages": 10, "specs": 9}, "specs"),
    ],
)
def test_invalid_numbers(arguments: dict[str, int], name: str) -> None:
    """The call fails before any revision is generated."""
    for generate in (history, develop_history):
        with pytest.raises(InvalidArgument) as caught:
            generate(**arguments)
        assert caught.value.name == name


def test_dependencies_exist_and_have_no_cycles() -> None:
    """They are specs of the revision for the same machine, or compilers outside of it."""
    for snapshot in history(revisions=4, packages=100, specs=1000):
        present = {spec.hash: spec for spec in snapshot.content.specs()}
        compilers = {spec.hash: spec for spec in snapshot.content.outside.specs}
        graph: defaultdict[str, set[str]] = defaultdict(set)
        for spec in present.values():
            assert spec.dependencies is not None
            assert spec.dependencies == tuple(sorted(spec.dependencies))
            for edge in spec.dependencies:
                needed = compilers.get(edge.hash) or present[edge.hash]
                assert needed.name == edge.name
                assert needed.operating_system == spec.operating_system
                assert needed.target == spec.target
                graph[spec.hash].add(edge.hash)
        assert sum(map(len, graph.values())) > len(present)
        TopologicalSorter(graph).prepare()


def test_names_are_valid_and_distinct() -> None:
    """The supply of names is sufficient."""
    names = list(islice(package_names(), 5000))
    assert len(set(names)) == len(names)
    assert all(map(is_name, names))


# -- cache pages


def test_pages_are_read_as_the_snapshot(tmp_path: Path) -> None:
    """Each package has a page, which lacks only what real ones lack; all facts are canonical."""
    *_, snapshot, _ = history(revisions=4, packages=50, specs=500)
    assert write_pages(snapshot, tmp_path) == len(snapshot.content.packages) > 40
    report = Report()
    (read,) = read_pages([tmp_path], report=report)
    assert (read.tag, read.source.synthetic, report.warnings) == ("v0.22.0", True, [])
    absent = dict.fromkeys(("size", "namespace", "package_hash", "dependencies"))
    assert [*read.content.specs()] == [replace(spec, **absent) for spec in snapshot.content.specs()]
    pages = [file.read_text("utf-8") for file in (tmp_path / "v0.22.0").glob("*/specs.md")]
    assert any(":=" in page for page in pages)
    assert all("\nlayout: cache\n" in page and '"num_specs_by_stack":' in page for page in pages)


def test_folder_that_cannot_be_written(tmp_path: Path) -> None:
    """The error names the folder."""
    (tmp_path / "pages").write_text("in the way")
    (snapshot,) = history(revisions=1, packages=1, specs=1)
    with pytest.raises(InvalidArgument, match=r"folder: cannot write .*pages"):
        write_pages(snapshot, tmp_path / "pages")
