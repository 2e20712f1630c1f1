"""From a location to snapshots: one index, one build cache, and what is neither."""

import gzip
import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import Raw

from snapshots.changes.diff import Comparison
from snapshots.contents import Content, Snapshot
from snapshots.errors import InvalidArgument, SourceError, TagNeeded
from snapshots.frames.frame import Frame
from snapshots.models import Spec
from snapshots.program import importer_name
from snapshots.sources.buildcache.layouts import UNVERIFIED, BuildCache
from snapshots.sources.buildcache.reader import StackIndex, explain, labelled, recognise
from snapshots.sources.locations import mirror_of
from snapshots.sources.reports import Report
from snapshots.sources.settings import ReadSettings
from tests.snapshots.changes.states import fields_of
from tests.snapshots.sources.buildcache.fetching import kept
from tests.snapshots.sources.buildcache.folders import (
    blob,
    manifest,
    put,
    put_blob_index,
    put_indexes,
    put_installation,
    put_layout_2,
    put_layout_3,
    put_specs,
    signed,
    text,
)
from tests.snapshots.sources.buildcache.indexes import (
    GCC,
    LIBELF,
    RUNTIME,
    WRAPPER,
    database,
    edge,
    installation,
    node,
    small_database,
)
from tests.snapshots.sources.buildcache.misbehaving import (
    Server,
    content,
    document,
    status,
    unmeasured,
)
from tests.snapshots.sources.buildcache.readings import (
    QUICK,
    by_hash,
    serve_tags,
    snapshots,
    stacks_of,
)
from tests.snapshots.sources.readings import read_locations


def test_one_index(tmp_path: Path) -> None:
    """An index is a snapshot under the tag that was given; its specs have no stacks."""
    file = put(tmp_path / "index.json", text(small_database()))
    (snapshot,) = snapshots(file, "mine")
    assert snapshot.tag == "mine"
    assert stacks_of(snapshot) == {LIBELF: (), RUNTIME: (), WRAPPER: ()}
    assert all(spec.tarball is None for spec in snapshot.content.specs())
    source = snapshot.source
    assert (source.kind, source.location) == ("index", str(file))
    assert source.importer == importer_name()
    assert source.version is not None
    assert source.version.startswith("sha256:")


@pytest.mark.parametrize("put_layout", [put_layout_2, put_layout_3])
def test_one_build_cache(tmp_path: Path, put_layout: Any) -> None:
    """A build cache gives what its index alone gives, in either layout."""
    file = put(tmp_path / "index.json", text(small_database()))
    put_layout(tmp_path / "cache", text(small_database()))
    (alone,), (cached,) = snapshots(file, "mine"), snapshots(tmp_path / "cache", "mine")
    found = [msgspec.structs.replace(spec, tarball=None) for spec in cached.content.specs()]
    assert found == list(alone.content.specs())


def test_a_tag_is_needed(tmp_path: Path) -> None:
    """One index says no tag of its own: exactly one has to be given, and one that can be used."""
    file = put(tmp_path / "index.json", text(small_database()))
    put_layout_3(tmp_path / "cache", b"not even read")
    for location in (file, tmp_path / "cache"):
        with pytest.raises(TagNeeded, match="--tag"):
            snapshots(location)
        with pytest.raises(InvalidArgument, match="name one tag"):
            snapshots(location, "one", "two")
        with pytest.raises(InvalidArgument, match="is no tag"):
            snapshots(location, "develop-*")


def test_tarballs_of_layout_2(server: Server, tmp_path: Path) -> None:
    """In layout 2 the URLs of the packages are known without a request for each."""
    put_layout_2(tmp_path, text(small_database()))
    server.serve_folder(tmp_path)
    (snapshot,) = snapshots(server.url, "mine")
    specs = by_hash(snapshot)
    directory = f"{server.url}/build_cache/test-debian6-m1/gcc-10.2.1/libelf-0.8.13"
    file = f"test-debian6-m1-gcc-10.2.1-libelf-0.8.13-{LIBELF}.spack"
    assert specs[LIBELF].tarball == f"{directory}/{file}"
    assert "/none-none/compiler-wrapper-1.0/" in str(specs[WRAPPER].tarball)
    assert server.downloads() == 2


