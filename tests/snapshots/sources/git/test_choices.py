"""Of a history in git some commits, tags and folders can be chosen."""

from datetime import datetime, timedelta

import pytest

from snapshots.errors import TagNeeded
from tests.snapshots.sources.git.repositories import (
    FIRST,
    HDF5,
    ZLIB,
    Repository,
    history_of,
    key,
    labels,
    page,
    specs,
)


@pytest.mark.parametrize(
    ("every", "days"),
    [
        ("commit", ["03 06", "03 18", "04 06", "09 23", "10 00"]),
        ("day", ["03 18", "04 06", "09 23", "10 00"]),
        ("week", ["09 23", "10 00"]),
    ],
)
def test_every(repository: Repository, every: str, days: list[str]) -> None:
    """Of each day or ISO week in UTC the last state of a tag counts, dated by its own commit."""
    moments = (
        "2025-03-03T06:00:00+00:00",
        "2025-03-03T18:00:00+00:00",
        "2025-03-03T23:00:00-07:00",  # the 4th in UTC
        "2025-03-09T23:00:00+00:00",  # a Sunday
        "2025-03-10T00:00:00+00:00",
    )
    for number, moment in enumerate(map(datetime.fromisoformat, moments)):
        repository.commit({ZLIB: page("zlib", str(number))}, moment)
    other = {"_cache/v1.0/zlib/specs.md": page("zlib", "b", tag="v1.0")}
    repository.commit(other, moment + timedelta(hours=1))
    *found, last = repository.read(every=every)
    assert [f"{snapshot.taken_at:%d %H}" for snapshot in found] == days
    assert labels(found[-1]) == specs(zlib="4")
    assert (last.tag, last.taken_at) == ("v1.0", moment + timedelta(hours=1))


def test_pages_between_the_chosen_commits_are_not_parsed(
    repository: Repository, parsed: list[str]
) -> None:
    """With one state a week, pages that no such state has are not parsed, be they good or bad."""
    for number in range(6):
        repository.commit({ZLIB: page("zlib", str(number)) if number in (0, 5) else b"bad"})
    (found,) = repository.read(every="week")
    assert labels(found) == specs(zlib="5")
    assert len(parsed) == 2  # the first page tells the tag


def test_since(repository: Repository, parsed: list[str]) -> None:
    """Commits before the date are left out, but what they made is in the states after it."""
    repository.commit({ZLIB: page("zlib", "a"), HDF5: page("hdf5", "b")})
    repository.commit({"_cache/v1.0/zlib/specs.md": page("zlib", "c", tag="v1.0")})
    repository.commit({ZLIB: page("zlib", "d")})
    (found,) = repository.read(since=FIRST + timedelta(days=2))
    assert found.tag == "develop"
    assert labels(found) == specs(zlib="d", hdf5="b")
    assert "_cache/v1.0" not in " ".join(parsed[2:])
    assert repository.read(since=FIRST + timedelta(days=3)) == []


def test_tags_choose(repository: Repository, parsed: list[str]) -> None:
    """Only tags that a name or glob fits are read; of another tag's folder only one page is."""
    for tag in ("develop", "develop-2025-03-02", "v1.0"):
        for name in "abc":
            path = f"_cache/{tag}/{name}/specs.md"
            repository.commit({path: page(name, f"{tag} {name}", tag=tag)})
    found = repository.read(tags=["develop-*", "v?.0"])
    assert [snapshot.tag for snapshot in found] == ["develop-2025-03-02"] * 3 + ["v1.0"] * 3
    assert [place.partition(":")[2] for place in parsed if "develop/" in place] == [
        "_cache/develop/a/specs.md"
    ]


def test_a_tag_can_be_given_to_pages_that_state_none(repository: Repository) -> None:
    """A single name is the tag of pages that state none; without it they are an error."""
    commit = repository.commit({"_cache/zlib.md": page("zlib", "a", tag=None)})
    (found,) = repository.read(tags=["develop"])
    assert found.tag == "develop"
    with pytest.raises(TagNeeded) as caught:
        repository.read()
    assert caught.value.location == f"{commit[:12]}:_cache/zlib.md"


@pytest.mark.parametrize(
    ("path", "file"),
    [
        ("_cache/develop", "_cache/develop/zlib/specs.md"),
        ("/_cache//develop/", "_cache/develop/zlib/specs.md"),
        ("", "develop/zlib/specs.md"),
        (".", "develop/zlib/specs.md"),
        ("site/cache", "site/cache/develop/zlib/specs.md"),
    ],
)
def test_the_folder_of_pages(repository: Repository, path: str, file: str) -> None:
    """The pages may lie below any folder; its path belongs to the tags that paths state."""
    repository.commit({file: page("zlib", "a", tag=None)})
    repository.commit({file: page("zlib", "b", tag=None)})
    found = repository.read(path=path)
    assert [(snapshot.tag, labels(snapshot)) for snapshot in found] == [
        ("develop", specs(zlib="a")),
        ("develop", specs(zlib="b")),
    ]
    assert repository.read(history_of(found), path=path) == []


def test_a_tag_spread_over_folders_is_one(repository: Repository) -> None:
    """Pages of one tag in several folders, even of one package, make one state."""
    repository.commit({"_cache/x86/zlib/specs.md": page("zlib", "a")})
    repository.commit({"_cache/arm/zlib/specs.md": page("zlib", "b")})
    repository.commit({"_cache/arm/zlib/specs.md": page("zlib", "c")})
    found = repository.read()
    assert list(map(labels, found)) == [
        specs(zlib="a"),
        specs(zlib=["a", "b"]),
        specs(zlib=["a", "c"]),
    ]
    assert list(map(key, repository.read(history_of(found[:2])))) == [key(found[2])]


def test_a_folder_may_hold_another_tag_later(repository: Repository) -> None:
    """Where a folder is not named for its tag, each page counts for the tag that it states."""
    for tag in ("develop-1", "develop-2"):
        repository.commit({"_cache/latest/zlib/specs.md": page("zlib", tag, tag=tag)})
    (found,) = repository.read(tags=["develop-2"])
    assert (found.tag, labels(found)) == ("develop-2", specs(zlib="develop-2"))


@pytest.mark.parametrize("changed", ["develop/zlib", "more/hdf5"])
def test_pages_of_a_tag_are_found_in_other_folders(repository: Repository, changed: str) -> None:
    """A state that begins late has the pages of all folders, whichever of them changed."""
    repository.commit(
        {
            "_cache/develop/zlib/specs.md": page("zlib", "a"),
            "_cache/more/bzip2/specs.md": page("bzip2", "b", tag="v1.0"),
            "_cache/more/hdf5/specs.md": page("hdf5", "c"),
        }
    )
    name = changed.partition("/")[2]
    repository.commit({f"_cache/{changed}/specs.md": page(name, "new")})
    (found,) = repository.read(since=FIRST + timedelta(days=1))
    assert found.tag == "develop"
    assert labels(found) == specs(**{"zlib": "a", "hdf5": "c", name: "new"})
