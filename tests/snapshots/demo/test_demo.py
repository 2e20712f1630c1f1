"""The demo's history: reproducible, valid, and read back from its pages."""

import hashlib
from collections import defaultdict
from graphlib import TopologicalSorter
from operator import attrgetter
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from snapshots.demo import develop_history
from snapshots.errors import InvalidArgument
from snapshots.sources.reports import Report
from tests.demo_histories import history, write_pages
from tests.snapshots.sources.readings import read_pages


def test_history_is_stable() -> None:
    """It does not depend on clock, process, hash seed or Python version: its digest is pinned."""
    facts = attrgetter("hash", "version", "variants", "stacks", "size", "dependencies")
    digest = hashlib.sha256()
    for snapshot in history(packages=260, specs=1500):
        specs = [facts(spec) for spec in snapshot.content.specs()]
        digest.update(msgspec.json.encode((snapshot.tag, snapshot.taken_at, specs)))
    assert digest.hexdigest() == "791790896da9848dba35e4033ae577bbd0e4e18723d575ffb65162afc5faf6b7"


def test_history_of_develop() -> None:
    """Each week is a revision under two tags, the second a date's or a release's."""
    numbers = {"revisions": 12, "packages": 40, "specs": 200}
    snapshots = list(develop_history(**numbers))
    dated, develop = snapshots[::2], snapshots[1::2]
    assert [replace(snapshot, tag="develop") for snapshot in dated] == develop
    tags = [snapshot.tag for snapshot in dated]
    assert tags[:3] == ["develop-2025-01-05", "develop-2025-01-12", "v0.22.0"]
    assert tags[-1] == "develop-2025-03-23"


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
    with pytest.raises(InvalidArgument) as caught:
        develop_history(**arguments)
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