def test_a_key_in_the_url_is_not_published(server: Server) -> None:
    """A query, which can hold a key, is sent with each request and stands nowhere afterwards."""
    server["/build_cache/index.json?key=secret"] = document(small_database())
    (snapshot,) = snapshots(server.at("/build_cache/index.json?key=secret"), "mine")
    assert server.downloads("/build_cache/index.json.hash?key=secret") == 1
    assert snapshot.source.location == server.at("/build_cache/index.json")
    assert "secret" not in str(list(snapshot.content.specs()))


def test_sizes_of_layout_3(tmp_path: Path) -> None:
    """The manifests of specs tell the size and URL of the packages, if they are asked for."""
    put_layout_3(tmp_path, text(small_database()))
    (plain,) = snapshots(tmp_path, "mine")
    assert all((spec.size, spec.tarball) == (None, None) for spec in plain.content.specs())
    for digest, spec in by_hash(plain).items():
        if digest != WRAPPER:
            file = Path(BuildCache(3, str(tmp_path)).spec_manifest(spec))
            put(file, signed(json.dumps(manifest(blob(contentLength=len(spec.name))))))
    report = Report()
    (snapshot,) = snapshots(tmp_path, "mine", sizes=True, report=report)
    specs = by_hash(snapshot)
    assert {digest: spec.size for digest, spec in specs.items()} == {
        LIBELF: 6,
        RUNTIME: 11,
        WRAPPER: None,
    }
    package = tmp_path / "blobs" / "sha256" / "ab" / ("ab" * 32)
    assert specs[LIBELF].tarball == package.as_uri()
    assert specs[WRAPPER].tarball is None
    assert sorted(warning == UNVERIFIED for warning in report.warnings) == [False, True]


def test_nothing_that_could_be_read(tmp_path: Path) -> None:
    """An index whose entries are all bad makes no empty revision; one without entries does."""
    bad = small_database()
    for entry in bad["database"]["installs"].values():
        entry["spec"]["version"] = ""
    file = put(tmp_path / "index.json", text(bad))
    report = Report(skip_bad=True)
    assert snapshots(file, "mine", report=report) == []
    assert len(report.skipped) == 3
    put(file, text(database()))
    (snapshot,) = snapshots(file, "mine")
    assert len(snapshot.content) == 0


def test_a_bad_index_is_not_kept(server: Server, tmp_path: Path) -> None:
    """An index that breaks off is fetched anew by the next run, although its ETag is the same."""
    settings = msgspec.structs.replace(QUICK, cache_dir=tmp_path)
    whole = text(small_database())
    server["/index.json"] = content(whole[:-3], etag='"same"')
    with pytest.raises(SourceError, match=r"is neither .*truncated"):
        snapshots(server.at("/index.json"), "mine", settings=settings)
    server["/index.json"] = content(whole, etag='"same"')
    assert len(snapshots(server.at("/index.json"), "mine", settings=settings)) == 1


def test_recognise(tmp_path: Path) -> None:
    """What looks like an index, a build cache or a list of tags is told by a glance."""
    put_layout_2(tmp_path / "two")
    put(tmp_path / "pages" / "libelf" / "specs.md", b"---\n")
    os.mkfifo(tmp_path / "pipe")
    known = {
        str(put(tmp_path / "index.json", b' {"database": {}}')): True,
        (tmp_path / "index.json").as_uri(): True,
        str(put(tmp_path / "any.name", signed("{}"))): True,
        str(put(tmp_path / "specs.md", b"---\n")): False,
        str(tmp_path / "two"): True,
        str(tmp_path / "pages"): False,
        str(tmp_path / "none"): False,
        str(tmp_path / "pipe"): False,
        "/" + "a" * 5000: False,
        "a\0b": False,
        "https://host/cache": True,
        "https://[host/cache": True,
        "https://me:secret@host/cache": True,
        "s3://bucket/cache": True,
        "S3://bucket/cache": True,
        "https://host/pages.git": False,
        "https://host/pages.git/": False,
        "oci://host/image": True,
        "file://host/index.json": False,
        "git@host:pages.git": False,
    }
    assert {location: recognise(location, QUICK) for location in known} == known


