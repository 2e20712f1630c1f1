"""From a location to snapshots: one index, one build cache, and the list of tags and stacks."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from snapshots.contents import Snapshot
from snapshots.errors import InvalidArgument, SourceError, TagNeeded
from snapshots.models import Spec
from snapshots.sources.buildcache import read, recognise
from snapshots.sources.importer import importer_name
from snapshots.sources.manifests import UNVERIFIED, spec_manifest
from snapshots.sources.pages import parse_page
from snapshots.sources.reports import Report
from snapshots.sources.transport import ReadSettings
from tests.snapshots.sources.misbehaving import (
    Server,
    content,
    document,
    serving,
    status,
    unmeasured,
)
from tests.snapshots.sources.test_index import (
    GCC,
    LIBELF,
    RUNTIME,
    WRAPPER,
    database,
    edge,
    node,
    small_database,
)
from tests.snapshots.sources.test_layouts import put, put_layout_2, put_layout_3
from tests.snapshots.sources.test_manifests import blob, manifest, signed

QUICK = ReadSettings(attempts=2, backoff=0.001, timeout=5)


@pytest.fixture
def server() -> Iterator[Server]:
    """Return a server that replies 404 until told otherwise."""
    with serving() as running:
        yield running


def snapshots(
    location: str | Path,
    *tags: str,
    sizes: bool = False,
    settings: ReadSettings = QUICK,
    report: Report | None = None,
) -> list[Snapshot]:
    """Read everything at a location."""
    report = report or Report()
    return list(read(str(location), tags=tags, sizes=sizes, settings=settings, report=report))


def by_hash(snapshot: Snapshot) -> dict[str, Spec]:
    """Return the specs of a snapshot by their hashes."""
    return {spec.hash: spec for spec in snapshot.content.specs()}


def stacks_of(snapshot: Snapshot) -> dict[str, tuple[str, ...]]:
    """Return the stacks of each spec."""
    return {digest: spec.stacks for digest, spec in by_hash(snapshot).items()}


def text(value: Any) -> bytes:
    """Return a value as JSON."""
    return json.dumps(value).encode()


def serve_tags(server: Server, tags: dict[str, dict[str, Any]]) -> str:
    """Serve an index of layout 2 for each stack of each tag; return the URL of their list."""
    listed: dict[str, list[dict[str, str]]] = {}
    for tag, stacks in tags.items():
        for label, index in stacks.items():
            path = f"/{tag}/{label}/build_cache/index.json"
            server[path] = document(index)
            listed.setdefault(tag, []).append({"label": label, "url": server.at(path)})
    server["/tags.json"] = document(listed)
    return server.at("/tags.json")


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


def test_tarballs_of_layout_2(tmp_path: Path) -> None:
    """In layout 2 the URLs of the packages are known without a request for each."""
    put_layout_2(tmp_path, text(small_database()))
    with serving() as server:
        server.serve_folder(tmp_path)
        (snapshot,) = snapshots(server.url, "mine")
        specs = by_hash(snapshot)
        directory = f"{server.url}/build_cache/test-debian6-m1/gcc-10.2.1/libelf-0.8.13"
        file = f"test-debian6-m1-gcc-10.2.1-libelf-0.8.13-{LIBELF}.spack"
        assert specs[LIBELF].tarball == f"{directory}/{file}"
        assert specs[WRAPPER].tarball is None
        assert server.downloads() == 2


def test_sizes_of_layout_3(tmp_path: Path) -> None:
    """The manifests of specs tell the size and URL of the packages, if they are asked for."""
    put_layout_3(tmp_path, text(small_database()))
    (plain,) = snapshots(tmp_path, "mine")
    assert all((spec.size, spec.tarball) == (None, None) for spec in plain.content.specs())
    for digest, spec in by_hash(plain).items():
        if digest != WRAPPER:
            file = Path(spec_manifest(str(tmp_path), spec))
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


def test_a_tag_of_several_stacks(server: Server) -> None:
    """A hash in several indexes is one spec that knows its stacks, sorted."""
    alone = database(node("compiler-wrapper", WRAPPER))
    url = serve_tags(server, {"develop": {"hep": small_database(), "e4s": alone}})
    (snapshot,) = snapshots(url)
    assert snapshot.tag == "develop"
    assert stacks_of(snapshot) == {LIBELF: ("hep",), RUNTIME: ("hep",), WRAPPER: ("e4s", "hep")}
    assert snapshot.source.location == url


def test_a_stack_that_names_a_spec_of_another(server: Server) -> None:
    """A spec that a stack takes from elsewhere counts to it, as it does on the cache pages."""
    borrowed = small_database()
    borrowed["database"]["installs"][WRAPPER]["in_buildcache"] = False
    url = serve_tags(server, {"develop": {"root": small_database(), "e4s": borrowed}})
    (snapshot,) = snapshots(url)
    assert stacks_of(snapshot)[WRAPPER] == ("e4s", "root")
    assert GCC not in stacks_of(snapshot)


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
        snapshots(file)


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


def test_a_bad_index_is_not_kept(server: Server, tmp_path: Path) -> None:
    """An index that breaks off is fetched anew by the next run, although its ETag is the same."""
    settings = msgspec.structs.replace(QUICK, cache_dir=tmp_path)
    whole = text(small_database())
    server["/index.json"] = content(whole[:-3], etag='"same"')
    with pytest.raises(SourceError, match=r"is neither .*truncated"):
        snapshots(server.at("/index.json"), "mine", settings=settings)
    server["/index.json"] = content(whole, etag='"same"')
    assert len(snapshots(server.at("/index.json"), "mine", settings=settings)) == 1


def test_the_same_facts_as_the_pages() -> None:
    """The page that was made of an index, as Spack spells it, gives the same specs."""
    parameters = {
        "build_system": "cmake",
        "ipo": False,
        "tensile": True,
        "amdgpu_target": ["gfx908", "gfx90a"],
        "languages": ["c", "c++", "fortran"],
        "patches": [f"26090f4{'0' * 57}", f"b231fcc{'0' * 57}"],
    }
    gcc = node("gcc", GCC, "10.2.1")
    edges = [edge("gcc", GCC, ["build"], ["c", "cxx"])]
    built = node("libelf", LIBELF, "0.8.13", parameters=parameters, dependencies=edges)
    detail = {
        "hash": LIBELF,
        "compiler": "gcc@10.2.1",
        "versions": ["0.8.13"],
        "os": "debian6",
        "platform": "test",
        "target": "m1",
        "variants": [
            "amdgpu_target:=gfx908,gfx90a",
            "build_system=cmake",
            "~ipo",
            "languages:='c,c++,fortran'",
            "patches:=26090f4,b231fcc",
            "+tensile",
        ],
        "stacks": ["e4s", "root"],
        "size": "-",
    }
    details = json.dumps([detail])
    page = f'---\ntitle: "libelf"\ncategories: [package, develop]\nspec_details: {details}\n---'
    report = Report()
    (stated,) = parse_page(page.encode(), "specs.md", report).specs
    with serving() as server:
        index = database(gcc, built)
        (snapshot,) = snapshots(serve_tags(server, {"develop": {"root": index, "e4s": index}}))
    (spec,) = snapshot.content.specs()
    unknown = {"tarball": None, "namespace": None, "package_hash": None, "dependencies": None}
    assert msgspec.structs.replace(spec, **unknown) == stated


def test_recognise(tmp_path: Path) -> None:
    """What looks like an index, a build cache or a list of tags is told by a glance."""
    put_layout_2(tmp_path / "two")
    put(tmp_path / "pages" / "libelf" / "specs.md", b"---\n")
    known = {
        str(put(tmp_path / "index.json", b' {"database": {}}')): True,
        str(put(tmp_path / "any.name", signed("{}"))): True,
        str(put(tmp_path / "specs.md", b"---\n")): False,
        str(tmp_path / "two"): True,
        str(tmp_path / "pages"): False,
        str(tmp_path / "none"): False,
        "https://host/cache": True,
        "s3://bucket/cache": True,
        "https://host/pages.git": False,
        "oci://host/image": False,
        "git@host:pages.git": False,
    }
    assert {location: recognise(location, QUICK) for location in known} == known


def test_what_is_no_index_at_a_url(server: Server) -> None:
    """A web page where an index should be is an error, and no crash."""
    server["/index.json"] = unmeasured(b"<html>Sign in</html>")
    with pytest.raises(SourceError, match="is neither an index"):
        snapshots(server.at("/index.json"), "mine")
