"""An emulator of S3: ``python -m tests.snapshots.catalog.s3_emulator PORT``.

It keeps objects in memory and answers what clients of a catalog ask for, as the reference of
Amazon S3's REST API says: objects and ranges of them, puts on condition, uploads in parts, removals
and listings. Anybody may ask: no signature is checked. ``POST /-/failing`` lets every request fail
with status 503 until ``DELETE /-/failing``. The log has the range that a request asks for.
"""

import re
import sys
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import format_datetime
from hashlib import md5
from html import escape, unescape
from itertools import count
from typing import NamedTuple

import uvicorn
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

FAILING = "/-/failing"
_MOST_KEYS = 1_000
_LAST = chr(sys.maxunicode)
_RANGE = re.compile(r"bytes=(\d*)-(\d*)")
_KEY = re.compile(r"<Key>(.*?)</Key>", re.DOTALL)
_PART = re.compile(r"<PartNumber>(\d+)</PartNumber>")


class Refused(Exception):
    """An answer that is an error, by one of S3's codes."""

    def __init__(self, status: int, code: str) -> None:
        super().__init__(code)
        self.status = status
        self.code = code


class Stored(NamedTuple):
    """An object."""

    content: bytes
    etag: str
    written_at: datetime


class Bucket:
    """Objects by their keys, and uploads that are not complete."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._objects: dict[str, Stored] = {}
        self._keys: list[str] = []  # in their order
        self._uploads: dict[str, dict[int, bytes]] = {}
        self._numbers = count(1)

    def get(self, key: str) -> Stored:
        """Return an object."""
        if key not in self._objects:
            raise Refused(404, "NoSuchKey")
        return self._objects[key]

    def put(self, key: str, content: bytes, headers: Mapping[str, str]) -> Stored:
        """Write an object, on the conditions that the headers state."""
        there = self._objects.get(key)
        if there is not None and headers.get("if-none-match") == "*":
            raise Refused(412, "PreconditionFailed")
        if there is None:
            insort(self._keys, key)
        self._objects[key] = made = Stored(content, _etag(content), datetime.now(UTC))
        return made

    def remove(self, key: str) -> None:
        """Remove an object; there need not be one."""
        if self._objects.pop(key, None) is not None:
            del self._keys[bisect_left(self._keys, key)]

    def begin(self) -> str:
        """Begin an upload in parts, and return its id."""
        upload = f"upload-{next(self._numbers)}"
        self._uploads[upload] = {}
        return upload

    def parts(self, upload: str) -> dict[int, bytes]:
        """Return the parts of an upload by their numbers."""
        if upload not in self._uploads:
            raise Refused(404, "NoSuchUpload")
        return self._uploads[upload]

    def end(self, upload: str) -> None:
        """Forget an upload."""
        self._uploads.pop(upload, None)

    def listed(self, prefix: str, delimiter: str, after: str) -> Iterator[tuple[str, bool]]:
        """Yield keys, or what those begin with that have the delimiter, and whether it is one."""
        at = max(bisect_left(self._keys, prefix), bisect_right(self._keys, after))
        while at < len(self._keys) and (key := self._keys[at]).startswith(prefix):
            end = key.find(delimiter, len(prefix)) if delimiter else -1
            if end < 0:
                yield key, True
                at += 1
            else:
                common = key[: end + len(delimiter)]
                yield common, False
                at = bisect_left(self._keys, common + _LAST)


class Emulator:
    """The application: buckets by their names, and whether everything fails."""

    def __init__(self) -> None:
        self._buckets: dict[str, Bucket] = {}
        self._is_out = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; it is in the log before the answer is sent."""
        request = Request(scope, receive)
        body = await request.body()
        try:
            answer = self._answer(request, body)
        except Refused as it:
            text = f"<Error><Code>{it.code}</Code><Message>{it.code}</Message></Error>"
            answer = _xml(text if request.method != "HEAD" else "", it.status)
        query = scope["query_string"].decode()
        asked = f"{scope['path']}?{query}" if query else scope["path"]
        ranged = request.headers.get("range", "-")
        print(f'"{request.method} {asked} HTTP/1.1" {answer.status_code} {ranged}', flush=True)
        await answer(scope, receive, send)

    def _answer(self, request: Request, body: bytes) -> Response:
        path = request.scope["path"]
        if path == FAILING:
            self._is_out = request.method == "POST"
            return Response(status_code=204)
        if self._is_out:
            raise Refused(503, "ServiceUnavailable")
        name, _, key = path[1:].partition("/")
        if (request.method, key) == ("PUT", ""):
            self._buckets.setdefault(name, Bucket(name))
            return Response()
        if name not in self._buckets:
            raise Refused(404, "NoSuchBucket")
        bucket, asked = self._buckets[name], request.query_params
        if not key:
            return _of_bucket(bucket, request.method, asked, body)
        if "uploads" in asked or "uploadId" in asked:
            return _of_upload(bucket, key, request, body)
        match request.method:
            case "GET" | "HEAD":
                return _read(bucket.get(key), request)
            case "PUT" if "x-amz-copy-source" not in request.headers:
                return Response(headers={"ETag": bucket.put(key, body, request.headers).etag})
            case "DELETE":
                bucket.remove(key)
                return Response(status_code=204)
        raise Refused(501, "NotImplemented")