@pytest.mark.parametrize("location", ["https://[host/cache", "a\0b", "/" + "a" * 5000, ""])
def test_locations_that_nothing_lies_at(location: str) -> None:
    """What is no good path or URL is an error, and no crash."""
    with pytest.raises(SourceError):
        snapshots(location, "mine")


def test_what_is_no_index_at_a_url(server: Server) -> None:
    """A web page where an index should be is an error, and no crash."""
    server["/index.json"] = unmeasured(b"<html>Sign in</html>")
    with pytest.raises(SourceError, match="is neither an index"):
        snapshots(server.at("/index.json"), "mine")


def test_a_cache_of_two_indexes(tmp_path: Path) -> None:
    """Where a manifest lists an index of each of two versions, what either holds is read."""
    edges = [edge("gcc", GCC, ["build"], ["c"])]
    newer = database(
        node("libelf", LIBELF, provided_virtuals=["elf"], dependencies=edges), version="9"
    )
    older = database(node("gcc", GCC, "10.2.1"), node("gcc-runtime", RUNTIME))
    put_indexes(tmp_path, {8: text(older), 9: text(newer)})
    (both,) = snapshots(tmp_path, "develop")
    assert set(by_hash(both)) == {LIBELF, RUNTIME}
    assert by_hash(both)[LIBELF].provided_virtuals == ("elf",)
    assert [spec.hash for spec in both.content.outside.specs] == [GCC]
    put_indexes(tmp_path, {9: text(newer)})
    (one,) = snapshots(tmp_path, "develop")
    assert one.source.version != both.source.version


@pytest.mark.parametrize("damaged", [8, 9])
def test_one_of_two_indexes_is_damaged(tmp_path: Path, damaged: int) -> None:
    """Nothing is read, and the error names the manifest."""
    indexes = {8: text(small_database()), 9: text(small_database())}
    file = put_indexes(tmp_path, indexes | {damaged: b'{"database": {}}'})
    with pytest.raises(SourceError, match="is missing") as caught:
        snapshots(tmp_path, "develop")
    assert caught.value.location == str(file)


# -- documents that are no index are named, with what to import instead


@pytest.mark.parametrize(
    ("document", "what"),
    [
        ({"spec": b'{"_meta": {"version": 4}, "nodes": []}', "buildinfo": b"{}"}, "spec.json"),
        ({"spec": b' [{"zlib": {"version": "1.2.11"}}]'}, "spec.json"),
        ({"_meta": b'{"file-type": "spack-lockfile"}', "roots": b"[]"}, "spack.lock"),
        ({"spec": b'[{"label": "e4s", "url": "https://example.org"}]'}, None),
        ({"develop": b"[]", "_meta": b"[]"}, None),
        ({"database": b'{"version": "8"}'}, None),
        ({}, None),
    ],
)
def test_what_a_document_is(document: dict[str, bytes], what: str | None) -> None:
    """A list of tags may have a tag of any name."""
    reason = explain({key: Raw(text) for key, text in document.items()})
    if what is None:
        assert reason is None
    else:
        assert reason is not None
        assert reason.startswith(f"is the {what} of one ") or "of an environment" in reason
        assert "import the index.json" in reason


# -- indexes and build caches that are given as the stacks of one revision


def together(*locations: str, tag: str | None = "develop", **more: Any) -> list[Snapshot]:
    """Read locations in one import."""
    tags = [tag] if tag else []
    return list(read_locations(locations, tags=tags, settings=QUICK, report=Report(), **more))


def small_caches(folder: Path) -> tuple[str, str]:
    """Write two build caches, and return their folders."""
    put_layout_2(folder / "one", text(small_database()))
    put_specs(folder / "other", database(node("compiler-wrapper", WRAPPER)))
    return str(folder / "one"), str(folder / "other")


