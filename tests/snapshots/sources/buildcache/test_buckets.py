"""Buckets: which requests are signed, lists of objects, and errors."""

import json
import os
from pathlib import Path
from typing import Any

import httpx
import pytest
from msgspec.structs import replace

from snapshots.errors import SourceError
from snapshots.sources.settings import ReadSettings
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
from tests.snapshots.sources.buildcache.misbehaving_servers import (
    Reply,
    Server,
    document,
    send,
    serving,
    status,
)
from tests.snapshots.sources.readings import QUICK, by_hash, snapshots

VARIABLES = (
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_ENDPOINT_URL",
    "AWS_ALLOW_HTTP",
)
KEY = {"AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE", "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI"}
HIDDEN = "hidden"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Restore the variables after each test, which begins without them."""
    for name in VARIABLES:
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)


def at(endpoint: str, *, signed: bool = True, **more: Any) -> ReadSettings:
    """Set another endpoint than Amazon's, with or without a key; return settings."""
    os.environ |= {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ALLOW_HTTP": "true",
        **(KEY if signed else {}),
    }
    return replace(QUICK, **more)


@pytest.mark.parametrize(
    ("variables", "reason"),
    [
        ({"AWS_ACCESS_KEY_ID": "a"}, "Missing SecretAccessKey"),
        ({"AWS_SECRET_ACCESS_KEY": HIDDEN}, "Missing AccessKeyId"),
        ({"AWS_ENDPOINT_URL": "http://minio"}, "not an https.*AWS_ALLOW_HTTP=true allows http"),
        ({"AWS_ENDPOINT_URL": "minio"}, "AWS_ENDPOINT_URL, minio, is not an https"),
        ({"AWS_ENDPOINT_URL": ""}, "AWS_ENDPOINT_URL, , is not an https"),
        ({**KEY, "AWS_SESSION_TOKEN": f"{HIDDEN}\r"}, "AWS_SESSION_TOKEN contains a character"),
        (
            {**KEY, "AWS_SECRET_ACCESS_KEY": f"{HIDDEN}\r"},
            "AWS_SECRET_ACCESS_KEY contains a character",
        ),
        (
            {**KEY, "AWS_ENDPOINT_URL": f"http://me:{HIDDEN}@minio"},
            "AWS_ENDPOINT_URL contains a login",
        ),
    ],
)
def test_invalid_variables(variables: dict[str, str], reason: str) -> None:
    """The error names the variable before a request is sent, without secrets."""
    os.environ |= variables
    with pytest.raises(SourceError, match=reason) as caught:
        snapshots("s3://bucket/cache", "mine")
    assert HIDDEN not in str(caught.value)


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
            tarball = by_hash(remote)[LIBELF].tarball
            assert tarball == f"s3://bucket/{prefix}/blobs/sha256/ab/{'ab' * 32}"


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


def test_changed_manifests_are_read_again(emulator: Emulator, tmp_path: Path) -> None:
    """Only those of binaries that were replaced are."""
    settings = replace(at(emulator.url), cache_dir=tmp_path / "cache")
    folder = tmp_path / "served"
    manifests = put_specs(folder, small_database())
    put_layout_3(folder, text(small_database()))

    def read() -> tuple[str | None, int]:
        """Return the checksum of libelf, and the number of manifests of specs that are read."""
        fill(emulator, folder, "replaced")
        before = emulator.num_requests()
        (snapshot,) = snapshots("s3://bucket/replaced", "mine", sizes=True, settings=settings)
        requests = emulator.requests()[before:]
        manifests = [
            line for line in requests if line.startswith("GET") and "spec.manifest" in line
        ]
        return by_hash(snapshot)[LIBELF].checksum, len(manifests)

    first, second = (f"sha256:{digits * 32}" for digits in ("ab", "cd"))
    assert read() == (first, 3)
    assert read() == (first, 0)
    replaced = manifests[LIBELF].read_text().replace("ab" * 32, "cd" * 32)
    manifests[LIBELF].write_text(replaced)
    assert read() == (second, 1)


