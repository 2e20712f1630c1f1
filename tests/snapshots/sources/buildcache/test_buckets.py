"""S3 buckets: their URLs, signed requests, lists of objects, and errors."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from snapshots.errors import SourceError
from snapshots.sources.buckets import (
    InBucket,
    bucket_url,
    in_bucket,
    is_s3,
    list_location,
    object_url,
    signed_headers,
)
from snapshots.sources.locations import resolve, resolve_listed
from snapshots.sources.reports import Report
from snapshots.sources.settings import ReadSettings, S3Access
from snapshots.sources.transport import Transport
from tests.expensive import FEWER_EXAMPLES
from tests.snapshots.catalog.emulators import Emulator
from tests.snapshots.sources.buildcache.folders import (
    put_documents,
    put_layout_3,
    put_specs,
    text,
)
from tests.snapshots.sources.buildcache.indexes import (
    LIBELF,
    RUNTIME,
    WRAPPER,
    database,
    node,
    small_database,
)
from tests.snapshots.sources.buildcache.misbehaving_servers import Reply, Server, document, send
from tests.snapshots.sources.readings import QUICK, by_hash, snapshots

KEY: dict[str, Any] = {"key_id": "AKIAIOSFODNN7EXAMPLE", "secret": "wJalrXUtnFEMI"}
HIDDEN = "hidden"


def at(endpoint: str, *, signed: bool = True, **more: Any) -> ReadSettings:
    """Return settings with another endpoint than Amazon's."""
    key = {"key_id": "key", "secret": "secret"} if signed else {}
    return replace(QUICK, s3=S3Access(endpoint=endpoint, allows_http=True, **key), **more)


@pytest.mark.parametrize(
    ("bucket", "access", "url"),
    [
        ("mine", {}, "https://mine.s3.amazonaws.com"),
        ("mine", {"region": "eu-west-1"}, "https://mine.s3.eu-west-1.amazonaws.com"),
        ("my.own", {"region": "eu-west-1"}, "https://s3.eu-west-1.amazonaws.com/my.own"),
        ("mine", {"endpoint": "https://minio"}, "https://minio/mine"),
        ("spack-binaries", {"endpoint": "https://minio"}, "https://binaries.spack.io"),
        ("other", {"endpoint": "https://minio"}, "https://cdn/other"),
    ],
)
def test_url_of_a_bucket(bucket: str, access: dict[str, Any], url: str) -> None:
    """The URL is Amazon's, the endpoint's, or a prefix from the settings."""
    settings = ReadSettings(s3=S3Access(**access), s3_prefixes={"other": "https://cdn/other/"})
    assert bucket_url("s3://x", bucket, settings) == url
    stored_object = in_bucket(f"{url}/a/b%20c", settings)
    assert stored_object == InBucket(url, "a/b c")
    assert is_s3(f"{url}/a", settings) == (bucket in ("mine", "my.own"))
    for location in (
        "https://host/a",
        "https://s3.example.org/bucket/a",
        "https://amazonaws.com/a",
    ):
        assert in_bucket(location, settings) is None


@pytest.mark.parametrize(
    ("access", "reason"),
    [
        ({"key_id": "a"}, "AWS_ACCESS_KEY_ID is set, and AWS_SECRET_ACCESS_KEY is not"),
        ({"secret": HIDDEN}, "AWS_SECRET_ACCESS_KEY is set, and AWS_ACCESS_KEY_ID is not"),
        ({"endpoint": "http://minio"}, "is http://; AWS_ALLOW_HTTP=true allows it"),
        ({"endpoint": "minio"}, "AWS_ENDPOINT_URL, minio, is not an http"),
        ({**KEY, "token": f"{HIDDEN}\r"}, "AWS_SESSION_TOKEN contains a character"),
        ({"key_id": "a", "secret": f"{HIDDEN}\r"}, "AWS_SECRET_ACCESS_KEY contains a character"),
        ({**KEY, "endpoint": f"http://me:{HIDDEN}@minio"}, "AWS_ENDPOINT_URL contains a login"),
    ],
)
def test_invalid_settings(access: dict[str, Any], reason: str) -> None:
    """The error names the variable before a request is sent, without secrets."""
    with pytest.raises(SourceError, match=reason) as caught:
        snapshots("s3://bucket/cache", "mine", settings=replace(QUICK, s3=S3Access(**access)))
    assert caught.value.location == "s3://bucket/cache"
    assert HIDDEN not in str(caught.value)


