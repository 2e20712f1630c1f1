"""Lists of tags and stacks: which tags are chosen, and what their stacks add up to."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from snapshots.errors import InvalidArgument, SourceError
from snapshots.sources.reports import Report
from tests.snapshots.sources.buildcache.folders import (
    put,
    put_layout_3,
    text,
)
from tests.snapshots.sources.buildcache.indexes import (
    GCC,
    LIBELF,
    RUNTIME,
    WRAPPER,
    database,
    edge,
    node,
    small_database,
)
from tests.snapshots.sources.buildcache.misbehaving import (
    Server,
    document,
    status,
)
from tests.snapshots.sources.buildcache.readings import (
    QUICK,
    by_hash,
    serve_tags,
    snapshots,
    stacks_of,
)

_NEEDS_GCC = edge("gcc", GCC, ["build"], ["c"])


def test_a_tag_of_several_stacks(server: Server) -> None:
    """A hash in several indexes is one spec that knows its stacks, sorted."""
    alone = database(node("compiler-wrapper", WRAPPER))
    url = serve_tags(server, {"develop": {"hep": small_database(), "e4s": alone}})
    (snapshot,) = snapshots(url)
    assert snapshot.tag == "develop"
    assert stacks_of(snapshot) == {LIBELF: ("hep",), RUNTIME: ("hep",), WRAPPER: ("e4s", "hep")}
    assert snapshot.source.location == url


def test_what_a_stack_only_depends_on(server: Server) -> None:
    """A stack has a spec only where its own index says that it is in the cache."""
    borrowing = small_database()
    borrowing["database"]["installs"][WRAPPER]["in_buildcache"] = False
    url = serve_tags(server, {"develop": {"root": small_database(), "e4s": borrowing}})
    (snapshot,) = snapshots(url)
    assert stacks_of(snapshot) == {
        LIBELF: ("e4s", "root"),
        RUNTIME: ("e4s", "root"),
        WRAPPER: ("root",),
    }
    assert GCC not in stacks_of(snapshot)


@pytest.mark.parametrize("order", [("e4s", "root"), ("root", "e4s")])
def test_specs_outside_the_cache_of_a_tag(server: Server, order: tuple[str, str]) -> None:
    """What one stack has in the cache is in it; what none has is outside, once."""
    borrowing = small_database()
    borrowing["database"]["installs"][WRAPPER]["in_buildcache"] = False
    indexes = {"root": small_database(), "e4s": borrowing}
    (snapshot,) = snapshots(serve_tags(server, {"develop": {it: indexes[it] for it in order}}))
    assert set(by_hash(snapshot)) == {LIBELF, RUNTIME, WRAPPER}
    assert [spec.hash for spec in snapshot.content.outside.specs] == [GCC]


def test_specs_that_nothing_depends_on_any_more(server: Server) -> None:
    """What only a spec that was skipped depends on is left out."""
    index = database(node("gcc", GCC), node("libelf", LIBELF, dependencies=[_NEEDS_GCC]))
    other = database(node("gcc", GCC), node("libelf", LIBELF, "9"))
    url = serve_tags(server, {"develop": {"e4s": index, "root": other}})
    report = Report(skip_bad=True)
    (snapshot,) = snapshots(url, report=report)
    assert [error.key for error in report.skipped] == [f"installs.{LIBELF}"]
    assert snapshot.content.outside.specs == []


def test_a_stack_of_two_indexes(server: Server) -> None:
    """A stack that is listed twice holds what either index has, and stands once in each spec."""
    url = serve_tags(server, {"develop": {"e4s": small_database()}})
    server["/more.json"] = document(small_database())
    stacks = [
        {"label": "e4s", "url": server.at("/develop/e4s/build_cache/index.json")},
        {"label": "e4s", "url": "more.json"},
    ]
    server["/tags.json"] = document({"develop": stacks})
    (snapshot,) = snapshots(url)
    assert set(stacks_of(snapshot).values()) == {("e4s",)}


def test_the_package_of_the_root_stack(server: Server) -> None:
    """Where several stacks hold a package, the URL is that of the root stack's."""
    url = serve_tags(server, {"v1.0": {"e4s": small_database(), "root": small_database()}})
    (snapshot,) = snapshots(url)
    tarball = by_hash(snapshot)[LIBELF].tarball
    assert tarball is not None
    assert tarball.startswith(f"{server.url}/v1.0/root/build_cache/")


