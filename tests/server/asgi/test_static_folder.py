"""Static files: served from memory, compressed once, and counted like other requests."""

import asyncio
from base64 import b64encode
from hashlib import sha256
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Route

from server.asgi import responses
from server.asgi.allowances import Allowances
from server.asgi.lanes import Lanes
from server.asgi.static_folder import documentation_at, files_below

CONTENT = b"let number = 1;\n" * 10_000
UNLIMITED = Allowances(requests=0, cost=0)
VERSION = sha256(CONTENT).hexdigest()[:12]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a script in a subfolder."""
    (tmp_path / "vendor").mkdir()
    (tmp_path / "vendor/page.js").write_bytes(CONTENT)
    (tmp_path / "LICENSE").write_text("free")
    return tmp_path


class Client:
    """A client of an application that has only these routes."""

    def __init__(self, *routes: Route) -> None:
        self._transport = httpx.ASGITransport(Starlette(routes=routes))

    def request(self, method: str, path: str, **headers: str) -> httpx.Response:
        """Return the response to one request."""

        async def respond() -> httpx.Response:
            async with httpx.AsyncClient(transport=self._transport, base_url="http://x") as client:
                named = {name.replace("_", "-"): value for name, value in headers.items()}
                return await client.request(method, path, headers=named)

        return asyncio.run(respond())

    def get(self, path: str, **headers: str) -> httpx.Response:
        """Return the response to a GET request."""
        return self.request("GET", path, **headers)


@pytest.fixture
def client(folder: Path, lanes: Lanes) -> Client:
    """Return a client of the folder."""
    return Client(files_below("/static", folder, UNLIMITED, lanes.compressing))


def test_file_is_compressed_once(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once per coding, for any number of requests; the content is complete."""
    compressed: list[str] = []
    compress = responses.compress

    def counting(body: bytes, coding: str) -> bytes:
        compressed.append(coding)
        return compress(body, coding)

    monkeypatch.setattr(responses, "compress", counting)
    for coding in ("gzip", "br", "zstd", "identity") * 3:
        answer = client.get(f"/static/vendor/page.js?v={VERSION}", accept_encoding=coding)
        assert answer.headers.get("content-encoding", "identity") == coding
        assert answer.content == CONTENT
    assert sorted(compressed) == ["br", "gzip", "zstd"]


def test_file_is_served_from_memory(client: Client, folder: Path) -> None:
    """An installation that is replaced meanwhile changes nothing."""
    (folder / "vendor/page.js").unlink()
    answer = client.get("/static/vendor/page.js")
    assert answer.content == CONTENT
    assert answer.headers["content-type"].endswith("javascript; charset=utf-8")
    assert client.get("/static/LICENSE").headers["content-type"] == "text/plain; charset=utf-8"


def test_requests_for_files_are_counted(folder: Path, lanes: Lanes) -> None:
    """Requests beyond the allowance get 429 with Retry-After."""
    allowances = Allowances(requests=2, cost=0)
    client = Client(files_below("/static", folder, allowances, lanes.compressing))
    answers = [client.get("/static/vendor/page.js") for _ in range(3)]
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
def test_only_files_are_found(client: Client, method: str, path: str, status: int) -> None:
    """By GET and HEAD; folders and missing files are not found."""
    answer = client.request(method, f"/static/{path}")
    assert answer.status_code == status
    assert answer.headers.get("allow") == ("GET, HEAD" if status == 405 else None)


SCRIPT = b"__md_scope=new URL('.',location)"
HASHED = "assets/bundle.79ae519e.min.js"


@pytest.fixture
def docs(tmp_path: Path, lanes: Lanes) -> Client:
    """Return a client of a documentation site."""
    (tmp_path / "assets").mkdir()
    (tmp_path / HASHED).write_bytes(CONTENT)
    (tmp_path / "index.html").write_bytes(
        b'<script>%b</script><script src="x.js"></script>'
        b'<script id="__config" type="application/json">{}</script>' % SCRIPT
    )
    (tmp_path / "404.html").write_text('<a href="/index.html"></a> {"base": "/"} <br class="x"/>')
    return Client(*documentation_at("/docs", tmp_path, UNLIMITED, lanes.compressing))


def test_documentation_pages_run_their_inline_scripts(docs: Client) -> None:
    """Allowed by their checksums; no other inline script."""
    policy = docs.get("/docs/index.html").headers["content-security-policy"]
    checksum = b64encode(sha256(SCRIPT).digest()).decode()
    assert f"script-src 'self' 'sha256-{checksum}';" in policy
    assert policy.count("sha256-") == 1
    assert "unsafe" not in policy
    assert docs.get("/docs/").content == docs.get("/docs/index.html").content


def test_documentation_without_a_slash_redirects(docs: Client) -> None:
    """With a relative location, which works below the prefix of a proxy."""
    answer = docs.get("/docs")
    assert (answer.status_code, answer.headers["location"]) == (308, "docs/")


@pytest.mark.parametrize(
    ("path", "cache_control"),
    [(HASHED, "public, max-age=31536000, immutable"), ("index.html", "no-cache")],
)
def test_documentation_lifetimes(docs: Client, path: str, cache_control: str) -> None:
    """A year if the name contains a digest of the content; otherwise revalidated by ETag."""
    answer = docs.get(f"/docs/{path}")
    assert answer.headers["cache-control"] == cache_control
    again = docs.get(f"/docs/{path}", if_none_match=answer.headers["etag"])
    assert again.status_code == 304


@pytest.mark.parametrize(
    ("path", "links"),
    [
        ("nothing", '<a href="./index.html"></a> {"base": "./"} <br class="x"/>'),
        ("a/b/nothing", '<a href="../../index.html"></a> {"base": "../../"} <br class="x"/>'),
        ("a/b/c/d/nothing", None),
    ],
)
def test_missing_documentation_page(docs: Client, path: str, links: str | None) -> None:
    """The site's own error page, with relative links; not for paths of unlimited depth."""
    answer = docs.get(f"/docs/{path}")
    assert answer.status_code == 404
    assert answer.text == (links or "Not Found")
    assert ("content-security-policy" in answer.headers) is (links is not None)
