"""A folder served as a bucket of S3: ``python -m tests.benchmarks.bucket_server FOLDER PORT``.

It lists objects in pages of 1,000, checks no signature, and counts the requests for the bucket:
``GET /requests`` returns how many there were.
"""

import hashlib
import sys
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

BUCKET = "/bucket/"
_PAGE = 1_000


def _handler(folder: Path) -> type[BaseHTTPRequestHandler]:
    bodies = {
        file.relative_to(folder).as_posix(): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file()
    }
    keys = sorted(bodies)
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
            if url.path == BUCKET:
                return self._answer(200, self._listing(parse_qs(url.query)))
            body = bodies.get(unquote(url.path).removeprefix(BUCKET))
            return self._answer(404, b"") if body is None else self._answer(200, body)

        do_HEAD = do_GET  # noqa: N815

        def _listing(self, query: dict[str, list[str]]) -> bytes:
            (prefix,), (token,) = query["prefix"], query.get("continuation-token", [""])
            below = [key for key in keys if key.startswith(prefix) and key > token]
            more = ["<IsTruncated>false</IsTruncated>"]
            if len(below) > _PAGE:
                following = f"<NextContinuationToken>{below[_PAGE - 1]}</NextContinuationToken>"
                more = ["<IsTruncated>true</IsTruncated>", following]
            found = (
                f"<Contents><Key>{escape(key)}</Key><ETag>{_etag(bodies[key])}</ETag></Contents>"
                for key in below[:_PAGE]
            )
            return "".join(["<ListBucketResult>", *more, *found, "</ListBucketResult>"]).encode()

        def _answer(self, code: int, body: bytes) -> None:
            self.send_response(code)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("ETag", _etag(body))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing: it would take longer than the answer."""

    return Handler


def _etag(body: bytes) -> str:
    return f'"{hashlib.sha256(body).hexdigest()[:32]}"'


if __name__ == "__main__":
    ThreadingHTTPServer(
        ("127.0.0.1", int(sys.argv[2])), _handler(Path(sys.argv[1]))
    ).serve_forever()