def test_stacks_of_one_revision(tmp_path: Path) -> None:
    """Each spec knows the stacks that have it, and root, the union of all."""
    one, other = small_caches(tmp_path)
    (snapshot,) = together(f"ml={other}", f"e4s={one}", tag="develop-2026-06-27")
    assert snapshot.tag == "develop-2026-06-27"
    assert stacks_of(snapshot) == {
        LIBELF: ("e4s", "root"),
        RUNTIME: ("e4s", "root"),
        WRAPPER: ("e4s", "ml", "root"),
    }
    assert snapshot.source.location == f"e4s={one} ml={other}"


def test_a_package_that_one_stack_tells(tmp_path: Path) -> None:
    """A cache without an index tells sizes, also of specs that a stack before it has."""
    put_layout_2(tmp_path / "indexed", text(small_database()))
    put_specs(tmp_path / "listed", small_database())
    (alone,) = snapshots(tmp_path / "listed", "develop")
    (both,) = together(f"a={tmp_path / 'indexed'}", f"b={tmp_path / 'listed'}")
    packages = {spec.hash: (spec.size, spec.tarball) for spec in alone.content.specs()}
    assert {spec.hash: (spec.size, spec.tarball) for spec in both.content.specs()} == packages


def test_they_are_what_a_list_of_them_is(tmp_path: Path) -> None:
    """Content and version are those of the public list that names the same, with its root."""
    one, other = small_caches(tmp_path)
    stacks = {"e4s": one, "ml": other, "root": one}
    listed = [{"label": label, "url": url} for label, url in stacks.items()]
    (expected,) = snapshots(put(tmp_path / "list.json", text({"develop": listed})))
    (named,) = together(*(f"{label}={url}" for label, url in stacks.items()))
    assert named.content.digest == expected.content.digest
    assert named.source.version == expected.source.version
    (made,) = together(f"e4s={one}", f"ml={other}")
    assert made.content.digest == expected.content.digest


def test_two_installations(tmp_path: Path) -> None:
    """What both have is explicit where one of them says so, and there since the earlier moment."""
    facts = {
        "one": {"explicit": True, "installation_time": 1_743_336_000.0},
        "other": {"explicit": False, "installation_time": 1_700_000_000.0},
    }
    for place, told in facts.items():
        put_installation(tmp_path / place, installation({LIBELF: told}))
    both = [f"a={tmp_path / 'one'}", f"b={tmp_path / 'other'}"]
    for order in (both, both[::-1]):
        (snapshot,) = together(*order)
        libelf = by_hash(snapshot)[LIBELF]
        assert libelf.stacks == ("a", "b", "root")
        assert (libelf.explicit, libelf.installed_at) == (True, "2023-11-14T22:13:20Z")


def test_stacks_at_urls(server: Server) -> None:
    """Each may lie at another address; what a URL hides behind ? is not published."""
    server["/a.json?key=1"] = document(small_database())
    server["/b.json"] = document(database(node("compiler-wrapper", WRAPPER)))
    (snapshot,) = together(f"e4s={server.at('/a.json?key=1')}", f"ml={server.at('/b.json')}")
    assert snapshot.content.stacks == {"e4s", "ml", "root"}
    assert snapshot.source.location == f"e4s={server.at('/a.json')} ml={server.at('/b.json')}"


@pytest.mark.parametrize(
    ("location", "stack"),
    [
        ("e4s=https://host/a=b.json", ("e4s", "https://host/a=b.json")),
        ("e4s=folder", ("e4s", "folder")),
        ("e4s=nothing", ("e4s", "nothing")),
        ("a=index.json", ("a", "index.json")),
        ("a=b.json", None),
        ("./a=b.json", None),
        ("a b=folder", None),
        ("https://host/?a=b", None),
        ("folder", None),
    ],
)
def test_which_locations_name_a_stack(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, location: str, stack: Any
) -> None:
    """What stands before = has to be a stack's name, and the whole no file of that name."""
    monkeypatch.chdir(tmp_path)
    put_layout_2(tmp_path / "folder")
    for name in ("a=b.json", "index.json", "a=index.json"):
        put(tmp_path / name, b"{}")
    assert labelled(location, QUICK) == (stack and StackIndex(*stack))


def test_a_file_whose_name_has_an_equals_sign(tmp_path: Path, monkeypatch: Any) -> None:
    """It is read as it ever was."""
    monkeypatch.chdir(tmp_path)
    put(tmp_path / "a=b.json", text(small_database()))
    for location in ("a=b.json", "./a=b.json"):
        (snapshot,) = together(location)
        assert snapshot.content.stacks == frozenset()


