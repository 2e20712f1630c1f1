"""``cachelog history fill``: the history of a catalog that lacks some of it."""

import shutil
from pathlib import Path

import pytest

from snapshots.catalog.catalog import Catalog
from tests.server.cache_pages import detail, page
from tests.server.commands import cachelog
from tests.snapshots.catalog.pasts import TABLES, forget, forget_stories, states
from tests.snapshots.factories import a_snapshot, a_spec, day, hash_of


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


@pytest.mark.parametrize("jobs", [1, 2])
def test_everything_is_filled_once(older: Path, jobs: int) -> None:
    """All series are; after that there is nothing left to do."""
    done = cachelog("history", "fill", "--jobs", jobs, catalog=older)
    assert (done.code, done.out, done.err) == (0, "compared 4 pairs of neighbours\n", "")
    assert counted(older) == 4
    again = cachelog("history", "fill", catalog=older)
    assert again.out == "nothing is missing: the changes of all neighbours are kept\n"
    assert again.code == 0


def test_stories_of_feeds_are_filled_in(older: Path) -> None:
    """Of a catalog of before they were kept; its feed is the same as then."""
    cachelog("history", "fill", catalog=older)
    feed = cachelog("feed", "develop", catalog=older).out
    forget_stories(str(older))
    assert cachelog("feed", "develop", catalog=older).out == feed
    done = cachelog("history", "fill", catalog=older)
    assert (done.code, done.out) == (0, "compared 2 pairs of neighbours\n")
    assert cachelog("feed", "develop", catalog=older).out == feed
    assert cachelog("history", "fill", catalog=older).out.startswith("nothing is missing: ")


@pytest.mark.parametrize("command", [("history", "fill"), ("verify",)])
def test_an_address_that_is_no_cluster(older: Path, command: tuple[str, ...]) -> None:
    """Whether it is an option or a variable, it is refused before anything is done."""
    expected = "cachelog: --cluster: 'far' is not of the form ray://HOST:PORT\n"
    done = cachelog(*command, "--cluster", "far", catalog=older)
    assert (done.code, done.err) == (1, expected)
    done = cachelog(*command, catalog=older, cluster="far")
    assert (done.code, done.err) == (1, expected)
    assert counted(older) == 0


def test_one_series(older: Path) -> None:
    """The others stay as they are; a series that is none is refused with those that are."""
    done = cachelog("history", "fill", "--series", "develop", "--json", catalog=older)
    assert (done.code, done.json) == (0, {"num_compared": 3, "failed": []})
    assert counted(older) == 3
    done = cachelog("history", "fill", "--series", "nope", catalog=older)
    assert done.code == 1
    assert "there is no series 'nope'; nearest: develop, vX.Y.Z" in done.err


def test_what_cannot_be_compared_is_told(older: Path) -> None:
    """The others are filled; a program learns it by the exit code and by the facts."""
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


def test_there_has_to_be_a_catalog(tmp_path: Path) -> None:
    """With a revision in it."""
    done = cachelog("history", "fill", catalog=tmp_path / "none")
    assert done.code == 1
    assert "there is no catalog at" in done.err


def test_an_import_beside_a_damaged_revision_warns(tmp_path: Path) -> None:
    """It is published; people and programs are told what is not kept."""
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
    assert "what changed could not be kept, which is made up for later: catalog" in warning
    assert "import the same again to replace it" in warning
    assert f"warning: {warning}" in done.err
