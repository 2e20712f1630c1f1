"""Broken logs: the broken file is found for every kind of damage."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from snapshots.catalog import delta
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.verification import verify
from snapshots.errors import CatalogError
from tests.snapshots.importers import publish_state

COMMITS = 5


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a catalog whose log has five commits, and a checkpoint of the fourth."""
    folder = tmp_path_factory.mktemp("catalog")
    patch = pytest.MonkeyPatch()
    patch.setattr(delta, "CHECKPOINT_EVERY", 3)
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

NOT_A_COMMIT = r"/{} is not a commit of a Delta table; .*power was cut.*; else restore it"

BREAKAGES: dict[str, tuple[Callable[[Path], None], str]] = {
    "garbage": (writing(commit(4), b"garbage"), NOT_A_COMMIT.format(commit(4))),
    "a list": (writing(commit(4), b"[1]"), NOT_A_COMMIT.format(commit(4))),
    "a number in a line": (writing(commit(4), b"{}\n7"), NOT_A_COMMIT.format(commit(4))),
    "blank lines alone": (writing(commit(4), b""), NOT_A_COMMIT.format(commit(4))),
    "half a checkpoint": (writing(CHECKPOINT, b"PAR1"), "revisions cannot be read: .*; restore it"),
    "no beginning": (
        removing(commit(0), "*.checkpoint.parquet", "_last_checkpoint"),
        "revisions cannot be read: .*; restore it",
    ),
}


@pytest.mark.parametrize(("breakage", "expected"), BREAKAGES.values(), ids=BREAKAGES)
def test_broken_log(log: Path, breakage: Callable[[Path], None], expected: str) -> None:
    """The error names a broken commit, or the table, and the remedy; so does a verification."""
    breakage(log)
    location = str(log.parent.parent)
    with pytest.raises(CatalogError, match=expected):
        Catalog(location).refresh()
    assert not verify(location).is_sound


def test_commits_before_a_checkpoint_are_not_needed(log: Path) -> None:
    """The checkpoint includes their actions."""
    removing(commit(0), commit(1))(log)
    catalog = Catalog(str(log.parent.parent))
    catalog.refresh()
    assert len(catalog.history.revisions) == 2 * (COMMITS - 1)


def test_broken_log_of_specs(log: Path) -> None:
    """Contents cannot be read; the errors name the file and the remedy."""
    catalog = Catalog(str(log.parent.parent))
    specs_log = Path(catalog.location, "specs", "_delta_log")
    removing("*.checkpoint.parquet")(specs_log)
    writing(commit(2), b"garbage")(specs_log)
    catalog.refresh()
    digest = catalog.history.digests[0]
    for use in (lambda: publish_state(catalog, 9), lambda: catalog.reader().frame(digest)):
        with pytest.raises(
            CatalogError, match=r": specs/_delta_log/0+2\.json .* restore it from a copy"
        ):
            use()
    assert len(Catalog(catalog.location).require_history().of_tag("develop")) == COMMITS - 1