def test_access_from_the_environment() -> None:
    """The variables are those of a catalog on S3; secrets are not shown."""
    environ = {
        "AWS_ENDPOINT_URL": "http://minio/",
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "id",
        "AWS_SECRET_ACCESS_KEY": HIDDEN,
        "AWS_SESSION_TOKEN": HIDDEN,
        "AWS_DEFAULT_REGION": "eu-west-1",
    }
    access = S3Access.of(environ)
    assert (access.endpoint, access.allows_http) == ("http://minio", True)
    assert (access.region, access.key_id) == ("eu-west-1", "id")
    assert access.secret == access.token == HIDDEN
    assert HIDDEN not in repr(ReadSettings(s3=access))
    assert S3Access.of(environ | {"AWS_REGION": "us-west-2"}).region == "us-west-2"
    assert S3Access.of({}) == S3Access()


_keys = st.text(st.characters(codec="utf-8", exclude_characters="?#\\", min_codepoint=32))


@FEWER_EXAMPLES
@given(
    key=_keys,
    token=st.sampled_from(["", "token"]),
    region=st.sampled_from(["", "eu-west-1"]),
    endpoint=st.sampled_from(["", "http://127.0.0.1:9000"]),
)
def test_signatures_equal_those_of_botocore(
    key: str, token: str, region: str, endpoint: str
) -> None:
    """Signatures are equal for any key, and for lists of objects."""
    access = S3Access(**KEY, token=token, region=region, endpoint=endpoint, allows_http=True)
    settings = ReadSettings(s3=access)
    stored_object = InBucket("s3://bucket", key)
    for location in (
        f"s3://bucket/{key}",
        list_location(stored_object, None),
        list_location(stored_object, "/+="),
    ):
        url = object_url(location, settings)
        mine = signed_headers("GET", url, access, datetime.now(UTC))
        request = AWSRequest("GET", url)
        credentials = Credentials(access.key_id, access.secret, token or None)
        signer = S3SigV4Auth(credentials, "s3", region or "us-east-1")
        request.context["timestamp"] = mine["x-amz-date"]
        request.headers["X-Amz-Date"] = mine["x-amz-date"]
        request.headers["X-Amz-Content-SHA256"] = mine["x-amz-content-sha256"]
        if token:
            request.headers["X-Amz-Security-Token"] = token
        text = signer.string_to_sign(request, signer.canonical_request(request))
        assert mine["Authorization"].endswith(f"Signature={signer.signature(text, request)}")
        assert httpx.URL(url).raw_path.decode() == url.partition(urlsplit(url).netloc)[2]


@pytest.mark.parametrize(
    ("location", "listed_in", "expected"),
    [
        ("s3://mine/e4s", "s3://mine/list.json", "s3://mine/e4s"),
        ("e4s", "s3://mine/lists/list.json", "s3://mine/lists/e4s"),
        ("/e4s", "s3://mine/lists/list.json", "s3://mine/e4s"),
        ("s3://other/e4s", "s3://mine/list.json", "https://other.s3.amazonaws.com/e4s"),
        ("s3://mine/e4s", "https://host/list.json", "https://mine.s3.amazonaws.com/e4s"),
        ("//other/e4s", "s3://mine/list.json", "https://other/e4s"),
        ("s3://mine/e4s", "/srv/list.json", "s3://mine/e4s"),
        ("S3://mine/a", "/srv/list.json", "s3://mine/a"),
        ("s3://spack-binaries/a", "/srv/list.json", "https://binaries.spack.io/a"),
    ],
)
def test_credentials_of_buckets(location: str, listed_in: str, expected: str) -> None:
    """Credentials are used for buckets that the user names, not for those of remote lists."""
    settings = ReadSettings(s3=S3Access(**KEY), s3_prefixes={"open": "https://cdn/open"})
    assert resolve_listed(location, listed_in, settings) == expected
    if listed_in.startswith("/"):
        assert resolve(location, settings) == expected