def _of_bucket(bucket: Bucket, method: str, asked: Mapping[str, str], body: bytes) -> Response:
    if method == "GET" and asked.get("list-type") == "2":
        return _listing(bucket, asked)
    if method == "POST" and "delete" in asked:
        keys = [unescape(it) for it in _KEY.findall(body.decode())]
        for key in keys:
            bucket.remove(key)
        removed = "".join(f"<Deleted><Key>{escape(it)}</Key></Deleted>" for it in keys)
        return _xml(f"<DeleteResult>{removed}</DeleteResult>")
    raise Refused(501, "NotImplemented")


def _listing(bucket: Bucket, asked: Mapping[str, str]) -> Response:
    prefix, delimiter = asked.get("prefix", ""), asked.get("delimiter", "")
    after = asked.get("continuation-token") or asked.get("start-after", "")
    most = min(int(asked.get("max-keys", _MOST_KEYS)), _MOST_KEYS)
    keys, common, last, more = list[str](), list[str](), "", False
    for key, is_key in bucket.listed(prefix, delimiter, after):
        if len(keys) + len(common) == most:
            more = True
            break
        (keys if is_key else common).append(key)
        last = key if is_key else key + _LAST
    parts = [f"<Name>{bucket.name}</Name><Prefix>{escape(prefix)}</Prefix>"]
    parts.append(f"<KeyCount>{len(keys) + len(common)}</KeyCount>")
    parts.append(f"<IsTruncated>{str(more).lower()}</IsTruncated>")
    if more:
        parts.append(f"<NextContinuationToken>{escape(last)}</NextContinuationToken>")
    for key in keys:
        found = bucket.get(key)
        written_at = found.written_at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        parts.append(
            f"<Contents><Key>{escape(key)}</Key><LastModified>{written_at}</LastModified>"
            f"<ETag>{escape(found.etag)}</ETag><Size>{len(found.content)}</Size>"
            "<StorageClass>STANDARD</StorageClass></Contents>"
        )
    parts += [f"<CommonPrefixes><Prefix>{escape(it)}</Prefix></CommonPrefixes>" for it in common]
    namespace = "http://s3.amazonaws.com/doc/2006-03-01/"
    return _xml(f'<ListBucketResult xmlns="{namespace}">{"".join(parts)}</ListBucketResult>')


def _of_upload(bucket: Bucket, key: str, request: Request, body: bytes) -> Response:
    asked = request.query_params
    if request.method == "POST" and "uploads" in asked:
        told = f"<Bucket>{bucket.name}</Bucket><Key>{escape(key)}</Key>"
        told += f"<UploadId>{bucket.begin()}</UploadId>"
        return _xml(f"<InitiateMultipartUploadResult>{told}</InitiateMultipartUploadResult>")
    upload = asked["uploadId"]
    parts = bucket.parts(upload)
    match request.method:
        case "PUT":
            parts[int(asked["partNumber"])] = body
            return Response(headers={"ETag": _etag(body)})
        case "POST":
            numbers = [int(it) for it in _PART.findall(body.decode())]
            if not numbers or not parts.keys() >= set(numbers):
                raise Refused(400, "InvalidPart")
            made = bucket.put(key, b"".join(parts[it] for it in numbers), request.headers)
            bucket.end(upload)
            told = f"<Key>{escape(key)}</Key><ETag>{escape(made.etag)}</ETag>"
            return _xml(f"<CompleteMultipartUploadResult>{told}</CompleteMultipartUploadResult>")
        case "DELETE":
            bucket.end(upload)
            return Response(status_code=204)
    raise Refused(501, "NotImplemented")


def _read(found: Stored, request: Request) -> Response:
    size, status = len(found.content), 200
    headers = {
        "ETag": found.etag,
        "Last-Modified": format_datetime(found.written_at, usegmt=True),
        "Accept-Ranges": "bytes",
    }
    start, end = 0, size
    if asked := _RANGE.fullmatch(request.headers.get("range", "")):
        first, last = asked.groups()
        start = int(first) if first else max(0, size - int(last))
        end = min(size, int(last) + 1) if first and last else size
        if start >= size:
            raise Refused(416, "InvalidRange")
        headers["Content-Range"] = f"bytes {start}-{end - 1}/{size}"
        status = 206
    headers["Content-Length"] = str(end - start)
    content = b"" if request.method == "HEAD" else found.content[start:end]
    return Response(content, status, headers, "application/octet-stream")


def _etag(content: bytes) -> str:
    return f'"{md5(content, usedforsecurity=False).hexdigest()}"'


def _xml(text: str, status: int = 200) -> Response:
    head = '<?xml version="1.0" encoding="UTF-8"?>\n' if text else ""
    return Response(head + text, status, media_type="application/xml")


def main(port: int) -> None:
    """Serve on 127.0.0.1 until the process is ended."""
    uvicorn.run(Emulator(), host="127.0.0.1", port=port, lifespan="off", access_log=False)


if __name__ == "__main__":
    main(int(sys.argv[1]))
