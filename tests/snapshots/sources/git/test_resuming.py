"""A run goes on where the one before it stopped, and reads only what is new."""

from datetime import timedelta

import pytest

from snapshots.contents import Snapshot
from snapshots.sources.reports import Report
from tests.snapshots.sources.git.repositories import (
    FIRST,
    ZLIB,
    Repository,
    history_of,
    key,
    labels,
    page,
    specs,
)
from tests.snapshots.sources.readings import read_pages


def _grow(repository: Repository, commits: int) -> None:
    """Add commits that change a page of develop each, and a tag that is written once."""
    for _ in range(commits):
        number = len(repository.hashes)
        name = "abc"[number % 3]
        changes: dict[str, bytes | None] = {
            f"_cache/develop/{name}/specs.md": page(name, f"{name} {number}")
        }
        if number == 2:
            changes["_cache/v1.0/a/specs.md"] = page("a", "release", tag="v1.0")
        repository.commit(changes)


@pytest.mark.parametrize("published", [0, 1, 4, 7])
def test_an_interrupted_run_goes_on_where_it_stopped(
    repository: Repository, published: int
) -> None:
    """After any number of published states, the next run yields just the others."""
    _grow(repository, 6)
    found = repository.read()
    assert len(found) == 7
    rest = repository.read(history_of(found[:published]))
    assert list(map(key, rest)) == list(map(key, found[published:]))


@pytest.mark.parametrize("path", ["_cache", "_cache/develop"])
def test_a_second_run_parses_nothing(repository: Repository, parsed: list[str], path: str) -> None:
    """Where nothing is new but a file that is not a page, no page is parsed."""
    _grow(repository, 6)
    found = repository.read(path=path)
    parsed.clear()
    repository.commit({f"{path}/index.json": b"{}"})
    assert repository.read(history_of(found), path=path) == []
    assert parsed == []


def test_a_later_run_parses_the_tags_that_changed(
    repository: Repository, parsed: list[str]
) -> None:
    """After one more commit, the pages of its tag are parsed, and no other commit's or tag's."""
    _grow(repository, 6)
    found = repository.read()
    _grow(repository, 1)
    parsed.clear()
    (new,) = repository.read(history_of(found))
    assert labels(new) == specs(a="a 6", b="b 4", c="c 5")
    assert not any("v1.0" in location for location in parsed[2:])
    assert len(parsed) == 5  # two of them to learn the folders' tags


def test_each_blob_is_parsed_once(repository: Repository, parsed: list[str]) -> None:
    """Pages that stay, and copies of a page at other paths, are not parsed again."""
    _grow(repository, 2)
    copy = page("a", "same", tag=None)
    repository.commit({f"_cache/{tag}/a/specs.md": copy for tag in ("v1.0", "v1.1", "develop")})
    _grow(repository, 3)
    repository.read()
    peeked = 3
    assert len(parsed) == 2 + 1 + 3 + peeked


def test_a_tag_that_was_left_out_is_read_from_its_start(repository: Repository) -> None:
    """After a run for some tags, the next one reads the others from their first commit on."""
    _grow(repository, 4)
    found = repository.read()
    only = repository.read(tags=["v1.0"])
    assert list(map(key, only)) == [key(made) for made in found if made.tag == "v1.0"]
    rest = repository.read(history_of(only))
    assert list(map(key, rest)) == [key(made) for made in found if made.tag == "develop"]


def test_a_rewritten_line_is_read_anew(repository: Repository) -> None:
    """Where published commits are gone, states that stand in the catalog are not yielded again."""
    _grow(repository, 3)
    history = history_of(repository.read())
    repository.git("commit", "--quiet", "--amend", "--message", "Other words")
    _grow(repository, 1)
    (new,) = repository.read(history)
    assert labels(new) == specs(a="a 3", b="b 1", c="c 2")


def test_what_another_source_published_is_not_yielded(repository: Repository) -> None:
    """A state that the catalog has at that time already is left out, whatever it came from."""
    repository.commit({ZLIB: page("zlib", "a")})
    (checkout,) = read_pages([repository.folder / "_cache"], report=Report())
    history = history_of(
        [
            Snapshot(
                tag="develop",
                content=checkout.content,
                source=checkout.source,
                taken_at=FIRST - timedelta(days=1),
            )
        ]
    )
    assert repository.read(history) == []


def test_flat_pages_go_on_too(repository: Repository, parsed: list[str]) -> None:
    """Pages that only state their tags themselves are not parsed through all commits again."""
    for number in range(6):
        repository.commit({f"_cache/{name}.md": page(name, f"{name} {number}") for name in "ab"})
    found = repository.read()
    parsed.clear()
    repository.commit({"_cache/a.md": page("a", "new")})
    (new,) = repository.read(history_of(found))
    assert labels(new) == specs(a="new", b="b 5")
    assert len(parsed) == 3
