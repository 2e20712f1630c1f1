"""docs/sides.md: its examples run, and the sides of documents have the keys that it names."""

import re
import shlex
from pathlib import Path

import pytest

from snapshots.notes.formats import NotesFormat
from snapshots.notes.own_templates import EXAMPLES
from tests.schema.usual import api
from tests.server.commands import cachelog
from tests.snapshots.sources.lockfiles.locks import as_bytes, small_lock_file

TEXT = (Path(__file__).parents[1] / "docs" / "sides.md").read_text("utf-8")
(QUERY,) = re.findall(r"```graphql\n(.*?)```", TEXT, re.DOTALL)
(CONSOLE,) = re.findall(r"```console\n(.*?)```", TEXT, re.DOTALL)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a catalog of two revisions of develop."""
    folder = tmp_path_factory.mktemp("demo")
    cachelog("demo", "--revisions", 2, "--packages", 40, "--specs", 400, catalog=folder)
    return folder


@pytest.fixture
def lock_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a lock file in the working directory."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "spack.lock"
    path.write_bytes(as_bytes(small_lock_file()))
    return path


@pytest.mark.parametrize("line", CONSOLE.splitlines())
@pytest.mark.usefixtures("lock_file")
def test_each_command_runs(line: str, demo: Path) -> None:
    """On the demo, with a lock file beside it."""
    done = cachelog(*shlex.split(line)[1:], catalog=demo)
    assert (done.code, done.err) == (0, "")
    assert len(done.lines) > 1


@pytest.mark.usefixtures("lock_file")
def test_the_keys_of_sides(demo: Path) -> None:
    """A stack and a file have what a revision has, and what is named."""
    (revision, *_) = cachelog("revisions", "--json", catalog=demo).json
    done = cachelog("why", "develop:e4s..spack.lock", "--json", catalog=demo)
    base, head = done.json["base"], done.json["head"]
    del revision["confirmed_at"]  # only lists have it
    assert base.keys() == {*revision, "stack"}
    assert (base["digest"], base["stack"]) == (revision["digest"], "e4s")
    assert base["num_specs"] < revision["num_specs"]
    assert head.keys() == {*revision, "num_roots"}
    assert head["source"]["location"] == "spack.lock"
    named = {key for key in head if f"`{key}`" in TEXT}
    assert named >= {key for key, value in head.items() if value is None} - {
        "total_size",
        "num_stacks",
        "num_proven",
        "unproven",
    }


@pytest.mark.usefixtures("lock_file")
def test_files_need_no_catalog(tmp_path: Path) -> None:
    """Two lock files are compared where nothing was ever imported."""
    done = cachelog("diff", "spack.lock", "./spack.lock", catalog=tmp_path / "none")
    assert (done.code, done.err) == (0, "")
    assert done.lines[-1] == "0 added, 0 removed, 0 changed"


FORMS = (
    *(("--format", form.value) for form in NotesFormat),
    *(("--template", name) for name in EXAMPLES),
)


@pytest.mark.parametrize("form", FORMS, ids=" ".join)
@pytest.mark.usefixtures("lock_file")
def test_notes_of_files_name_them(form: tuple[str, str], demo: Path) -> None:
    """In every format, and by the templates that cachelog has."""
    done = cachelog("notes", "develop:e4s..spack.lock", *form, catalog=demo)
    assert (done.code, done.err) == (0, "")
    assert "spack.lock" in done.out or form == ("--template", "github-release")


def test_the_query_is_one() -> None:
    """It is valid, and allowed."""
    assert api.document(QUERY).errors == ()
    names = {"base": "develop:e4s", "head": "develop"}
    assert 0 < api.cost(QUERY, None, names).units <= api.limits.max_cost