@pytest.mark.parametrize(
    ("wanted", "chosen"),
    [
        ([], ["develop", "develop-2025-03-30", "v1.0"]),
        (["v1.0"], ["v1.0"]),
        (["develop*"], ["develop", "develop-2025-03-30"]),
        (["v*", "develop"], ["develop", "v1.0"]),
    ],
)
def test_choosing_tags(server: Server, wanted: Sequence[str], chosen: list[str]) -> None:
    """Tags are chosen by names and globs; only the indexes of those are fetched."""
    tags = ["develop", "develop-2025-03-30", "v1.0"]
    url = serve_tags(server, {tag: {"root": small_database()} for tag in tags})
    assert [snapshot.tag for snapshot in snapshots(url, *wanted)] == chosen
    assert server.downloads("index.json") == len(chosen)


def test_a_tag_that_is_not_listed(server: Server) -> None:
    """A name or glob that fits no tag is an error that lists those there are."""
    url = serve_tags(server, {"develop": {"root": small_database()}})
    with pytest.raises(InvalidArgument, match=r"v\* fits no tag of .* \(develop\)"):
        snapshots(url, "develop", "v*")


def test_many_tags_that_do_not_fit(tmp_path: Path) -> None:
    """Of a long list the error has the first ones, how many more, and what is nearest."""
    dates = [f"develop-2026-{month:02}-{day:02}" for month in range(1, 13) for day in (1, 15)]
    file = put(tmp_path / "list.json", text({date: [] for date in dates}))
    with pytest.raises(InvalidArgument) as caught:
        snapshots(file, "develop-2026-12-16")
    assert "-10-01, develop-2026-10-15 and 4 more; nearest: develop-2026-12-1" in str(caught.value)
    assert dates[-1] in str(caught.value)


@pytest.mark.parametrize(
    ("field", "value", "shown"),
    [
        ("version", "9.9", "version is '9.9', but '0.8.13' in"),
        ("parameters", {"pic": True}, r"variants is \('\+pic',\), but \('build_system=generic',\)"),
    ],
)
def test_conflicting_facts(server: Server, field: str, value: Any, shown: str) -> None:
    """One hash with different facts in two indexes is an error that names both places."""
    other = small_database()
    other["database"]["installs"][LIBELF]["spec"][field] = value
    url = serve_tags(server, {"develop": {"root": small_database(), "e4s": other}})
    with pytest.raises(SourceError, match=f"{shown}.*develop/root/build_cache") as caught:
        snapshots(url)
    assert caught.value.location == server.at("/develop/e4s/build_cache/index.json")
    assert caught.value.key == f"installs.{LIBELF}"
    report = Report(skip_bad=True)
    (snapshot,) = snapshots(url, report=report)
    assert by_hash(snapshot)[LIBELF].version == "0.8.13"
    assert len(report.skipped) == 1


def test_a_stack_that_cannot_be_read(server: Server) -> None:
    """One bad index ends the import, or is listed where bad places are skipped."""
    stacks = {"root": small_database(), "e4s": small_database(), "hep": []}
    url = serve_tags(server, {"develop": stacks})
    server["/develop/e4s/build_cache/index.json"] = status(404)
    with pytest.raises(SourceError, match=r"develop/e4s.*HTTP 404"):
        snapshots(url)
    report = Report(skip_bad=True)
    (snapshot,) = snapshots(url, report=report)
    assert snapshot.content.stacks == {"root"}
    assert ["e4s" in error.location for error in report.skipped] == [True, False]
    server["/develop/root/build_cache/index.json"] = status(500)
    assert snapshots(url, report=Report(skip_bad=True)) == []


@pytest.mark.parametrize(
    ("listed", "reason"),
    [
        ([], "is neither an index"),
        ("text", "is neither an index"),
        ({"develop": []}, ", develop: lists no stacks"),
        (
            {"develop": [{"label": f"s{n}", "url": "a.json"} for n in range(1_001)]},
            ", develop: lists 1,001 stacks, more than 1,000",
        ),
        ({"database": []}, ", database: expected `object`, got `array`"),
        ({"develop": [{"label": "e4s"}]}, r", develop\[0\].url: is missing"),
        ({"develop": {}}, ", develop: expected `array`, got `object`"),
        ({"develop": [{"label": "a b", "url": "x"}]}, r", develop\[0\].label: 'a b' cannot name"),
        ({"a/b": [{"label": "e4s", "url": "x"}]}, ", a/b: 'a/b' is no tag"),
    ],
)
def test_bad_lists(tmp_path: Path, listed: Any, reason: str) -> None:
    """A list of another form is an error that names the tag and the key."""
    file = put(tmp_path / "tags.json", text(listed))
    with pytest.raises(SourceError, match=reason):
        snapshots(file, *(["mine"] if "database" in listed else []))


