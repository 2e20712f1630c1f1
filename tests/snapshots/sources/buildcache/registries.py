"""Images of a build cache in an OCI registry, and the tokens of the scripted server."""

import base64
import gzip
import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable
from http.server import BaseHTTPRequestHandler
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlencode, urlsplit

import msgspec

from snapshots.sources.buildcache.oci import tag_of
from snapshots.sources.settings import Login
from tests.snapshots.sources.buildcache.indexes import documents_of, small_database
from tests.snapshots.sources.buildcache.misbehaving_servers import (
    Reply,
    Server,
    content,
    send,
    status,
)
from tests.snapshots.sources.readings import QUICK

USER, PASSWORD = "reader", "swordfish"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"


class Image(NamedTuple):
    """A manifest, its tag, and its blobs by their digests."""

    tag: str
    manifest: bytes
    blobs: dict[str, bytes]


def digest_of(data: bytes) -> str:
    """Return the digest of a blob."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def descriptor(data: bytes, media_type: str = "application/octet-stream") -> dict[str, Any]:
    """Return the descriptor of a blob in a manifest."""
    return {"mediaType": media_type, "digest": digest_of(data), "size": len(data)}


def image(tag: str, config: bytes, *layers: bytes) -> Image:
    """Return an image."""
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": descriptor(config, "application/vnd.oci.image.config.v1+json"),
        "layers": [
            descriptor(layer, "application/vnd.oci.image.layer.v1.tar+gzip") for layer in layers
        ],
    }
    blobs = {digest_of(data): data for data in (config, *layers)}
    return Image(tag, json.dumps(manifest).encode(), blobs)


def index_image(index: dict[str, Any]) -> Image:
    """Return the image ``index.spack`` of an index."""
    return image("index.spack", b"{}", json.dumps(index).encode())


def spec_image(document: dict[str, Any]) -> Image:
    """Return the image of a spec from its document; a base image is its first layer."""
    spec = document["spec"]["nodes"][0]
    config = {"architecture": "amd64", "os": "linux", **document, "buildcache_layout_version": 2}
    binary = gzip.compress(f"the binary of {spec['hash']}".encode() * len(spec["name"]), mtime=0)
    tag = tag_of(spec["name"], spec["version"], spec["hash"])
    return image(tag, json.dumps(config).encode(), b"a base image", binary)


def serve(server: Server, name: str, images: Iterable[Image]) -> str:
    """Serve images below a name; return the location of their repository."""
    tags = []
    for tag, manifest, blobs in images:
        for reference in (tag, digest_of(manifest)):
            server[f"/v2/{name}/manifests/{reference}"] = content(manifest)
        for digest, data in blobs.items():
            server[f"/v2/{name}/blobs/{digest}"] = content(data)
        tags.append(tag)
    listed = json.dumps({"name": name, "tags": tags}).encode()
    server[f"/v2/{name}/tags/list?n=1000"] = content(listed)
    return f"oci+{server.at('/')}{name}"


def basic(user: str, password: str) -> str:
    """Return the Authorization header of a login."""
    return f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"


class Tokens:
    """Issues tokens at ``/token`` for a login, if any, each valid for ``uses`` requests."""

    def __init__(self, server: Server, login: str | None = None, uses: int = 1_000) -> None:
        self.queries: list[dict[str, list[str]]] = []
        self._server = server
        self._login = login
        self._left: defaultdict[str, int] = defaultdict(lambda: uses)

    def __call__(self, request: BaseHTTPRequestHandler) -> None:
        """Respond to a request for a token."""
        if self._login is not None and request.headers.get("Authorization") != self._login:
            return send(request, 401, b"{}", {"Content-Length": "2"})
        self.queries.append(parse_qs(urlsplit(request.path).query))
        body = json.dumps({"token": f"token-{len(self.queries)}", "expires_in": 300}).encode()
        return send(request, 200, body, {"Content-Length": str(len(body))})

    def guard(self, name: str, realm: str = "") -> None:
        """Require a token for all paths below a name."""
        scope = f"repository:{name}:pull"
        realm = realm or self._server.at("/token")
        challenge = f'Bearer realm="{realm}",service="tests",scope="{scope}"'
        query = urlencode({"scope": scope, "service": "tests"})
        self._server[f"/token?{query}"] = self
        for path, reply in list(self._server.replies.items()):
            if path.startswith(f"/v2/{name}/"):
                self._server[path] = self._guarded(reply, challenge)

    def _guarded(self, reply: Reply, challenge: str) -> Reply:
        refusal = status(401, WWW_Authenticate=challenge)

        def answer(request: BaseHTTPRequestHandler) -> None:
            scheme, _, token = request.headers.get("Authorization", "").partition(" ")
            if scheme != "Bearer" or self._left[token] <= 0:
                return refusal(request)
            self._left[token] -= 1
            return reply(request)

        return answer


INDEX = small_database()
IMAGES = [spec_image(document) for document in documents_of(INDEX).values()]
WITH_LOGIN = msgspec.structs.replace(QUICK, oci_login=Login(USER, PASSWORD))
