"""Selected commits, tags and folders of a history in git."""

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
    """The last state of a tag in a day or ISO week (UTC) counts, with the time of its commit."""
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
    *states, last = repository.read(every=every)
    assert [f"{snapshot.taken_at:%d %H}" for snapshot in states] == days
    assert labels(states[-1]) == specs(zlib="4")
    assert (last.tag, last.taken_at) == ("v1.0", moment + timedelta(hours=1))


def test_pages_between_selected_commits_are_not_parsed(
    repository: Repository, parsed: list[str]
) -> None:
    """Pages of other states are not parsed, whether they are good or bad."""
    for number in range(6):
        repository.commit({ZLIB: page("zlib", str(number)) if number in (0, 5) else b"bad"})
    (state,) = repository.read(every="week")
    assert labels(state) == specs(zlib="5")
    assert len(parsed) == 2  # the first page states the tag


def test_since(repository: Repository, parsed: list[str]) -> None:
    """Commits before the date are left out; their pages are part of later states."""
    repository.commit({ZLIB: page("zlib", "a"), HDF5: page("hdf5", "b")})
    repository.commit({"_cache/v1.0/zlib/specs.md": page("zlib", "c", tag="v1.0")})
    repository.commit({ZLIB: page("zlib", "d")})
    (state,) = repository.read(since=FIRST + timedelta(days=2))
    assert state.tag == "develop"
    assert labels(state) == specs(zlib="d", hdf5="b")
    assert "_cache/v1.0" not in " ".join(parsed[2:])
    assert repository.read(since=FIRST + timedelta(days=3)) == []


def test_selected_tags(repository: Repository, parsed: list[str]) -> None:
    """Only matching tags are read; of other folders a single page is parsed."""
    for tag in ("develop", "develop-2025-03-02", "v1.0"):
        for name in "abc":
            path = f"_cache/{tag}/{name}/specs.md"
            repository.commit({path: page(name, f"{tag} {name}", tag=tag)})
    states = repository.read(tags=["develop-*", "v?.0"])
    assert [snapshot.tag for snapshot in states] == ["develop-2025-03-02"] * 3 + ["v1.0"] * 3
    assert [location.partition(":")[2] for location in parsed if "develop/" in location] == [
        "_cache/develop/a/specs.md"
    ]


def test_tag_for_pages_without_tag(repository: Repository) -> None:
    """A single name is the tag of pages without one; without it they are an error."""
    commit = repository.commit({"_cache/zlib.md": page("zlib", "a", tag=None)})
    (state,) = repository.read(tags=["develop"])
    assert state.tag == "develop"
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
def test_folder_of_pages(repository: Repository, path: str, file: str) -> None:
    """Pages may be below any folder; tags in paths are relative to it."""
    repository.commit({file: page("zlib", "a", tag=None)})
    repository.commit({file: page("zlib", "b", tag=None)})
    states = repository.read(path=path)
    assert [(snapshot.tag, labels(snapshot)) for snapshot in states] == [
        ("develop", specs(zlib="a")),
        ("develop", specs(zlib="b")),
    ]
    assert repository.read(history_of(states), path=path) == []


def test_tag_in_several_folders(repository: Repository) -> None:
    """Pages of one tag in several folders, even of one package, are one state."""
    repository.commit({"_cache/x86/zlib/specs.md": page("zlib", "a")})
    repository.commit({"_cache/arm/zlib/specs.md": page("zlib", "b")})
    repository.commit({"_cache/arm/zlib/specs.md": page("zlib", "c")})
    states = repository.read()
    assert list(map(labels, states)) == [
        specs(zlib="a"),
        specs(zlib=["a", "b"]),
        specs(zlib=["a", "c"]),
    ]
    assert list(map(key, repository.read(history_of(states[:2])))) == [key(states[2])]


def test_folder_with_another_tag_later(repository: Repository) -> None:
    """In a folder not named by its tag, each page counts for the tag that it states."""
    for tag in ("develop-1", "develop-2"):
        repository.commit({"_cache/latest/zlib/specs.md": page("zlib", tag, tag=tag)})
    (state,) = repository.read(tags=["develop-2"])
    assert (state.tag, labels(state)) == ("develop-2", specs(zlib="develop-2"))


@pytest.mark.parametrize("changed", ["develop/zlib", "more/hdf5"])
def test_late_state_has_pages_of_all_folders(repository: Repository, changed: str) -> None:
    """The first selected state has the pages of all folders, whichever of them changed."""
    repository.commit(
        {
            "_cache/develop/zlib/specs.md": page("zlib", "a"),
            "_cache/more/bzip2/specs.md": page("bzip2", "b", tag="v1.0"),
            "_cache/more/hdf5/specs.md": page("hdf5", "c"),
        }
    )
    name = changed.partition("/")[2]
    repository.commit({f"_cache/{changed}/specs.md": page(name, "new")})
    (state,) = repository.read(since=FIRST + timedelta(days=1))
    assert state.tag == "develop"
    assert labels(state) == specs(**{"zlib": "a", "hdf5": "c", name: "new"})