def test_bad_tags_of_a_list_can_be_skipped(tmp_path: Path) -> None:
    """What is wrong with a tag is listed where bad places are skipped; other tags are read."""
    put_layout_3(tmp_path / "e4s", text(small_database()))
    listed = {"a/b": [], "v1": [], "v2": [{"label": "e4s", "url": "e4s"}]}
    report = Report(skip_bad=True)
    (snapshot,) = snapshots(put(tmp_path / "tags.json", text(listed)), report=report)
    assert snapshot.tag == "v2"
    assert [error.key for error in report.skipped] == ["a/b", "v1"]


def test_paths_in_a_list(tmp_path: Path) -> None:
    """A local list may name its indexes by paths relative to itself."""
    put_layout_3(tmp_path / "develop" / "e4s", text(small_database()))
    stack = {"label": "e4s", "url": "develop/e4s"}
    file = put(tmp_path / "tags.json", text({"develop": [stack]}))
    (snapshot,) = snapshots(file)
    assert snapshot.content.stacks == {"e4s"}


def test_paths_in_a_list_from_the_net(server: Server, tmp_path: Path) -> None:
    """A list from the net may name its indexes by relative URLs, but no local files."""
    server["/list/tags.json"] = document({"v1": [{"label": "e4s", "url": "index.json"}]})
    server["/list/index.json"] = document(small_database())
    assert len(snapshots(server.at("/list/tags.json"))) == 1
    file = put(tmp_path / "index.json", text(small_database()))
    server["/list/tags.json"] = document({"v1": [{"label": "e4s", "url": file.as_uri()}]})
    with pytest.raises(SourceError, match="names the local file file:///"):
        snapshots(server.at("/list/tags.json"))
    server["/list/tags.json"] = document({"v1": [{"label": "e4s", "url": str(file)}]})
    with pytest.raises(SourceError, match="HTTP 404"):
        snapshots(server.at("/list/tags.json"))


def test_s3_urls(server: Server) -> None:
    """A bucket is read at its public prefix; the source keeps the URL that was given."""
    settings = msgspec.structs.replace(QUICK, s3_prefixes={"bucket": server.url})
    stack = {"label": "e4s", "url": "s3://bucket/develop/index.json"}
    server["/tags.json"] = document({"develop": [stack]})
    server["/develop/index.json"] = document(small_database())
    (snapshot,) = snapshots("s3://bucket/tags.json", settings=settings)
    assert snapshot.source.location == "s3://bucket/tags.json"
    assert len(snapshot.content) == 3


def test_unchanged_indexes_are_not_fetched_again(server: Server, tmp_path: Path) -> None:
    """A second run asks for each index with its ETag, and gives the same content and version."""
    url = serve_tags(server, {"develop": {"root": small_database(), "e4s": small_database()}})
    settings = msgspec.structs.replace(QUICK, cache_dir=tmp_path)
    (first,) = snapshots(url, settings=settings)
    server.headers.clear()
    (second,) = snapshots(url, settings=settings)
    assert first.content.digest == second.content.digest
    assert first.source == second.source
    assert sum("If-None-Match" in headers for headers in server.headers) == 3


def test_stacks_that_know_more_than_others(server: Server) -> None:
    """What one index does not know of a spec is taken from another; what both know must agree."""
    unknowing = database(node("libelf", LIBELF, annotations=None, package_hash=None))
    indexes = {"hep": unknowing, "e4s": database(node("libelf", LIBELF), version="9")}
    for order in (("hep", "e4s"), ("e4s", "hep")):
        url = serve_tags(server, {"develop": {it: indexes[it] for it in order}})
        (snapshot,) = snapshots(url)
        (spec,) = snapshot.content.specs()
        assert (spec.spec_format, spec.stacks) == (5, ("e4s", "hep"))
        assert spec.package_hash is not None
    older = {"original_specfile_version": 4}
    indexes["hep"] = database(node("libelf", LIBELF, annotations=older, namespace=None))
    url = serve_tags(server, {"develop": indexes})
    with pytest.raises(SourceError, match="spec_format is 4, but 5 in") as caught:
        snapshots(url)
    assert caught.value.key == f"installs.{LIBELF}"