def test_a_stack_without_a_location(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told how to write one, unless a file has that name."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidArgument, match="e4s= names a stack and no place; write e4s=LOC"):
        together("e4s=")
    put(tmp_path / "e4s=", text(small_database()))
    (snapshot,) = together("e4s=")
    assert snapshot.content.stacks == frozenset()


def test_stacks_beside_a_location_of_none(tmp_path: Path) -> None:
    """Whether that belongs to the same revision nobody can tell."""
    one, other = small_caches(tmp_path)
    reason = f"{other} is given for no stack, and e4s=.* give each as STACK=LOCATION, or import"
    with pytest.raises(InvalidArgument, match=reason):
        together(f"e4s={one}", other)


def test_what_cannot_be_the_stacks_of_a_revision(tmp_path: Path) -> None:
    """Each is told before anything is published: no tag, one twice, a list, what is not there."""
    one, other = small_caches(tmp_path)
    with pytest.raises(TagNeeded, match="name one with --tag"):
        together(f"e4s={one}", tag=None)
    with pytest.raises(InvalidArgument, match=r"e4s=.*one stands there twice"):
        together(f"e4s={one}", f"ml={other}", f"e4s={one}")
    file = put(tmp_path / "list.json", text({"develop": [{"label": "e4s", "url": one}]}))
    with pytest.raises(SourceError, match="is a list of tags, which have stacks themselves"):
        together(f"e4s={file}")
    with pytest.raises(SourceError, match="nothing: does not exist"):
        together(f"e4s={one}", f"ml={tmp_path}/nothing")
    with pytest.raises(SourceError, match="ftp://host/a: is none of what can be read"):
        together("e4s=ftp://host/a")
    with pytest.raises(InvalidArgument, match="more than 1,000 stacks"):
        together(*(f"s{number}={one}" for number in range(1001)))


# -- lists of tags and stacks: which tags are chosen, and what their stacks add up to


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


# -- the list of a public cache as it is published: of indexes named by their checksums


TAGS = ("develop", "develop-2026-06-27", "v1.1.0")


def in_bucket(server: Server) -> ReadSettings:
    """Return settings by which the server is the bucket ``public``."""
    return msgspec.structs.replace(QUICK, s3_prefixes={"public": server.url})


def listed(server: Server, folder: Path, **stacks: str) -> None:
    """Serve a folder and a list of one tag, whose stacks have indexes at these paths."""
    urls = [{"label": label, "url": f"s3://public/{path}"} for label, path in stacks.items()]
    server.serve_folder(folder)
    server["/list.json"] = document({"develop": urls})


@pytest.mark.parametrize("packed", [True, False])
def test_indexes_that_are_blobs(server: Server, tmp_path: Path, packed: bool) -> None:
    """They are read packed or not, beside entries of old; each stack has a cache of its own."""
    alone = database(node("compiler-wrapper", WRAPPER))
    tags: dict[str, list[dict[str, str]]] = {}
    for tag in TAGS:
        indexes = {"e4s": small_database(), "hep": alone}
        paths = {
            label: f"{tag}/{label}/" + put_blob_index(tmp_path / tag / label, index, packed=packed)
            for label, index in indexes.items()
        }
        put_layout_2(tmp_path / tag / "old", text(alone))
        paths["old"] = f"{tag}/old/build_cache/index.json"
        tags[tag] = [{"label": it, "url": f"s3://public/{path}"} for it, path in paths.items()]
    server.serve_folder(tmp_path)
    server["/list.json"] = document(tags)
    found = snapshots("s3://public/list.json", settings=in_bucket(server))
    assert tuple(snapshot.tag for snapshot in found) == TAGS
    for snapshot in found:
        assert stacks_of(snapshot) == {
            LIBELF: ("e4s",),
            RUNTIME: ("e4s",),
            WRAPPER: ("e4s", "hep", "old"),
        }


def test_sizes_of_a_list_of_blobs(server: Server, tmp_path: Path) -> None:
    """The manifests lie in the stack's own cache, before /blobs/, and so do the tarballs."""
    index = database(node("libelf", LIBELF, "0.8.13"))
    path = put_blob_index(tmp_path / "develop" / "e4s", index)
    listed(server, tmp_path, e4s=f"develop/e4s/{path}")
    name = f"/develop/e4s/v3/manifests/spec/libelf/libelf-0.8.13-{LIBELF}.spec.manifest.json"
    server[name] = document(manifest(blob()))
    (snapshot,) = snapshots("s3://public/list.json", sizes=True, settings=in_bucket(server))
    spec = by_hash(snapshot)[LIBELF]
    assert spec.size == 1234
    assert spec.tarball is not None
    assert spec.tarball.startswith(f"{server.url}/develop/e4s/blobs/sha256/ab/abab")


def test_a_blob_with_another_checksum(server: Server, tmp_path: Path) -> None:
    """It is refused by name, kept for no later run, and skipped where that is allowed."""
    path = put_blob_index(tmp_path / "e4s", small_database())
    good = put_blob_index(tmp_path / "hep", small_database())
    data = gzip.compress(text(small_database()) + b" ", mtime=0)
    put(tmp_path / "e4s" / path, data)
    listed(server, tmp_path, e4s=f"e4s/{path}", hep=f"hep/{good}")
    settings = msgspec.structs.replace(in_bucket(server), cache_dir=tmp_path / "kept")
    actual, stated = hashlib.sha256(data).hexdigest(), path.rpartition("/")[2]
    reason = f"its sha256 is {actual}, but its name says {stated}; .* try again"
    with pytest.raises(SourceError, match=reason) as caught:
        snapshots("s3://public/list.json", settings=settings)
    assert caught.value.location == f"{server.url}/e4s/{path}"
    report = Report(skip_bad=True)
    (snapshot,) = snapshots("s3://public/list.json", settings=settings, report=report)
    assert snapshot.content.stacks == {"hep"}
    assert len(report.skipped) == 1
    server[f"/e4s/{path}"] = content(gzip.compress(text(small_database()), mtime=0))
    (snapshot,) = snapshots("s3://public/list.json", settings=settings)
    assert snapshot.content.stacks == {"e4s", "hep"}


def test_a_new_index_takes_the_place_of_the_old_one(server: Server, tmp_path: Path) -> None:
    """An unchanged blob is not fetched again; what a stack had before fills no disk."""
    settings = msgspec.structs.replace(in_bucket(server), cache_dir=tmp_path / "kept")
    sizes = []
    for index in (small_database(), small_database(), database(node("libelf", LIBELF))):
        path = put_blob_index(tmp_path / "served" / "e4s", index)
        listed(server, tmp_path / "served", e4s=f"e4s/{path}")
        server.asked.clear()
        server.headers.clear()
        (snapshot,) = snapshots("s3://public/list.json", settings=settings)
        conditional = sum("If-None-Match" in headers for headers in server.headers)
        sizes.append((len(snapshot.content), conditional, len(kept(tmp_path / "kept"))))
    assert sizes == [(3, 0, 2), (3, 2, 2), (1, 1, 2)]


def test_a_blob_alone(server: Server, tmp_path: Path) -> None:
    """A blob is a location like any index: it wants a tag, and knows its cache."""
    path = put_blob_index(tmp_path, small_database())
    server.serve_folder(tmp_path)
    for location in (str(tmp_path / path), server.at(f"/{path}")):
        assert recognise(location, QUICK)
        (snapshot,) = snapshots(location, "mine")
        assert set(by_hash(snapshot)) == {LIBELF, RUNTIME, WRAPPER}
    assert not recognise(str(put(tmp_path / "blob", gzip.compress(b"{}"))), QUICK)


def test_an_index_that_is_listed_twice(tmp_path: Path) -> None:
    """One stack cannot have the same index twice; nothing of the tag is read then."""
    stack = {"label": "e4s", "url": "e4s"}
    file = put(tmp_path / "list.json", text({"develop": [stack, stack | {"label": "hep"}, stack]}))
    with pytest.raises(SourceError, match=r"names the index that develop\[0\] names") as caught:
        snapshots(file)
    assert caught.value.key == "develop[2].url"


# -- the database of an installation: what is installed, who asked for it, and when


def read_tree(tree: Path, database: dict[str, Any]) -> Snapshot:
    """Return what is installed in a tree that has the database."""
    (found,) = snapshots(put_installation(tree, database), "mysite")
    return found


@pytest.mark.parametrize("below", ["", ".spack-db", ".spack-db/index.json"])
def test_where_an_installation_is_read(tmp_path: Path, below: str) -> None:
    """Its install tree, the folder of the database and the database itself all stand for it."""
    location = put_installation(tmp_path, installation()) / below
    assert recognise(str(location), QUICK)
    (found,) = snapshots(location, "mysite")
    assert by_hash(found).keys() == {LIBELF, WRAPPER, RUNTIME, GCC}
    assert found.source.kind == "installation"


def test_an_installation_at_a_url(server: Server) -> None:
    """One that is served over HTTP is read, too."""
    server["/tree/.spack-db/index.json"] = document(installation())
    (found,) = snapshots(server.at("/tree"), "mysite")
    assert found.source.kind == "installation"


@pytest.mark.parametrize("version", ["5", "6", "7", "8", "9"])
def test_what_is_known_of_what_is_put_installation(tmp_path: Path, version: str) -> None:
    """Whether it was asked for, and when it was installed, in whole seconds."""
    specs = by_hash(read_tree(tmp_path, installation(version=version)))
    assert {digest: spec.explicit for digest, spec in specs.items()} == {
        LIBELF: True,
        WRAPPER: False,
        RUNTIME: False,
        GCC: False,
    }
    assert {spec.installed_at for spec in specs.values()} == {"2025-03-30T12:00:00Z"}
    assert specs[LIBELF].compiler == "gcc@10.2.1"


def test_an_external_spec_is_in_the_installation(tmp_path: Path) -> None:
    """As Spack lists it, with where it lies."""
    specs = by_hash(read_tree(tmp_path, installation()))
    assert specs[GCC].external_path == "/path"


def test_what_is_not_installed_is_outside(tmp_path: Path) -> None:
    """It is known because something depends on it; so is what was deprecated."""
    gone = {"installed": False, "deprecated_for": WRAPPER}
    found = read_tree(tmp_path, installation({RUNTIME: gone}))
    assert by_hash(found).keys() == {LIBELF, WRAPPER, GCC}
    (outside,) = found.content.outside.specs
    assert (outside.hash, outside.explicit, outside.installed_at) == (RUNTIME, None, None)


def test_what_is_not_told(tmp_path: Path) -> None:
    """Old databases have no times, and a null is none."""
    database = installation({LIBELF: {"installation_time": None, "explicit": None}})
    for key in ("installation_time", "explicit"):
        del database["database"]["installs"][WRAPPER][key]
    specs = by_hash(read_tree(tmp_path, database))
    for digest in (LIBELF, WRAPPER):
        assert (specs[digest].explicit, specs[digest].installed_at) == (None, None)


def test_a_build_cache_tells_neither(tmp_path: Path) -> None:
    """An index that has such keys all the same is a build cache's."""
    database = small_database()
    for install in database["database"]["installs"].values():
        install |= {"explicit": True, "installation_time": 1.0, "installed": True}
    (found,) = snapshots(put(tmp_path / "index.json", json.dumps(database).encode()), "mysite")
    assert found.source.kind == "index"
    assert GCC not in by_hash(found)
    assert {(spec.explicit, spec.installed_at) for spec in found.content.specs()} == {(None, None)}


@pytest.mark.parametrize(
    ("record", "key", "reason"),
    [
        ({"installation_time": -1}, "installation_time", "expected `float` >= 0"),
        ({"installation_time": 1e300}, "installation_time", "expected `float` <"),
        ({"installation_time": "now"}, "installation_time", "expected `float | null`"),
        ({"explicit": 1}, "explicit", "expected `bool | null`"),
        ({"installed": "yes"}, "installed", "expected `bool | null`"),
    ],
)
def test_bad_records(tmp_path: Path, record: dict[str, Any], key: str, reason: str) -> None:
    """The error names the key; on request the entry is left out."""
    tree = put_installation(tmp_path, installation({LIBELF: record}))
    with pytest.raises(SourceError) as error:
        snapshots(tree, "mysite")
    assert error.value.key == f"installs.{LIBELF}.{key}"
    assert error.value.reason.startswith(reason)
    report = Report(skip_bad=True)
    (found,) = snapshots(tree, "mysite", report=report)
    assert LIBELF not in by_hash(found)
    assert len(report.skipped) == 1


def frame_of(*specs: Spec) -> Frame:
    """Return the frame of a content."""
    content = Content.of(specs)
    return Frame(content.table(), content.digest)


def test_what_changes_of_an_installation(tmp_path: Path) -> None:
    """That somebody asks for a spec now is a change; that it was installed again is none."""
    libelf = by_hash(read_tree(tmp_path, installation()))[LIBELF]
    again = msgspec.structs.replace(libelf, installed_at="2025-04-01T00:00:00Z")
    comparison = Comparison(frame_of(libelf), frame_of(again))
    assert len(comparison.specs) == 0
    unasked = msgspec.structs.replace(again, explicit=False)
    comparison = Comparison(frame_of(libelf), frame_of(unasked))
    (change,) = comparison.specs
    ((field,),) = fields_of(comparison)
    assert (change.hash, field.path, field.before, field.after) == (
        LIBELF,
        "explicit",
        True,
        False,
    )
    cached = msgspec.structs.replace(libelf, explicit=None, installed_at=None)
    assert len(Comparison(frame_of(libelf), frame_of(cached)).specs) == 0


# -- the mirror to install from, by what a revision was read from


URL = "https://cache.example/develop/e4s"


@pytest.mark.parametrize(
    ("kind", "location", "tarball", "mirror"),
    [
        ("index", URL, None, URL),
        ("index", f"{URL}/", None, URL),
        ("index", f"{URL}/build_cache/index.json", None, URL),
        ("index", f"{URL}/v3/manifests/index/index.manifest.json", None, URL),
        ("index", "/caches/e4s", None, "/caches/e4s"),
        ("index", "https://cache.example/tags.json", f"{URL}/build_cache/a/b.spack", URL),
        ("index", "https://cache.example/tags.json", f"{URL}/blobs/sha256/ab/abc", URL),
        ("pages", "site/_cache", f"{URL}/build_cache/a/b.spack", URL),
        ("index", "s3://bucket/e4s/", None, "s3://bucket/e4s"),
        (
            "index",
            "s3://bucket/tags.json",
            "s3://bucket/e4s/blobs/sha256/ab/abc",
            "s3://bucket/e4s",
        ),
        ("index", "e4s=/caches/e4s ml=/caches/ml", None, None),
        ("index", "https://cache.example/tags.json", None, None),
        ("index", "caches/e4s", None, None),
        ("pages", "https://site.example/_cache", None, None),
        ("git", "https://site.example/cache.git", None, None),
        ("demo", "demo: 40 packages", None, None),
        ("index", "oci://ghcr.example/a/b", None, "oci://ghcr.example/a/b"),
        (
            "index",
            "oci://ghcr.example/a/b",
            "https://ghcr.example/v2/a/b/blobs/sha256:0",
            "oci://ghcr.example/a/b",
        ),
        (
            "index",
            "e4s=oci://ghcr.example/a/b ml=/caches/ml",
            "https://ghcr.example/v2/a/b/blobs/sha256:0",
            "oci://ghcr.example/a/b",
        ),
        (
            "index",
            "e4s=oci+http://127.0.0.1:5000/a",
            "http://127.0.0.1:5000/v2/a/blobs/sha512:0",
            "oci+http://127.0.0.1:5000/a",
        ),
        ("index", "/caches/e4s", "https://elsewhere.example/b.spack", "/caches/e4s"),
    ],
)
def test_a_mirror_is_told_or_unknown(
    kind: str, location: str, tarball: str | None, mirror: str | None
) -> None:
    """It is what has the folders of a build cache directly below it; nothing is guessed."""
    assert mirror_of(kind, location, tarball) == mirror
