"""A run continues where the previous one stopped, and reads only new states."""

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
    """Add commits that each change a page of develop, and a tag that is written once."""
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
def test_interrupted_run(repository: Repository, published: int) -> None:
    """After any number of published states, the next run yields only the others."""
    _grow(repository, 6)
    states = repository.read()
    assert len(states) == 7
    rest = repository.read(history_of(states[:published]))
    assert list(map(key, rest)) == list(map(key, states[published:]))


@pytest.mark.parametrize("path", ["_cache", "_cache/develop"])
def test_later_run_parses_changed_tags(
    repository: Repository, parsed: list[str], path: str
) -> None:
    """Without new pages, no page is parsed; after one more, only the pages of its tag are."""
    _grow(repository, 6)
    states = repository.read(path=path)
    parsed.clear()
    repository.commit({f"{path}/index.json": b"{}"})
    assert repository.read(history_of(states), path=path) == []
    assert parsed == []
    _grow(repository, 1)
    (new,) = repository.read(history_of(states), path=path)
    assert labels(new) == specs(a="a 3", b="b 7", c="c 5")
    assert not any("v1.0" in location for location in parsed[2:])
    num_folders = 2 if path == "_cache" else 1
    assert len(parsed) == 3 + num_folders  # whose tags are those of a page


def test_each_blob_is_parsed_once(repository: Repository, parsed: list[str]) -> None:
    """Unchanged pages, and copies at other paths, are not parsed again."""
    _grow(repository, 2)
    copy = page("a", "same", tag=None)
    repository.commit({f"_cache/{tag}/a/specs.md": copy for tag in ("v1.0", "v1.1", "develop")})
    _grow(repository, 3)
    repository.read()
    peeked = 3
    assert len(parsed) == 2 + 1 + 3 + peeked


def test_omitted_tag_is_read_from_its_start(repository: Repository) -> None:
    """After a run for some tags, the next one reads the others from their first commit."""
    _grow(repository, 4)
    states = repository.read()
    only = repository.read(tags=["v1.0"])
    assert list(map(key, only)) == [key(state) for state in states if state.tag == "v1.0"]
    rest = repository.read(history_of(only))
    assert list(map(key, rest)) == [key(state) for state in states if state.tag == "develop"]


def test_rewritten_history(repository: Repository) -> None:
    """If published commits were replaced, published states are not yielded again."""
    _grow(repository, 3)
    history = history_of(repository.read())
    repository.git("commit", "--quiet", "--amend", "--message", "Other words")
    _grow(repository, 1)
    (new,) = repository.read(history)
    assert labels(new) == specs(a="a 3", b="b 1", c="c 2")


def test_states_of_another_source_are_not_yielded(repository: Repository) -> None:
    """A state that the catalog has at that time is left out, whatever its source."""
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


def test_flat_pages_are_resumed(repository: Repository, parsed: list[str]) -> None:
    """Pages that state their own tags are not parsed again in all commits."""
    for number in range(6):
        repository.commit({f"_cache/{name}.md": page(name, f"{name} {number}") for name in "ab"})
    states = repository.read()
    parsed.clear()
    repository.commit({"_cache/a.md": page("a", "new")})
    (new,) = repository.read(history_of(states))
    assert labels(new) == specs(a="new", b="b 5")
    assert len(parsed) == 3