def refusal(code: int, name: str, **headers: str) -> Reply:
    """Reply with an error in the form of S3."""
    body = f"<Error><Code>{name}</Code><Message>No, by {name}</Message></Error>".encode()
    named = {key.replace("_", "-"): value for key, value in headers.items()}
    named["Content-Length"] = str(len(body))
    return lambda request: send(request, code, body, named)


@pytest.mark.parametrize(
    ("is_signed", "reply", "reason"),
    [
        (True, refusal(403, "InvalidAccessKeyId"), "check AWS_ACCESS_KEY_ID and AWS_SECRET_ACC"),
        (True, refusal(403, "SignatureDoesNotMatch"), r"\(SignatureDoesNotMatch\): the cred.*No, "),
        (True, refusal(403, "AccessDenied"), "AWS_ACCESS_KEY_ID may not read it.*S3_PREFIXES"),
        (True, refusal(404, "NoSuchBucket"), "has no build cache|there is no such bucket"),
        (True, refusal(301, "PermanentRedirect", x_amz_bucket_region="eu-1"), "set AWS_REGION"),
        (False, refusal(403, "AccessDenied"), "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"),
        (True, refusal(400, "Odd"), "HTTP 400 Bad Request"),
    ],
)
def test_refusals(server: Server, is_signed: bool, reply: Reply, reason: str) -> None:
    """The error names the variable to set or to check."""
    server.otherwise = reply
    with pytest.raises(SourceError, match=reason):
        snapshots("s3://bucket/cache", "mine", settings=at(server.url, signed=is_signed))


def test_signatures_go_to_no_other_host(server: Server) -> None:
    """Neither where a bucket redirects, nor to public prefixes, nor to buckets in others' lists."""
    with serving() as other:
        other["/index.json"] = document(small_database())
        server["/bucket/index.json"] = status(307, Location=other.at("/index.json"))
        assert len(snapshots("s3://bucket/index.json", "mine", settings=at(server.url))) == 1
        assert "Signature=" in server.headers[0]["authorization"]
        assert "authorization" not in other.headers[0]
    server["/open/index.json"] = document(small_database())
    settings = at(server.url, s3_prefixes={"open": server.at("/open")})
    assert len(snapshots("s3://open/index.json", "mine", settings=settings)) == 1
    assert "Authorization" not in server.headers[-1]
    stack = {"label": "e4s", "url": "s3://secrets/index.json"}
    server["/list.json"] = document({"develop": [stack]})
    server["/secrets/index.json"] = document(small_database())
    assert len(snapshots(server.at("/list.json"), settings=settings)) == 1
    assert "Authorization" not in server.headers[-1]


def dated(value: Any) -> Reply:
    """Reply with a value as JSON, and the time that Google and Azure always state."""
    data = json.dumps(value).encode()
    moment = {"Last-Modified": "Thu, 01 Jan 2026 00:00:00 GMT", "ETag": '"1"'}
    return lambda request: send(request, 200, data, {**moment, "Content-Length": str(len(data))})


def test_buckets_of_google(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are read with the credentials of the environment."""
    account = {"gcs_base_url": server.url, "disable_oauth": True, "private_key": "p"}
    account |= {"client_email": "e", "private_key_id": "i"}
    monkeypatch.setenv("GOOGLE_SERVICE_ACCOUNT_KEY", json.dumps(account))
    server.otherwise = dated(small_database())
    (snapshot,) = snapshots("gs://bucket/index.json", "mine", settings=at(server.url))
    assert by_hash(snapshot).keys() == {LIBELF, RUNTIME, WRAPPER}
    assert server.requests == ["GET /bucket/index%2Ejson"]


@pytest.mark.parametrize("is_signed", [True, False])
def test_buckets_of_azure(server: Server, monkeypatch: pytest.MonkeyPatch, is_signed: bool) -> None:
    """They are read with the credentials of the environment, or without any."""
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "account")
    monkeypatch.setenv("AZURE_ENDPOINT", server.url)
    if is_signed:
        monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", "a2V5")
    server["/bucket/index.json"] = dated(small_database())
    (snapshot,) = snapshots("az://bucket/index.json", "mine", settings=at(server.url))
    assert by_hash(snapshot).keys() == {LIBELF, RUNTIME, WRAPPER}
    assert all(("authorization" in headers) == is_signed for headers in server.headers)
