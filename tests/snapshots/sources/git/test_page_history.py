"""Histories of cache pages in git, commit by commit, and selections of them."""

import random
from collections.abc import Iterator
from datetime import timedelta
from itertools import product
from pathlib import Path

import pytest

from snapshots.errors import SourceError
from snapshots.sources.reports import Report
from tests.snapshots.sources.git.repositories import (
    FIRST,
    HDF5,
    ZLIB,
    Repository,
    history_of,
    key,
    labels,
    page,
    read_at,
    specs,
)
from tests.snapshots.sources.readings import read_pages


def test_each_commit_that_changes_a_tag_is_a_snapshot(repository: Repository) -> None:
    """A snapshot has the state and the time of its commit; another order is no change."""
    repository.commit({ZLIB: page("zlib", "a")})
    repository.commit({HDF5: page("hdf5", "b", "c"), "README.md": b"# Pages"})
    repository.commit({"README.md": b"# The pages"})
    repository.commit({ZLIB: page("zlib", "d")})
    repository.commit({HDF5: page("hdf5", "c", "b")})
    steps: list[tuple[int, int | None]] = []
    report = Report(progress=lambda _task, done, total: steps.append((done, total)))
    states = repository.read(report=report)
    assert steps == [(done, 4) for done in range(5)]
    assert [labels(snapshot) for snapshot in states] == [
        specs(zlib="a"),
        specs(zlib="a", hdf5=["b", "c"]),
        specs(zlib="d", hdf5=["b", "c"]),
    ]
    assert [snapshot.taken_at for snapshot in states] == [
        FIRST + timedelta(days=number) for number in (0, 1, 3)
    ]
    source = states[0].source
    assert (source.kind, source.location) == ("git", str(repository.folder))
    assert source.importer.startswith("cachelog ")


@pytest.mark.parametrize("seed", [1, 21])
def test_states_equal_the_pages_of_their_commits(repository: Repository, seed: int) -> None:
    """Each state is that of all pages of its commit, whatever is selected or known."""
    draw = random.Random(seed)
    cache = repository.folder / "_cache"
    current: dict[str, str] = {}
    expected = []
    for _ in range(15):
        commit = repository.commit(dict(_edits(cache, draw)))
        read = read_pages([cache], report=Report()) if any(cache.rglob("*.md")) else ()
        states = {state.tag: state.content.digest for state in read if len(state.content)}
        for tag, digest in sorted(states.items()):
            if current.get(tag) != digest:
                expected.append((tag, commit, digest))
        current = states
    assert len(expected) > 15
    history = repository.read()
    assert list(map(key, history)) == expected
    for published in range(len(history) + 1):
        rest = repository.read(history_of(history[:published]))
        assert list(map(key, rest)) == expected[published:]
    late = repository.read(since=FIRST + timedelta(days=8))
    assert list(map(key, late)) == [each for each in expected if each[1] in repository.hashes[8:]]
    only = repository.read(tags=["v1.0"])
    assert list(map(key, only)) == [each for each in expected if each[0] == "v1.0"]
    rest = repository.read(history_of(only))
    assert list(map(key, rest)) == [each for each in expected if each[0] != "v1.0"]


def _edits(cache: Path, draw: random.Random) -> Iterator[tuple[str, bytes | None]]:
    """Yield pages to write or to remove, some without specs, of the folder's tag or of none."""
    for folder, name in draw.sample([*product(("develop", "v1.0"), "abc")], 3):
        path = cache / folder / name / "specs.md"
        if path.exists() and draw.random() < 0.5:
            yield str(path.relative_to(cache.parent)), None
            continue
        texts = [f"{folder} {name} {number}" for number in draw.sample(range(9), draw.randrange(4))]
        stated = draw.choice([folder, None])
        yield str(path.relative_to(cache.parent)), page(name, *texts, tag=stated)