def fill(emulator: Emulator, folder: Path, prefix: str) -> None:
    """Upload the files of a folder to the emulator's bucket."""
    for file in folder.rglob("*"):
        if file.is_file():
            url = f"{emulator.url}/bucket/{prefix}/{file.relative_to(folder).as_posix()}"
            headers = {"Authorization": "AWS key:signature", "x-amz-acl": "public-read"}
            httpx.put(url, content=file.read_bytes(), headers=headers).raise_for_status()


@pytest.mark.parametrize("is_signed", [True, False])
def test_cache_in_a_bucket(emulator: Emulator, tmp_path: Path, is_signed: bool) -> None:
    """A bucket is read like a folder, with or without an index, and credentials."""
    settings = at(emulator.url, signed=is_signed)
    put_layout_3(tmp_path / "indexed", text(small_database()))
    put_specs(tmp_path / "listed", small_database())
    put_documents(tmp_path / "documents", small_database(), is_signed=True)
    for name in ("indexed", "listed", "documents"):
        prefix = f"{name}-{is_signed}"
        fill(emulator, tmp_path / name, prefix)
        (remote,) = snapshots(f"s3://bucket/{prefix}", "mine", settings=settings)
        (local,) = snapshots(tmp_path / name, "mine")
        assert [replace(spec, tarball=None) for spec in remote.content.specs()] == [
            replace(spec, tarball=None) for spec in local.content.specs()
        ]
        assert remote.source.location == f"s3://bucket/{prefix}"
        if name == "listed":
            start = "s3://bucket" if is_signed else f"{emulator.url}/bucket"
            tarball = by_hash(remote)[LIBELF].tarball
            assert tarball == f"{start}/{prefix}/blobs/sha256/ab/{'ab' * 32}"


def test_cached_documents_are_not_fetched_again(emulator: Emulator, tmp_path: Path) -> None:
    """A second run lists, and fetches two documents of each new or changed spec."""
    settings = replace(at(emulator.url), cache_dir=tmp_path / "cache")
    fetched: list[list[str]] = []

    def read() -> set[str]:
        fill(emulator, tmp_path / "served", "growing")
        before = emulator.num_requests()
        (snapshot,) = snapshots("s3://bucket/growing", "mine", settings=settings)
        requests = emulator.requests()[before:]
        start = "GET /bucket/growing/"
        fetched.append([line.removeprefix(start) for line in requests if line.startswith(start)])
        return set(by_hash(snapshot))

    files = put_specs(tmp_path / "served", small_database())
    assert read() == {LIBELF, RUNTIME, WRAPPER}
    assert len(fetched[0]) == 6
    read()
    assert fetched[1] == []
    put_specs(tmp_path / "served", database(node("zlib", "b" * 32)))
    files[LIBELF].write_bytes(files[LIBELF].read_bytes() + b"\n")
    assert read() == {LIBELF, RUNTIME, WRAPPER, "b" * 32}
    assert len(fetched[2]) == 4
    assert any(path.endswith(f"{LIBELF}.spec.manifest.json") for path in fetched[2])


def listing(*keys: str, following: str | None = None) -> bytes:
    """Return a page of a list of objects."""
    contents = "".join(f'<Contents><Key>{key}</Key><ETag>"1"</ETag></Contents>' for key in keys)
    more = f"<NextContinuationToken>{following}</NextContinuationToken>" if following else ""
    truncated = "true" if following is not None else "false"
    return (
        '<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
        f"<IsTruncated>{truncated}</IsTruncated>"
        f"{contents}{more}</ListBucketResult>"
    ).encode()


def paged(answer: Callable[[str | None], bytes]) -> Reply:
    """Reply with the page of the request's token."""

    def reply(request: Any) -> None:
        query = parse_qs(urlsplit(request.path).query)
        send(request, 200, answer(query.get("continuation-token", [None])[0]))

    return reply


def locations(server: Server, answer: Callable[[str | None], bytes]) -> list[str]:
    """Return the locations in a list of a bucket."""
    server.otherwise = paged(answer)
    with Transport(at(server.url), Report(), [server.url]) as transport:
        return [entry.location for entry in transport.listing("s3://bucket/a")]


