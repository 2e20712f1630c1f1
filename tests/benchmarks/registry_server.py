"""Images served as a registry: ``python -m tests.benchmarks.registry_server INDEX PORT``.

It has an image of each spec of the index below ``cache``, and that of the index below ``indexed``.
It pages tags by 1,000 and counts the requests for them all: ``GET /requests`` returns how many
there were.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.snapshots.sources.buildcache.indexes import documents_of
from tests.snapshots.sources.buildcache.registries import index_image, spec_image

_PAGE = 1_000


def _handler(index: dict[str, Any]) -> type[BaseHTTPRequestHandler]:
    images = [spec_image(it) for it in documents_of(index).values()]
    tags = sorted(it.tag for it in images)
    whole = index_image(index)
    bodies = {f"/v2/cache/manifests/{it.tag}": it.manifest for it in images}
    bodies |= {
        f"/v2/cache/blobs/{name}": it for image in images for name, it in image.blobs.items()
    }
    bodies |= {f"/v2/indexed/blobs/{name}": it for name, it in whole.blobs.items()}
    bodies["/v2/indexed/manifests/index.spack"] = whole.manifest
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
            if url.path == "/v2/cache/tags/list":
                return self._list(parse_qs(url.query).get("last", [""])[0])
            body = bodies.get(url.path)
            return self._answer(404, b"") if body is None else self._answer(200, body)

        def _list(self, last: str) -> None:
            page = [it for it in tags if it > last][:_PAGE]
            body = json.dumps({"name": "cache", "tags": page}).encode()
            following = f'</v2/cache/tags/list?n={_PAGE}&last={page[-1]}>; rel="next"'
            self._answer(200, body, {"Link": following} if page[-1] != tags[-1] else {})

        def _answer(self, code: int, body: bytes, headers: dict[str, str] | None = None) -> None:
            self.send_response(code)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing: it would take longer than the answer."""

    return Handler


if __name__ == "__main__":
    ThreadingHTTPServer(
        ("127.0.0.1", int(sys.argv[2])), _handler(json.loads(Path(sys.argv[1]).read_bytes()))
    ).serve_forever()
