"""The emulator answers as Amazon's reference of S3's REST API says."""

import re
from collections.abc import Iterator

import httpx
import pytest

from tests.snapshots.catalog.emulators import Emulator


@pytest.fixture
def client(emulator: Emulator, request: pytest.FixtureRequest) -> Iterator[httpx.Client]:
    """Return a client of a bucket of this test's own."""
    bucket = f"{emulator.url}/{request.function.__name__}"
    httpx.put(bucket).raise_for_status()
    with httpx.Client(base_url=bucket) as client:
        yield client


def test_an_object(emulator: Emulator, client: httpx.Client) -> None:
    """It is written, read, asked for, written over and removed."""
    etag = client.put("/some/key", content=b"0123456789").headers["ETag"]
    found = client.get("/some/key")
    assert (found.content, found.headers["ETag"]) == (b"0123456789", etag)
    head = client.head("/some/key")
    assert (head.content, head.headers["Content-Length"]) == (b"", "10")
    client.put("/some/key", content=b"other").raise_for_status()
    assert client.get("/some/key").content == b"other"
    for _ in range(2):
        assert client.delete("/some/key").status_code == 204
    assert client.head("/some/key").status_code == 404
    assert "<Code>NoSuchKey</Code>" in client.get("/some/key").text
    assert "<Code>NoSuchBucket</Code>" in httpx.get(f"{emulator.url}/none/some/key").text


@pytest.mark.parametrize(
    ("asked", "status", "content", "span"),
    [
        ("bytes=2-4", 206, b"234", "bytes 2-4/10"),
        ("bytes=8-99", 206, b"89", "bytes 8-9/10"),
        ("bytes=7-", 206, b"789", "bytes 7-9/10"),
        ("bytes=-3", 206, b"789", "bytes 7-9/10"),
    ],
)
def test_a_range(client: httpx.Client, asked: str, status: int, content: bytes, span: str) -> None:
    """It is part of the object, and says which."""
    client.put("/key", content=b"0123456789")
    found = client.get("/key", headers={"Range": asked})
    assert (found.status_code, found.content) == (status, content)
    assert found.headers["Content-Range"] == span


def test_a_range_that_begins_behind_the_end(client: httpx.Client) -> None:
    """It is refused, as any is of an empty object."""
    for content, asked in ((b"0123456789", "bytes=10-12"), (b"", "bytes=0-0")):
        client.put("/key", content=content)
        refused = client.get("/key", headers={"Range": asked})
        assert refused.status_code == 416
        assert "<Code>InvalidRange</Code>" in refused.text


def test_only_one_creates_an_object(client: httpx.Client) -> None:
    """Whether it is written at once or in parts."""
    anew = {"If-None-Match": "*"}
    assert client.put("/key", content=b"first", headers=anew).status_code == 200
    refused = client.put("/key", content=b"second", headers=anew)
    assert refused.status_code == 412
    assert "<Code>PreconditionFailed</Code>" in refused.text
    assert written_in_parts(client, "/key", [b"second"], anew) == 412
    assert client.get("/key").content == b"first"


def written_in_parts(
    client: httpx.Client, path: str, parts: list[bytes], headers: dict[str, str]
) -> int:
    """Write an object in parts; return the last status."""
    upload = client.post(f"{path}?uploads").text.split("UploadId>")[1].removesuffix("</")
    chosen = ""
    for number, part in reversed([*enumerate(parts, 1)]):
        client.put(f"{path}?partNumber={number}&uploadId={upload}", content=part)
        chosen = f"<Part><PartNumber>{number}</PartNumber></Part>{chosen}"
    body = f"<CompleteMultipartUpload>{chosen}</CompleteMultipartUpload>"
    return client.post(f"{path}?uploadId={upload}", content=body, headers=headers).status_code


def test_parts(client: httpx.Client) -> None:
    """They are put together by their numbers; before, and of a forgotten upload, nothing is."""
    assert written_in_parts(client, "/key", [b"one ", b"two"], {}) == 200
    assert client.get("/key").content == b"one two"
    assert client.put("/key?partNumber=1&uploadId=none", content=b"x").status_code == 404


def test_a_listing(client: httpx.Client) -> None:
    """It has the keys in their order, then folders, page by page; what is removed is gone."""
    for key in ("a/1", "a/b/1", "a/b/2", "a&", "c=1/x", "z"):
        client.put(f"/{key}", content=b"x").raise_for_status()
    assert listed(client) == ["a&amp;", "a/1", "a/b/1", "a/b/2", "c=1/x", "z"]
    assert listed(client, prefix="a/") == ["a/1", "a/b/1", "a/b/2"]
    assert listed(client, prefix="a/", delimiter="/") == ["a/1", "a/b/"]
    assert listed(client, **{"start-after": "a/b/1"}) == ["a/b/2", "c=1/x", "z"]
    assert listed(client, delimiter="/", **{"max-keys": "1"}) == ["a&amp;", "a/", "c=1/", "z"]
    removed = "<Delete><Object><Key>a/1</Key></Object><Object><Key>a&amp;</Key></Object></Delete>"
    assert client.post("?delete", content=removed).is_success
    assert listed(client, delimiter="/") == ["z", "a/", "c=1/"]


def listed(client: httpx.Client, **asked: str) -> list[str]:
    """Return what a listing has, of all its pages."""
    found, asked = list[str](), asked | {"list-type": "2"}
    while True:
        text = client.get("", params=asked).raise_for_status().text
        found += re.findall(r"<(?:Contents><Key|CommonPrefixes><Prefix)>(.*?)<", text)
        token = re.search(r"<NextContinuationToken>(.*?)<", text)
        if token is None:
            return found
        asked |= {"continuation-token": token[1]}


def test_an_outage(emulator: Emulator, client: httpx.Client) -> None:
    """Everything fails until it is over."""
    with emulator.failing():
        assert client.get("?list-type=2").status_code == 503
    assert client.get("?list-type=2").status_code == 200


def test_what_it_does_not_know(client: httpx.Client) -> None:
    """It is refused, not taken for something else."""
    assert client.get("?versions").status_code == 501
    assert client.put("/key", headers={"x-amz-copy-source": "/other"}).status_code == 501
