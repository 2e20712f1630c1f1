"""Broken logs: the broken file is found for every kind of damage."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from snapshots.catalog import delta
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.delta import what_is_broken
from snapshots.catalog.locations import parse_location
from snapshots.catalog.storage import Storage
from snapshots.errors import CatalogError
from tests.snapshots.importers import publish_state

COMMITS = 5


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a catalog whose log has five commits, and a checkpoint of the fourth."""
    folder = tmp_path_factory.mktemp("catalog")
    patch = pytest.MonkeyPatch()
    patch.setattr(delta, "_CHECKPOINT_EVERY", 3)
    patch.setattr("snapshots.catalog.delta.TableLog.trim", lambda *_: None)
    catalog = Catalog(str(folder))
    for number in range(COMMITS - 1):
        publish_state(catalog, number)
    patch.undo()
    return folder


@pytest.fixture
def log(template: Path, tmp_path: Path) -> Path:
    """Return the log of a copy of the template."""
    shutil.copytree(template, tmp_path, dirs_exist_ok=True)
    return tmp_path / "revisions" / "_delta_log"


def commit(number: int) -> str:
    """Return the name of a commit."""
    return f"{number:020}.json"


def writing(name: str, data: bytes) -> Callable[[Path], None]:
    """Return a function that overwrites a file."""

    def write(log: Path) -> None:
        (log / name).write_bytes(data)

    return write


def removing(*names: str) -> Callable[[Path], None]:
    """Return a function that removes files, by name or pattern."""

    def remove(log: Path) -> None:
        for name in names:
            for file in log.glob(name):
                file.unlink()

    return remove


CHECKPOINT = f"{3:020}.checkpoint.parquet"

BREAKAGES: dict[str, tuple[Callable[[Path], None], str | None]] = {
    "nothing": (lambda _: None, None),
    "garbage": (writing(commit(2), b"garbage"), f"{commit(2)} is not a commit of a Delta table"),
    "a list": (writing(commit(0), b"[1]"), f"{commit(0)} is not a commit of a Delta table"),
    "a number in a line": (writing(commit(4), b"{}\n7"), f"{commit(4)} is not a commit"),
    "blank lines alone": (writing(commit(1), b"\n \n"), f"{commit(1)} is not a commit"),
    "half a checkpoint": (writing(CHECKPOINT, b"PAR1"), f"{CHECKPOINT} is not a checkpoint"),
    "a gap": (removing(commit(2)), f"_delta_log lacks the commit {commit(2)}"),
    "two gaps": (removing(commit(1), commit(3)), f"_delta_log lacks the commit {commit(1)}"),
    "no beginning": (
        removing(commit(0), "*.checkpoint.parquet"),
        "_delta_log lacks its first commit, and has no checkpoint",
    ),
    "a checkpoint for the beginning": (removing(commit(0), commit(1)), None),
    "a checkpoint alone": (removing("*.json"), None),
}


@pytest.mark.parametrize(("breakage", "expected"), BREAKAGES.values(), ids=BREAKAGES)
def test_broken_file_is_named(
    log: Path, breakage: Callable[[Path], None], expected: str | None
) -> None:
    """The reason names it and describes the damage; a readable log has no reason."""
    breakage(log)
    text = what_is_broken(Storage(parse_location(str(log.parent.parent))), "revisions")
    if expected is None:
        assert text is None
    else:
        assert text is not None
        assert text.startswith("revisions/_delta_log")
        assert expected in text


@pytest.mark.parametrize(
    "name", ["garbage", "a list", "a gap", "two gaps", "a checkpoint for the beginning"]
)
def test_commits_before_a_checkpoint_are_not_needed(log: Path, name: str) -> None:
    """The checkpoint includes their actions."""
    BREAKAGES[name][0](log)
    catalog = Catalog(str(log.parent.parent))
    catalog.refresh()
    assert len(catalog.history.revisions) == 2 * (COMMITS - 1)


def test_broken_log_of_specs(log: Path) -> None:
    """Published contents can be read; the error of an import names the file and the remedy."""
    catalog = Catalog(str(log.parent.parent))
    specs_log = Path(catalog.location, "specs", "_delta_log")
    removing("*.checkpoint.parquet")(specs_log)
    writing(commit(2), b"garbage")(specs_log)
    catalog.refresh()
    assert all(len(catalog.reader().frame(digest)) for digest in catalog.history.digests)
    with pytest.raises(
        CatalogError, match=r": specs/_delta_log/0+2\.json .*; restore it from a copy"
    ):
        publish_state(catalog, 9)
    assert len(Catalog(catalog.location).require_history().of_tag("develop")) == COMMITS - 1