def test_lists_of_several_pages(server: Server) -> None:
    """All pages are read, and sorted; objects outside the prefix are left out."""
    pages = {
        None: listing("a/2", "a/b&amp;c", following="/+="),
        "/+=": listing(following="next"),
        "next": listing("a/1", "b/1"),
    }
    assert locations(server, pages.__getitem__) == [
        "s3://bucket/a/1",
        "s3://bucket/a/2",
        "s3://bucket/a/b&c",
    ]
    assert len(server.requests) == 3
    assert server.requests[0] == "GET /bucket/?list-type=2&prefix=a%2F"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (lambda _: listing("a/1", following="again"), "has s3://bucket/a/1 twice"),
        (lambda _: listing(following="again"), "its list does not end"),
        (lambda token: listing(following=f"{token}+"), "its list does not end"),
        (lambda token: listing(f"a/{token}", following=f"{token}+"), "more than 20 files"),
        (lambda _: listing("a/1", following=""), "the list breaks off: it names no next page"),
        (lambda _: b"<html></html>", "cannot be listed: the answer is not a list of objects"),
        (lambda _: b'<?xml version="1.0" encoding="UTG-8"?><a/>', "is not a list of objects"),
        (lambda _: b'<!DOCTYPE a [<!ENTITY b "c">]>' + listing(), "is not a list of objects"),
    ],
)
def test_invalid_lists(
    server: Server, monkeypatch: pytest.MonkeyPatch, answer: Any, reason: str
) -> None:
    """Endless, cyclic and invalid lists are errors with the reason."""
    monkeypatch.setattr("snapshots.sources.transport._LISTED_MAX", 20)
    monkeypatch.setattr("snapshots.sources.transport._PAGES_MAX", 50)
    with pytest.raises(SourceError, match=reason) as caught:
        locations(server, answer)
    assert caught.value.location == "s3://bucket/a"


def refusal(code: int, name: str, **headers: str) -> Reply:
    """Reply with an error in the form of S3."""
    body = f"<Error><Code>{name}</Code><Message>No, by {name}</Message></Error>".encode()
    named = {key.replace("_", "-"): value for key, value in headers.items()}
    return lambda request: send(request, code, body, named)


@pytest.mark.parametrize(
    ("is_signed", "reply", "reason"),
    [
        (True, refusal(403, "InvalidAccessKeyId"), "check AWS_ACCESS_KEY_ID and AWS_SECRET_ACC"),
        (True, refusal(403, "SignatureDoesNotMatch"), r"\(SignatureDoesNotMatch\): the cred.*No, "),
        (True, refusal(403, "AccessDenied"), "AWS_ACCESS_KEY_ID may not read it.*S3_PREFIXES"),
        (True, refusal(404, "NoSuchBucket"), "has no build cache|there is no such bucket"),
        (True, refusal(301, "PermanentRedirect", x_amz_bucket_region="eu-1"), "AWS_REGION=eu-1"),
        (False, refusal(403, "AccessDenied"), "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"),
        (True, refusal(400, "Odd"), "HTTP 400 Bad Request"),
    ],
)
@pytest.mark.parametrize("path", ["", "/v3/manifests/index/index.manifest.json"])
def test_refusals(server: Server, is_signed: bool, reply: Reply, reason: str, path: str) -> None:
    """The error names the variable to set or to check."""
    server.otherwise = reply
    with pytest.raises(SourceError, match=reason):
        snapshots(f"s3://bucket/cache{path}", "mine", settings=at(server.url, signed=is_signed))


def test_signatures_go_to_no_other_host(server: Server) -> None:
    """Redirects are not followed with credentials, and public prefixes do not receive any."""
    elsewhere = refusal(307, "TemporaryRedirect", Location=server.at("/other"))
    server["/bucket/index.json"] = elsewhere
    with pytest.raises(SourceError, match="is in another region"):
        snapshots("s3://bucket/index.json", "mine", settings=at(server.url))
    assert server.requests == ["GET /bucket/index.json"]
    assert "Signature=" in server.headers[0]["Authorization"]
    server["/open/index.json"] = document(small_database())
    settings = at(server.url, s3_prefixes={"open": server.at("/open")})
    assert len(snapshots("s3://open/index.json", "mine", settings=settings)) == 1
    assert "Authorization" not in server.headers[-1]
    stack = {"label": "e4s", "url": "s3://secrets/index.json"}
    server["/list.json"] = document({"develop": [stack]})
    server["/secrets/index.json"] = document(small_database())
    assert len(snapshots(server.at("/list.json"), settings=settings)) == 1
    assert "Authorization" not in server.headers[-1]
