"""Static files: served from memory, compressed once, and counted like other requests."""

import asyncio
from base64 import b64encode
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from unittest.mock import Mock

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Route

from server.asgi import responses
from server.asgi.admission import Admission, Outgoing
from server.asgi.allowances import Allowances
from server.asgi.lanes import Lanes
from server.asgi.responses import ResponseCache, ResponseSender
from server.asgi.static_folder import documentation_at, files_below

CONTENT = b"let number = 1;\n" * 10_000
UNLIMITED = Allowances(requests=0, cost=0)
VERSION = sha256(CONTENT).hexdigest()[:12]


@pytest.fixture
def sender(lanes: Lanes) -> ResponseSender:
    """Return a sender of responses that are not cached."""
    return ResponseSender(ResponseCache(0), lanes.light, Outgoing(Admission()))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a script in a subfolder."""
    (tmp_path / "vendor").mkdir()
    (tmp_path / "vendor/page.js").write_bytes(CONTENT)
    (tmp_path / "LICENSE").write_text("free")
    return tmp_path


Send = Callable[..., httpx.Response]


def client_of(*routes: Route) -> Send:
    """Return a function that sends a request to an application with only these routes."""
    transport = httpx.ASGITransport(Starlette(routes=routes))

    def send(path: str, method: str = "GET", **headers: str) -> httpx.Response:
        async def respond() -> httpx.Response:
            async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
                named = {name.replace("_", "-"): value for name, value in headers.items()}
                return await client.request(method, path, headers=named)

        return asyncio.run(respond())

    return send


@pytest.fixture
def client(folder: Path, sender: ResponseSender) -> Send:
    """Return a client of the folder."""
    return client_of(files_below("/static", folder, UNLIMITED, sender))


def test_file_is_compressed_once(client: Send, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once per coding, for any number of requests; the content is complete."""
    compress = Mock(wraps=responses.compress)
    monkeypatch.setattr(responses, "compress", compress)
    for coding in ("gzip", "br", "zstd", "identity") * 3:
        answer = client(f"/static/vendor/page.js?v={VERSION}", accept_encoding=coding)
        assert answer.headers.get("content-encoding", "identity") == coding
        assert answer.content == CONTENT
    assert sorted(call.args[1] for call in compress.call_args_list) == ["br", "gzip", "zstd"]


def test_file_is_served_from_memory(client: Send, folder: Path) -> None:
    """An installation that is replaced meanwhile changes nothing."""
    (folder / "vendor/page.js").unlink()
    answer = client("/static/vendor/page.js")
    assert answer.content == CONTENT
    assert answer.headers["content-type"].endswith("javascript; charset=utf-8")
    assert client("/static/LICENSE").headers["content-type"] == "text/plain; charset=utf-8"


def test_requests_for_files_are_counted(folder: Path, sender: ResponseSender) -> None:
    """Requests beyond the allowance get 429 with Retry-After."""
    allowances = Allowances(requests=2, cost=0)
    client = client_of(files_below("/static", folder, allowances, sender))
    answers = [client("/static/vendor/page.js") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert int(answers[-1].headers["retry-after"]) > 0
    assert "requests a minute are allowed" in answers[-1].text


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("HEAD", "vendor/page.js", 200),
        ("POST", "vendor/page.js", 405),
        ("GET", "vendor", 404),
        ("GET", "vendor/", 404),
        ("GET", "nope.js", 404),
        ("GET", "..%2fnope.js", 404),
        ("GET", "%00", 404),
    ],
)
def test_only_files_are_found(client: Send, method: str, path: str, status: int) -> None:
    """By GET and HEAD; folders and missing files are not found."""
    answer = client(f"/static/{path}", method)
    assert answer.status_code == status
    assert answer.headers.get("allow") == ("GET, HEAD" if status == 405 else None)


SCRIPT = b"__md_scope=new URL('.',location)"
HASHED = "assets/bundle.79ae519e.min.js"


@pytest.fixture
def docs(tmp_path: Path, sender: ResponseSender) -> Send:
    """Return a client of a documentation site."""
    (tmp_path / "assets").mkdir()
    (tmp_path / HASHED).write_bytes(CONTENT)
    (tmp_path / "index.html").write_bytes(
        b'<script>%b</script><script src="x.js"></script>'
        b'<script id="__config" type="application/json">{}</script>' % SCRIPT
    )
    (tmp_path / "404.html").write_text('<a href="/index.html"></a> {"base": "/"} <br class="x"/>')
    return client_of(*documentation_at("/docs", tmp_path, UNLIMITED, sender))


def test_documentation(docs: Send) -> None:
    """Inline scripts are allowed by their checksums; hashed names are permanent."""
    page = docs("/docs/index.html")
    policy = page.headers["content-security-policy"]
    checksum = b64encode(sha256(SCRIPT).digest()).decode()
    assert f"script-src 'self' 'sha256-{checksum}';" in policy
    assert policy.count("sha256-") == 1
    assert "unsafe" not in policy
    assert docs("/docs/").content == page.content
    redirect = docs("/docs")  # relative, which works below the prefix of a proxy
    assert (redirect.status_code, redirect.headers["location"]) == (308, "docs/")
    lifetimes = {HASHED: "public, max-age=31536000, immutable", "index.html": "no-cache"}
    for path, cache_control in lifetimes.items():
        answer = docs(f"/docs/{path}")
        assert answer.headers["cache-control"] == cache_control
        again = docs(f"/docs/{path}", if_none_match=answer.headers["etag"])
        assert again.status_code == 304


def test_missing_documentation_page(docs: Send) -> None:
    """The site's own error page, with relative links; not for paths of unlimited depth."""
    page, deep = docs("/docs/a/b/nothing"), docs("/docs/a/b/c/d/nothing")
    assert page.status_code == deep.status_code == 404
    assert page.text == '<a href="../../index.html"></a> {"base": "../../"} <br class="x"/>'
    assert deep.text == "Not Found"
    assert "content-security-policy" in page.headers
    assert "content-security-policy" not in deep.headers
