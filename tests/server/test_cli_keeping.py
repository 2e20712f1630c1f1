"""``cachelog remove``, ``prune``, ``vacuum``, ``verify``, ``backup``, ``restore``, ``history``."""

import re
import shutil
from pathlib import Path

import pytest

from snapshots.catalog.catalog import Catalog
from tests.server.cache_pages import detail, page
from tests.server.commands import Done, cachelog, succeed
from tests.snapshots.catalog.pasts import TABLES, forget, states
from tests.snapshots.factories import a_snapshot, a_spec, day, hash_of
from tests.snapshots.keeping import (
    clean,
    drop,
    grow_old,
    hours_ago,
    publish,
    published,
    rows,
    stored,
)
from tests.snapshots.templates import copied


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Publish the states, once for all tests."""
    folder = published(tmp_path_factory.mktemp("template"), 4)
    publish(Catalog(str(folder)), 1, 1, "v1.0")
    return folder


@pytest.fixture
def catalog(template: Path, tmp_path: Path) -> Catalog:
    """Return a catalog: four days of develop, and a release with the content of the second."""
    return copied(template, tmp_path / "catalog")


def run(catalog: Catalog, *arguments: object, code: int = 0, err: str = "") -> Done:
    """Run a command that ends so."""
    done = cachelog(*arguments, catalog=catalog.location)
    assert (done.code, done.err) == (code, err)
    return done


def days(catalog: Catalog, tag: str = "develop") -> list[int]:
    """Return the days of the rows of a tag."""
    return sorted(taken for name, taken, _ in rows(catalog) if name == tag)


def damage(catalog: Catalog, ref: str) -> str:
    """Overwrite the content of a revision; return its digest."""
    digest = catalog.history.resolve(ref).digest
    for name in stored(catalog):
        if digest in name:
            Path(catalog.location, "specs", name).write_bytes(b"nothing")
    return digest


# -- remove


def test_remove(catalog: Catalog) -> None:
    """The last line says what becomes of their contents; a wrong name removes nothing."""
    refused = cachelog("remove", "develop", "nope", catalog=catalog.location)
    assert (refused.code, days(catalog)) == (1, [0, 1, 2, 3])
    done = run(catalog, "remove", "develop~1", "develop@2025-01-06")
    assert [line.split()[0] for line in done.lines[:-1]] == ["tag", "develop", "develop"]
    assert done.lines[-1].startswith(
        "2 revisions removed; 'cachelog vacuum' deletes 1 content after some time, "
    )
    assert days(catalog) == [0, 3]
    assert days(catalog, "v1.0") == [1]
    done = run(catalog, "remove", "v1.0")
    assert done.lines[-1].startswith("1 revision removed; 'cachelog vacuum' deletes 1 content")


@pytest.mark.parametrize(
    "arguments",
    [("remove", "develop~1"), ("prune", "--keep", "1 last"), ("vacuum",)],
    ids=lambda it: it[0],
)
def test_a_dry_run_changes_nothing(catalog: Catalog, arguments: tuple[str, ...]) -> None:
    """It says what would be done."""
    grow_old(catalog)
    before = {it: it.stat().st_mtime for it in Path(catalog.location).rglob("*")}
    assert run(catalog, *arguments, "--dry-run", "--json").json["dry_run"] is True
    text = run(catalog, *arguments, "--dry-run").out
    assert "would be removed" in text or arguments == ("vacuum",)
    assert {it: it.stat().st_mtime for it in Path(catalog.location).rglob("*")} == before


def test_new_neighbours_that_cannot_be_compared(catalog: Catalog) -> None:
    """A warning; the revision between them is removed."""
    damage(catalog, "develop~2")
    done = cachelog("remove", "develop~1", catalog=catalog.location)
    assert done.code == 0
    assert done.err.startswith("warning: new neighbours were not compared yet: ")
    assert days(catalog) == [0, 1, 3]


# -- prune


def test_prune(catalog: Catalog) -> None:
    """What stays is printed series by series, in a dry run revision by revision with reasons."""
    done = run(catalog, "prune", "--keep", "2 last, all releases", "--dry-run")
    reasons = [line.split(maxsplit=4)[4] for line in done.lines[1:6]]
    assert reasons == ["2 last"] * 2 + ["2 last, all releases"] + ["nothing: goes"] * 2
    done = run(catalog, "prune", "--keep", "2 last, all releases")
    assert done.lines[:2] == [
        "develop: 2 of 4 revisions kept",
        "vX.Y.Z: 1 of 1 revision kept",
    ]
    assert done.lines[2].startswith("2 revisions removed; 'cachelog vacuum' deletes 1 content")
    assert days(catalog) == [2, 3]
    assert run(catalog, "prune", "--keep", "2 last").lines[-1] == "nothing to remove"


def test_prune_whole_tags(catalog: Catalog) -> None:
    """The newest of a tag goes only with ``--whole-tags``, which the output names."""
    for number in range(3):
        publish(catalog, number, number, f"nightly-2025-01-0{number + 5}")
    done = run(catalog, "prune", "--keep", "1 last", "--series", "nightly-DATE")
    assert "2 of them as the newest of a tag alone; --whole-tags removes these" in done.lines
    assert done.lines[-1] == "nothing to remove"
    run(catalog, "prune", "--keep", "1 last", "--series", "nightly-DATE", "--whole-tags")
    catalog.refresh()
    assert [it for it in catalog.history.tags if it.startswith("n")] == ["nightly-2025-01-07"]


def test_prune_as_json(catalog: Catalog) -> None:
    """With what stays, and why."""
    document = run(catalog, "prune", "--keep", "1 last", "--json").json
    keys = {"dry_run", "removed", "unused_contents", "num_unused_bytes", "warnings", "kept"}
    assert document.keys() == keys
    assert [it["tag"] for it in document["removed"]] == ["develop"] * 3
    kept = [(it["tag"], it["kept_by"]) for it in document["kept"]]
    assert kept == [("develop", ["1 last"]), ("v1.0", ["1 last"])]


# -- vacuum


def test_vacuum(catalog: Catalog) -> None:
    """The deleted files are counted table by table; then there are no more."""
    with hours_ago(30):
        drop(catalog, "develop")
    grow_old(catalog, 30)
    done = run(catalog, "vacuum")
    assert [line.rpartition(", ")[0] for line in done.lines if "deleted" in line] == [
        "revisions: 1 file deleted",
        "specs: 1 file deleted",
    ]
    assert days(catalog) == [0, 1, 2]
    assert run(catalog, "vacuum", "--older-than", "1w").lines == ["nothing to delete"]


def test_vacuum_as_json(catalog: Catalog) -> None:
    """Numbers for each table."""
    drop(catalog, "develop")
    document = run(catalog, "vacuum", "--older-than", "0", "--nothing-runs", "--json").json
    names = [it["table"] for it in document["tables"]]
    assert names == ["revisions", "specs", "comparisons", "changes", "hashes"]
    assert [it["num_files"] for it in document["tables"]][:2] == [1, 1]
    assert all(it["num_bytes"] > 0 for it in document["tables"])
    assert (document["dry_run"], document["struck_off"], document["relisted"]) == (False, [], [])
    assert document["num_forgotten_pairs"] == 1
    assert document["num_forgotten_rows"] > 0
    assert run(catalog, "verify", "--json").json["sound"] is True


# -- verify


def test_verify(catalog: Catalog) -> None:
    """All is read."""
    done = run(catalog, "verify", "--deep")
    assert done.lines == ["4 contents of 5 revisions read, 46 specs: no damage found"]
    assert run(catalog, "verify", "--json").json == {
        "sound": True,
        "num_revisions": 5,
        "num_contents": 4,
        "num_specs": 46,
        "num_pairs": 5,
        "findings": [],
    }


def test_verify_of_a_damaged_one(catalog: Catalog) -> None:
    """It leaves with 1, and says what to do."""
    digest = damage(catalog, "develop")
    done = run(catalog, "verify", code=1)
    assert done.lines[0].startswith(f"damaged: content {digest[:12]}: ")
    assert done.lines[0].endswith("import the same again to replace it")
    assert done.lines[1] == "4 contents of 5 revisions read, 33 specs: 1 damage found"
    document = run(catalog, "verify", "--json", code=1).json
    (finding,) = document["findings"]
    assert (document["sound"], finding["damaged"]) == (False, True)
    assert finding.keys() == {"damaged", "place", "reason", "advice"}


def test_a_backup(catalog: Catalog, tmp_path: Path) -> None:
    """How much was copied and removed, and how much is there now; errors in one line."""
    target = str(tmp_path / "backup")
    first = cachelog("backup", target, catalog=catalog.location)
    assert re.fullmatch(r"\d+ files copied, .*B", first.lines[0])
    assert first.lines[1:] == [f"{target} holds 5 rows of revisions"]
    assert cachelog("vacuum", catalog=target).out == "nothing to delete\n"
    with hours_ago():
        drop(catalog, "develop~1")
    clean(catalog)
    again = cachelog("backup", target, catalog=catalog.location)
    assert re.fullmatch(r"\d+ files? removed, out of use", again.lines[1])
    facts = cachelog("restore", target, "--json", catalog=str(tmp_path / "again")).json
    assert facts["num_revisions"] == 4
    assert facts["num_removed"] == 0
    refused = cachelog("restore", target, catalog=catalog.location)
    assert (refused.code, refused.out) == (1, "")
    assert "there is a catalog already; move it away" in refused.err


def test_a_repair(catalog: Catalog) -> None:
    """The error names the file that a power cut left, which ``--repair`` drops."""
    log = Path(catalog.location, "revisions", "_delta_log")
    last = log / f"{len(list(log.glob('*.json'))):020}.json"
    last.touch()
    named = cachelog("revisions", catalog=catalog.location)
    assert named.code == 1
    assert f"{last.name} is empty; if the power was cut" in named.err
    assert cachelog("verify", catalog=catalog.location).code == 1
    repaired = succeed("verify", "--repair", catalog=catalog.location)
    assert f"{last.name} was unreadable, and is dropped" in repaired.lines[0]
    assert repaired.lines[-1].endswith("no damage found")


# -- history fill


@pytest.fixture
def older(tmp_path: Path) -> Path:
    """Return a catalog of two series, of before changes were kept."""
    location = tmp_path / "catalog"
    catalog = Catalog(str(location))
    catalog.publish([*states("ab", "bc", "cd"), a_snapshot([a_spec("a")], "v1.0", day(0))])
    forget(catalog, *TABLES)
    return location


def counted(location: Path) -> int:
    """Return of how many pairs the changes are kept."""
    catalog = Catalog(str(location))
    catalog.refresh()
    return len(catalog.counts)


def test_everything_is_filled_once(older: Path) -> None:
    """One series, then the others in several processes; after that nothing is missing."""
    done = cachelog("history", "fill", "--series", "vX.Y.Z", "--json", catalog=older)
    assert (done.code, done.json) == (0, {"num_compared": 1, "failed": []})
    done = cachelog("history", "fill", "--jobs", 2, catalog=older)
    assert (done.code, done.out, done.err) == (0, "compared 3 pairs of neighbours\n", "")
    assert counted(older) == 4
    again = cachelog("history", "fill", catalog=older)
    assert again.out == "nothing is missing: the changes of all neighbours are kept\n"
    assert again.code == 0


def test_pairs_that_cannot_be_compared(older: Path) -> None:
    """The others are filled; the exit code is 1, and the document names the pairs."""
    first = states("ab")[0].content.digest
    shutil.rmtree(older / "specs" / f"digest={first}")
    done = cachelog("history", "fill", "--json", catalog=older)
    assert done.code == 1
    assert done.json["num_compared"] == 2
    assert [it["head"] == first or it["base"] == first for it in done.json["failed"]] == [True] * 2
    assert done.err.count("not compared: catalog ") == 1
    assert "No such file or directory; import the same again to replace it" in done.err
    done = cachelog("history", "fill", catalog=older)
    assert (done.code, done.out) == (1, "2 pairs could not be compared\n")


def test_an_import_beside_a_damaged_revision_warns(tmp_path: Path) -> None:
    """The revision is published; a warning says what is not kept."""
    location = tmp_path / "catalog"
    Catalog(str(location)).publish(states("ab"))
    for file in (location / "specs").glob("*/*.parquet"):
        file.write_bytes(file.read_bytes()[::-1])
    folder = tmp_path / "_cache" / "develop" / "zlib"
    folder.mkdir(parents=True)
    (folder / "specs.md").write_bytes(page(spec_details=[detail(hash_of("page"))]))
    done = cachelog("import", tmp_path / "_cache", "--json", catalog=location)
    assert done.code == 0
    assert [it["published"] for it in done.json["revisions"]] == [True]
    (warning,) = done.json["warnings"]
    assert "what changed could not be stored now; it will be compared later: catalog" in warning
    assert "import the same again to replace it" in warning
    assert f"warning: {warning}" in done.err
