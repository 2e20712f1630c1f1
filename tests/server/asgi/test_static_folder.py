"""Static files: served from memory, and compressed once."""

import asyncio
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from unittest.mock import Mock

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Route

from server.asgi import responses
from server.asgi.lanes import Lanes
from server.asgi.responses import ResponseCache, ResponseSender
from server.asgi.static_folder import files_below

CONTENT = b"let number = 1;\n" * 10_000
VERSION = sha256(CONTENT).hexdigest()[:12]


@pytest.fixture
def sender(lanes: Lanes) -> ResponseSender:
    """Return a sender of responses that are not cached."""
    return ResponseSender(ResponseCache(0), lanes.light)


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
    return client_of(files_below("/static", folder, sender))


def test_file_is_compressed_once(client: Send, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once per coding, for any number of requests; the content is complete."""
    compress = Mock(wraps=responses.compress)
    monkeypatch.setattr(responses, "compress", compress)
    for coding in ("gzip", "zstd", "identity") * 3:
        answer = client(f"/static/vendor/page.js?v={VERSION}", accept_encoding=coding)
        assert answer.headers.get("content-encoding", "identity") == coding
        assert answer.content == CONTENT
    assert sorted(call.args[1] for call in compress.call_args_list) == ["gzip", "zstd"]


def test_file_is_served_from_memory(client: Send, folder: Path) -> None:
    """An installation that is replaced meanwhile changes nothing."""
    (folder / "vendor/page.js").unlink()
    answer = client("/static/vendor/page.js")
    assert answer.content == CONTENT
    assert answer.headers["content-type"].endswith("javascript; charset=utf-8")
    assert client("/static/LICENSE").headers["content-type"] == "text/plain; charset=utf-8"


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
