"""A folder served as a bucket of S3, or an index as a registry, by servers that count requests.

``python -m tests.benchmarks.counting_servers bucket FOLDER PORT``, or ``registry INDEX PORT``. The
bucket checks no signature. The registry has an image of each spec of the index below ``cache``, and
that of the whole index below ``indexed``. Both list 1,000 at a time; ``GET /requests`` returns how
many requests there were.
"""

import hashlib
import json
import sys
from collections.abc import Callable, Mapping
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.snapshots.sources.buildcache.indexes import documents_of
from tests.snapshots.sources.buildcache.registries import index_image, spec_image

_BUCKET = "/bucket/"
_TAGS = "/v2/cache/tags/list"
_PAGE = 1_000

Bodies = Mapping[str, bytes]
Query = Mapping[str, list[str]]
Listing = Callable[[Query], tuple[bytes, Mapping[str, str]]]
"""Returns the body and further headers of a page of a list."""


def bucket(folder: Path) -> tuple[Bodies, str, Listing]:
    """Return what a bucket with the files of a folder answers, and where and how it lists them."""
    files = [file for file in sorted(folder.rglob("*")) if file.is_file()]
    bodies = {file.relative_to(folder).as_posix(): file.read_bytes() for file in files}
    keys = sorted(bodies)

    def listing(query: Query) -> tuple[bytes, Mapping[str, str]]:
        (prefix,), (token,) = query["prefix"], query.get("continuation-token", [""])
        below = [key for key in keys if key.startswith(prefix) and key > token]
        is_cut = len(below) > _PAGE
        parts = [f"<ListBucketResult><IsTruncated>{str(is_cut).lower()}</IsTruncated>"]
        if is_cut:
            parts.append(f"<NextContinuationToken>{below[_PAGE - 1]}</NextContinuationToken>")
        parts += (
            f"<Contents><Key>{escape(key)}</Key><ETag>{_etag(bodies[key])}</ETag></Contents>"
            for key in below[:_PAGE]
        )
        return "".join([*parts, "</ListBucketResult>"]).encode(), {}

    return {f"{_BUCKET}{key}": body for key, body in bodies.items()}, _BUCKET, listing


def registry(index: dict[str, Any]) -> tuple[Bodies, str, Listing]:
    """Return what a registry with the specs of an index answers, and where and how it lists."""
    images = [spec_image(document) for document in documents_of(index).values()]
    tags = sorted(image.tag for image in images)
    whole = index_image(index)
    bodies = {"/v2/indexed/manifests/index.spack": whole.manifest}
    bodies |= {f"/v2/indexed/blobs/{name}": body for name, body in whole.blobs.items()}
    for image in images:
        bodies[f"/v2/cache/manifests/{image.tag}"] = image.manifest
        bodies |= {f"/v2/cache/blobs/{name}": body for name, body in image.blobs.items()}

    def listing(query: Query) -> tuple[bytes, Mapping[str, str]]:
        page = [tag for tag in tags if tag > query.get("last", [""])[0]][:_PAGE]
        following = f'<{_TAGS}?n={_PAGE}&last={page[-1]}>; rel="next"'
        headers = {"Link": following} if page[-1] != tags[-1] else {}
        return json.dumps({"name": "cache", "tags": page}).encode(), headers

    return bodies, _TAGS, listing


def _handler(bodies: Bodies, listed: str, listing: Listing) -> type[BaseHTTPRequestHandler]:
    requests: list[str] = []  # to add to a list is safe for threads

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = 1 << 16

        def do_GET(self) -> None:  # the name that http.server asks for
            url = urlsplit(self.path)
            if url.path == "/requests":
                return self._answer(200, str(len(requests)).encode())
            requests.append(self.path)
            if url.path == listed:
                return self._answer(200, *listing(parse_qs(url.query)))
            body = bodies.get(unquote(url.path))
            return self._answer(404, b"") if body is None else self._answer(200, body)

        do_HEAD = do_GET  # noqa: N815

        def _answer(self, code: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
            self.send_response(code)
            for name, value in {"ETag": _etag(body), **(headers or {})}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing: it would take longer than the answer."""

    return Handler


def _etag(body: bytes) -> str:
    return f'"{hashlib.sha256(body).hexdigest()[:32]}"'


def main(kind: str, location: str, port: str) -> None:
    """Serve until the process is ended."""
    path = Path(location)
    served = bucket(path) if kind == "bucket" else registry(json.loads(path.read_bytes()))
    ThreadingHTTPServer(("127.0.0.1", int(port)), _handler(*served)).serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
