"""Build caches in OCI registries: contents, cached documents, and errors."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import msgspec
import pytest

from snapshots.errors import SourceError
from snapshots.sources.buildcache.oci import repository_at, tag_of
from snapshots.sources.buildcache.reader import recognise
from snapshots.sources.reports import Report
from snapshots.sources.settings import ReadSettings
from tests.snapshots.sources.buildcache.indexes import (
    LIBELF,
    database,
    documents_of,
    edge,
    node,
)
from tests.snapshots.sources.buildcache.misbehaving_servers import (
    Server,
    content,
    document,
    status,
    unmeasured,
)
from tests.snapshots.sources.buildcache.readings import QUICK, by_hash, snapshots
from tests.snapshots.sources.buildcache.registries import (
    IMAGES,
    INDEX,
    Image,
    descriptor,
    digest_of,
    index_image,
    serve,
    spec_image,
)

TAGS = "/v2/site/cache/tags/list?n=1000"


def caching(folder: Path) -> ReadSettings:
    """Return settings that cache documents in a folder."""
    return msgspec.structs.replace(QUICK, cache_dir=folder)


def manifests(server: Server) -> int:
    """Return the number of requested manifests of specs."""
    paths = [line for line in server.requests if "/manifests/" in line]
    return len([line for line in paths if not line.endswith("/index.spack")])


@pytest.mark.parametrize(
    ("location", "url"),
    [
        ("oci://ghcr.io/site/cache", "https://ghcr.io/v2/site/cache"),
        ("OCI://GHCR.io/Site/Cache/", "https://ghcr.io/v2/site/cache"),
        ("oci+http://127.0.0.1:5000/a", "http://127.0.0.1:5000/v2/a"),
        ("oci://[::1]:5000/a.b__c-d/e", "https://[::1]:5000/v2/a.b__c-d/e"),
    ],
)
def test_locations(location: str, url: str) -> None:
    """A location names the host and the repository, in lower case as in Spack."""
    assert recognise(location, QUICK)
    assert repository_at(location, QUICK).url == url


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        ("oci://ghcr.io", "names no repository: write oci://HOST/NAME"),
        ("oci:///site", "names no registry: write oci://HOST/NAME"),
        ("oci://ghcr.io:99999/site", "is not a valid URL"),
        ("oci://ghcr.io/site/cache:latest", "names no repository: .* without a tag"),
        ("oci://ghcr.io/site/../cache", "names no repository"),
        ("oci://ghcr.io/site?x", "names no repository"),
        ("oci://ghcr.io/site\n", "names no repository"),
        ("oci://ghcr.io:x/site", "names no registry"),
        ("oci+http://?/site", "names no registry"),
        ("oci://me:secret@ghcr.io/site", "holds a login"),
    ],
)
def test_invalid_locations(location: str, reason: str) -> None:
    """The error says how to write a location, without a login."""
    with pytest.raises(SourceError, match=reason) as error:
        snapshots(location, "mysite")
    assert "secret" not in str(error.value)


def test_index(server: Server) -> None:
    """The first layer of index.spack is read like any index."""
    server["/build_cache/index.json"] = document(INDEX)
    (other,) = snapshots(server.at("/build_cache/index.json"), "mysite")
    location = serve(server, "site/cache", [index_image(INDEX)])
    (snapshot,) = snapshots(location, "mysite")
    assert (snapshot.tag, by_hash(snapshot).keys()) == ("mysite", by_hash(other).keys())
    assert list(snapshot.content.outside.specs) == list(other.content.outside.specs)
    assert (snapshot.source.kind, snapshot.source.location) == ("index", location)
    assert snapshot.source.version == digest_of(json.dumps(INDEX).encode())
    accepted = server.headers[-2]["Accept"]
    assert accepted.startswith("application/vnd.oci.image.manifest.v1+json")


def test_sizes_of_missing_images(server: Server) -> None:
    """Sizes of missing images are unknown, with one warning; without the option all are."""
    location = serve(server, "site/cache", [index_image(INDEX), *IMAGES[1:]])
    report = Report()
    (snapshot,) = snapshots(location, "mysite", sizes=True, report=report)
    assert [spec.size for spec in snapshot.content.specs()].count(None) == 1
    (warning,) = report.warnings
    assert warning.startswith("1 of 3 sizes stay unknown, as their manifests are missing")
    (without,) = snapshots(location, "mysite")
    assert without.content.total_size() is None


@pytest.mark.parametrize("damaged", ["x'00'", "x'8080'", "substr(document, 1, 40)"])
def test_damaged_cached_documents(server: Server, tmp_path: Path, damaged: str) -> None:
    """Documents that cannot be decompressed are fetched and cached again."""
    location = serve(server, "site/cache", IMAGES)
    (first,) = snapshots(location, "a", settings=caching(tmp_path))
    with sqlite3.connect(tmp_path / "documents.sqlite3") as database:
        database.execute(f"UPDATE documents SET document = {damaged}")  # noqa: S608
    database.close()
    (second,) = snapshots(location, "a", settings=caching(tmp_path))
    assert manifests(server) == 2 * len(IMAGES)
    snapshots(location, "a", settings=caching(tmp_path))
    assert manifests(server) == 2 * len(IMAGES)
    assert first.content.digest == second.content.digest


def test_tags_on_many_pages(server: Server) -> None:
    """Each page links to the next one by a relative or an absolute URL."""
    location = serve(server, "site/cache", IMAGES)
    tags = [image.tag for image in IMAGES]
    last = f"/v2/site/cache/tags/list?last={tags[1]}"
    server[TAGS] = page(tags[:1], "/v2/site/cache/tags/list?last=a")
    server["/v2/site/cache/tags/list?last=a"] = page(tags[:2], server.at(last))
    server[last] = page(tags[2:], None)
    (snapshot,) = snapshots(location, "mysite")
    assert len(snapshot.content) == len(IMAGES)


def page(tags: list[str], following: str | None) -> Any:
    """Reply with a page of tags, and a link to the next page."""
    body = json.dumps({"name": "site/cache", "tags": tags}).encode()
    return unmeasured(body, **({"Link": f'<{following}>; rel="next"'} if following else {}))


@pytest.mark.parametrize(
    ("link", "reason"),
    [
        (TAGS, "does not stop paging: 0 tags on 21 pages; the registry is at fault"),
        ("http://127.0.0.1:9/v2/site/cache/tags/list", "leads to another host for more tags"),
        ("http://[", "next page that is not a URL"),
    ],
)
def test_invalid_links_between_pages(server: Server, link: str, reason: str) -> None:
    """Cyclic links end, and links to other hosts are not followed."""
    location = serve(server, "site/cache", IMAGES)
    server[TAGS] = page([], link)
    with pytest.raises(SourceError, match=reason):
        snapshots(location, "mysite")


def test_missing_repository(server: Server) -> None:
    """Without index and tags the error names the host and the repository."""
    host = server.url.removeprefix("http://")
    with pytest.raises(SourceError, match=f"{host} has no repository site/nothing"):
        snapshots(f"oci+http://{host}/site/nothing", "mysite")
    server["/v2/site/denied/manifests/index.spack"] = status(403)
    with pytest.raises(SourceError, match=r"no such repository, .* CACHELOG_OCI_USER"):
        snapshots(f"oci+http://{host}/site/denied", "mysite")


@pytest.mark.parametrize("tags", [[], ["latest"], None])
def test_repository_without_a_build_cache(server: Server, tags: list[str] | None) -> None:
    """A repository with other images, or with null as its tags, has no build cache."""
    location = serve(server, "site/cache", [])
    server[TAGS] = document({"name": "site/cache", "tags": tags})
    with pytest.raises(SourceError, match=r"holds no build cache: neither index\.spack nor a tag"):
        snapshots(location, "mysite")


def bad_manifest(value: dict[str, Any]) -> Image:
    """Return the image index.spack with another manifest."""
    return Image("index.spack", json.dumps(value).encode(), {})


@pytest.mark.parametrize(
    ("manifest", "reason"),
    [
        ({"layers": []}, "layers: names no layer that holds the index"),
        ({"layers": [{"digest": "sha256:0", "size": 1}]}, "digest: expected `str` matching"),
        ({"layers": [{"digest": f"md5:{'0' * 32}", "size": 1}]}, "digest: expected `str` matching"),
        ({"layers": [{"digest": f"sha256:{'0' * 64}", "size": -1}]}, "size: "),
        ({"layers": [{"digest": f"sha256:{'0' * 64}", "size": 1}]}, "names the blob .*HTTP 404"),
        ({"layers": 1}, "layers: "),
        (
            {"manifests": [descriptor(b"a"), descriptor(b"b")]},
            "is an image index of 2 images, not the image of one",
        ),
        ({"manifests": [descriptor(b"a")]}, "names the manifest .*HTTP 404"),
    ],
)
def test_invalid_manifests(server: Server, manifest: dict[str, Any], reason: str) -> None:
    """The error names the manifest and the reason."""
    location = serve(server, "site/cache", [bad_manifest(manifest)])
    with pytest.raises(SourceError, match=rf"/v2/site/cache/manifests/index\.spack.*{reason}"):
        snapshots(location, "mysite")


def test_image_index_of_one_image(server: Server) -> None:
    """An image index leads to its image, whose manifest has to have the checksum."""
    inner = index_image(INDEX)
    location = serve(server, "site/cache", [inner])
    outer = {"manifests": [descriptor(inner.manifest)]}
    server["/v2/site/cache/manifests/index.spack"] = document(outer)
    (snapshot,) = snapshots(location, "mysite")
    assert LIBELF in by_hash(snapshot)
    path = f"/v2/site/cache/manifests/{digest_of(inner.manifest)}"
    server[path] = content(inner.manifest + b" ")
    with pytest.raises(SourceError, match=r"its sha256 is .*, but .*/index\.spack says"):
        snapshots(location, "mysite")
    nested = json.dumps(outer).encode()
    server[f"/v2/site/cache/manifests/{digest_of(nested)}"] = content(nested)
    server["/v2/site/cache/manifests/index.spack"] = document({"manifests": [descriptor(nested)]})
    with pytest.raises(SourceError, match="is an image index in an image index"):
        snapshots(location, "mysite")


def test_skipped_bad_image(server: Server, tmp_path: Path) -> None:
    """A bad image ends an import or is skipped; its blob is not cached."""
    location = serve(server, "site/cache", IMAGES)
    path = next(f"/v2/site/cache/blobs/{blob}" for blob in IMAGES[0].blobs)
    right, server[path] = server.replies[path], content(b"{}")
    settings = caching(tmp_path)
    with pytest.raises(SourceError, match=r"its sha256 is .*, but .*\.spack says"):
        snapshots(location, "mysite", settings=settings)
    report = Report(skip_bad=True)
    (snapshot,) = snapshots(location, "mysite", settings=settings, report=report)
    assert (len(snapshot.content), len(report.skipped)) == (len(IMAGES) - 1, 1)
    server[path] = right
    (snapshot,) = snapshots(location, "mysite", settings=settings)
    assert len(snapshot.content) == len(IMAGES)


@pytest.mark.parametrize(
    ("manifest", "reason"),
    [
        (json.loads(IMAGES[1].manifest), "is published as that of"),
        ({"layers": [descriptor(b"")]}, "config: names no config that holds the spec"),
        ({"config": descriptor(b"")}, "layers: names no layer that holds the binary"),
        ({"config": descriptor(b"?"), "layers": [descriptor(b"")]}, "names the blob .*: HTTP 404"),
    ],
)
def test_invalid_images(server: Server, manifest: dict[str, Any], reason: str) -> None:
    """The error names the image by its tag."""
    tag = IMAGES[0].tag
    location = serve(server, "site/cache", IMAGES)
    server[f"/v2/site/cache/blobs/{digest_of(b'')}"] = content(b"")
    server[f"/v2/site/cache/manifests/{tag}"] = document(manifest)
    with pytest.raises(SourceError, match=rf"/v2/site/cache/(manifests/{tag}|blobs).*{reason}"):
        snapshots(location, "mysite")


def test_cycle_of_dependencies(server: Server) -> None:
    """A cycle is an error that names its specs, or they are skipped."""
    one, two, three = ("a" * 32, "b" * 32, "c" * 32)
    edges = {digest: [edge("next", end, ["link"], [])] for digest, end in ((one, two), (two, one))}
    index = database(
        node("one", one, dependencies=edges[one]),
        node("two", two, dependencies=edges[two]),
        node("three", three, dependencies=edges[one]),
    )
    location = serve(
        server, "site/cache", [spec_image(value) for value in documents_of(index).values()]
    )
    with pytest.raises(SourceError, match=r"depends on itself, .*: (one|two)/\w{7} -> .* -> "):
        snapshots(location, "mysite")
    report = Report(skip_bad=True)
    (snapshot,) = snapshots(location, "mysite", report=report)
    assert by_hash(snapshot).keys() == {three}
    assert len(report.skipped) == 1


@pytest.mark.parametrize(
    ("name", "version", "tag"),
    [
        ("zlib", "1.3.1", f"zlib-1.3.1-{LIBELF}.spack"),
        ("zlib", "git.abc=1:2+x", f"zlib-git.abc_1_2_x-{LIBELF}.spack"),
        ("a" * 64, "9" * 90, f"{'a' * 64}{'9' * 25}-{LIBELF}.spack"),
    ],
)
def test_tags_of_specs(name: str, version: str, tag: str) -> None:
    """Other characters are replaced, and long tags are shortened in the middle."""
    assert tag_of(name, version, LIBELF) == tag