def test_first_parents(repository: Repository) -> None:
    """A merge is one step with all of its changes; the commits of the branch are none."""
    repository.commit({ZLIB: page("zlib", "a")})
    repository.git("switch", "--quiet", "--create", "side")
    repository.commit({HDF5: page("hdf5", "b")})
    repository.commit({HDF5: page("hdf5", "c")})
    repository.git("switch", "--quiet", "main")
    repository.moment = FIRST + timedelta(days=9)
    repository.git("merge", "--quiet", "--no-ff", "--message", "Merge", "side")
    states = repository.read()
    assert [labels(snapshot) for snapshot in states] == [specs(zlib="a"), specs(zlib="a", hdf5="c")]
    assert states[1].source.version == repository.git("rev-parse", "HEAD")
    assert states[1].taken_at == FIRST + timedelta(days=9)


def test_removed_pages_and_tags(repository: Repository) -> None:
    """A package without its page is removed; a tag without pages is a warning."""
    repository.commit({ZLIB: page("zlib", "a"), HDF5: page("hdf5", "b")})
    repository.commit({HDF5: None})
    removal = repository.commit({ZLIB: None})
    repository.commit({ZLIB: page("zlib", "a")})
    report = Report()
    states = repository.read(report=report)
    assert list(map(labels, states)) == [
        specs(zlib="a", hdf5="b"),
        specs(zlib="a"),
        specs(zlib="a"),
    ]
    assert report.warnings == [f"develop: commit {removal[:12]} leaves no spec; nothing published"]


# -- bad pages


def test_skipped_bad_page(repository: Repository) -> None:
    """A skipped page removes the package, and is listed once; else the error names the commit."""
    repository.commit({ZLIB: page("zlib", "a"), HDF5: page("hdf5", "b")})
    commit = repository.commit({ZLIB: b"bad"})
    repository.commit({HDF5: page("hdf5", "c")})
    repository.commit({ZLIB: page("zlib", "d")})
    repository.commit({ZLIB: b"bad", "_cache/v1.0/zlib/specs.md": b"bad"})
    report = Report(skip_bad=True)
    skipped = repository.read(report=report)
    assert [(state.tag, labels(state)) for state in skipped] == [
        ("develop", specs(zlib="a", hdf5="b")),
        ("develop", specs(hdf5="b")),
        ("develop", specs(hdf5="c")),
        ("develop", specs(hdf5="c", zlib="d")),
        ("develop", specs(hdf5="c")),
    ]
    assert [error.location for error in report.skipped] == [f"{commit[:12]}:{ZLIB}"]
    states = read_at(str(repository.folder))
    assert labels(next(states)) == specs(zlib="a", hdf5="b")
    with pytest.raises(SourceError, match="does not begin") as caught:
        next(states)
    assert caught.value.location == f"{commit[:12]}:{ZLIB}"


# -- a run continues where the previous one stopped, and reads only new states


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


def test_later_run_parses_changed_tags(repository: Repository, parsed: list[str]) -> None:
    """Without new pages, no page is parsed; after one more, only the pages of its tag are."""
    _grow(repository, 6)
    states = repository.read()
    parsed.clear()
    repository.commit({"_cache/index.json": b"{}"})
    assert repository.read(history_of(states)) == []
    assert parsed == []
    _grow(repository, 1)
    (new,) = repository.read(history_of(states))
    assert labels(new) == specs(a="a 3", b="b 7", c="c 5")
    assert not any("v1.0" in location for location in parsed)
    assert len(parsed) == 3


def test_page_of_another_tag(repository: Repository) -> None:
    """A page that states another tag than its folder is bad."""
    repository.commit({ZLIB: page("zlib", "a"), HDF5: page("hdf5", "b", tag="v1.0")})
    with pytest.raises(SourceError, match=r"states the tag v1\.0, but is in a folder of develop"):
        repository.read()


def test_pages_elsewhere(repository: Repository) -> None:
    """The error says where pages have to be."""
    repository.commit({"_cache/develop/zlib.md": page("zlib", "a")})
    with pytest.raises(SourceError, match=r"has no cache pages: _cache/TAG/PACKAGE/specs\.md"):
        repository.read()


def test_rewritten_history(repository: Repository) -> None:
    """If published commits were replaced, published states are not yielded again."""
    _grow(repository, 3)
    history = history_of(repository.read())
    repository.git("commit", "--quiet", "--amend", "--message", "Other words")
    _grow(repository, 1)
    (new,) = repository.read(history)
    assert labels(new) == specs(a="a 3", b="b 1", c="c 2")
