"""Build caches in OCI registries: contents, cached documents, logins, and errors."""

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import httpx
import pytest
from msgspec.structs import replace

from snapshots.errors import SourceError
from snapshots.sources.buildcache.oci import challenges, repository_at
from snapshots.sources.buildcache.reader import is_recognized
from snapshots.sources.reports import Report
from snapshots.sources.settings import Login
from tests.snapshots.sources.buildcache.misbehaving_servers import (
    Reply,
    Server,
    serving,
    status,
)
from tests.snapshots.sources.buildcache.registries import (
    IMAGES,
    INDEX,
    PASSWORD,
    USER,
    WITH_LOGIN,
    Image,
    Tokens,
    basic,
    descriptor,
    digest_of,
    index_image,
    serve,
)
from tests.snapshots.sources.readings import QUICK, snapshots


@pytest.mark.parametrize(
    ("location", "url"),
    [
        ("oci://ghcr.io/site/cache", "https://ghcr.io/v2/site/cache"),
        ("OCI://GHCR.io/Site/Cache/", "https://ghcr.io/v2/site/cache"),
        ("oci+http://127.0.0.1:5000/a", "http://127.0.0.1:5000/v2/a"),
        ("oci://[::1]:5000/a.b__c-d/e", "https://[::1]:5000/v2/a.b__c-d/e"),
    ],
)
def test_locations(location: str, url: str) -> None:
    """A location names the host and the repository, in lower case as in Spack."""
    assert is_recognized(location, QUICK)
    assert repository_at(location, QUICK).url == url


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        ("oci://ghcr.io", "names no repository: write oci://HOST/NAME"),
        ("oci:///site", "names no registry: write oci://HOST/NAME"),
        ("oci://ghcr.io:99999/site", "is not a valid URL"),
        ("oci://ghcr.io/site/cache:latest", "names no repository: .* without a tag"),
        ("oci://ghcr.io/site\n", "names no repository"),
        ("oci+http://?/site", "names no registry"),
        ("oci://me:secret@ghcr.io/site", "contains a login"),
    ],
)
def test_invalid_locations(location: str, reason: str) -> None:
    """The error says how to write a location, without a login."""
    with pytest.raises(SourceError, match=reason) as error:
        snapshots(location, "mysite")
    assert "secret" not in str(error.value)


def test_missing_repository(server: Server) -> None:
    """Without index and tags the error names the host and the repository."""
    host = server.url.removeprefix("http://")
    with pytest.raises(SourceError, match=f"{host} has no repository site/nothing"):
        snapshots(f"oci+http://{host}/site/nothing", "mysite")
    server["/v2/site/denied/manifests/index.spack"] = status(403)
    with pytest.raises(SourceError, match=r"no such repository, .* CACHELOG_OCI_USER"):
        snapshots(f"oci+http://{host}/site/denied", "mysite")


@pytest.mark.parametrize(
    ("manifest", "reason"),
    [
        ({"layers": []}, "layers: names no layer with the index"),
        ({"layers": [{"digest": "sha256:0", "size": 1}]}, "digest: expected `str` matching"),
        ({"layers": [{"digest": f"sha256:{'0' * 64}", "size": -1}]}, "size: "),
        ({"layers": [{"digest": f"sha256:{'0' * 64}", "size": 1}]}, "names the blob .*HTTP 404"),
        (
            {"manifests": [descriptor(b"a"), descriptor(b"b")]},
            "is an image index of 2 images, not the image of one",
        ),
        ({"manifests": [descriptor(b"a")]}, "names the manifest .*HTTP 404"),
    ],
)
def test_invalid_manifests(server: Server, manifest: dict[str, Any], reason: str) -> None:
    """The error names the manifest and the reason."""
    index = Image("index.spack", json.dumps(manifest).encode(), {})
    location = serve(server, "site/cache", [index])
    with pytest.raises(SourceError, match=rf"/v2/site/cache/manifests/index\.spack.*{reason}"):
        snapshots(location, "mysite")


def test_index_that_differs_from_the_tags_of_specs(server: Server) -> None:
    """Specs without a tag are gone; an import warns of as many; no list of tags, no warning."""
    location = serve(server, "site/cache", [index_image(INDEX), *IMAGES[1:]])
    report = Report()
    assert snapshots(location, "mysite", report=report)
    warning = f"{location}/manifests/index.spack: lists 1 spec that the cache no longer has"
    assert [text.partition(": ")[2] for text in report.warnings] == [warning.partition(": ")[2]]
    del server.replies["/v2/site/cache/tags/list?n=1000"]
    report = Report()
    assert snapshots(location, "mysite", report=report)
    assert report.warnings == []


# -- logins and tokens


BASIC = basic(USER, PASSWORD)


@pytest.fixture
def location(server: Server) -> str:
    """Serve a repository with an index and images."""
    return serve(server, "site/cache", [index_image(INDEX), *IMAGES])


def authorizations(server: Server) -> list[str | None]:
    """Return the Authorization headers that a server received."""
    return [headers.get("Authorization") for headers in server.headers]


@pytest.mark.parametrize(
    ("headers", "offered"),
    [
        (['Basic realm="x, y"'], {"basic": {"realm": "x, y"}}),
        (["Basic realm=a", "Basic realm=b, charset=c"], {"basic": {"realm": "a"}}),
        (
            ['Bearer realm="https://a/t?x=1",service=a , Scope="b:c:pull,push"'],
            {"bearer": {"realm": "https://a/t?x=1", "service": "a", "scope": "b:c:pull,push"}},
        ),
        (
            ['Negotiate, Bearer realm="a\\"b"', 'Basic realm="c"'],
            {"negotiate": {}, "bearer": {"realm": 'a"b'}, "basic": {"realm": "c"}},
        ),
        (["Negotiate YWJj==", "", "=", ","], {"negotiate": {"ywjj": "="}}),
        (["realm=x"], {}),
    ],
)
def test_challenges(headers: list[str], offered: dict[str, dict[str, str]]) -> None:
    """Challenges may be in one header or in several, with quoted or unquoted values."""
    assert challenges(headers) == offered


@pytest.mark.parametrize("uses", [1_000, 2])
def test_tokens(server: Server, location: str, uses: int) -> None:
    """The realm receives the registry's parameters, and a new request when a token expires."""
    tokens = Tokens(server, uses=uses)
    tokens.guard("site/cache")
    settings = replace(QUICK, workers=1)
    (snapshot,) = snapshots(location, "mysite", sizes=True, settings=settings)
    assert len(snapshot.content) == len(IMAGES)
    query = {"service": ["tests"], "scope": ["repository:site/cache:pull"]}
    assert all(each == query for each in tokens.queries)
    assert (len(tokens.queries) == 1) is (uses > 100)
    sent = {None, *(f"Bearer token-{number + 1}" for number in range(len(tokens.queries)))}
    assert set(authorizations(server)) == sent


def test_password(server: Server, location: str) -> None:
    """A Basic challenge is answered with the login; a missing or wrong login is an error."""
    refusal = status(401, WWW_Authenticate='Basic realm="tests"')
    for path, reply in list(server.replies.items()):

        def guarded(request: BaseHTTPRequestHandler, reply: Reply = reply) -> None:
            is_allowed = request.headers.get("Authorization") == BASIC
            (reply if is_allowed else refusal)(request)

        server[path] = guarded
    (snapshot,) = snapshots(location, "mysite", settings=WITH_LOGIN)
    assert snapshot.content
    num_requests = len(server.requests)
    wrong = replace(QUICK, oci_login=Login(USER, "wrong"))
    with pytest.raises(SourceError, match="does not accept the login of CACHELOG_OCI_USER"):
        snapshots(location, "mysite", settings=wrong)
    with pytest.raises(SourceError, match="set CACHELOG_OCI_USER and"):
        snapshots(location, "mysite")
    assert len(server.requests) == num_requests + 3


@pytest.mark.parametrize(
    "realm", ["http://other.example/token", "/token", "https://u:p@a.example/"]
)
def test_refused_realms(server: Server, location: str, realm: str) -> None:
    """No request is sent to an invalid realm, or over plain HTTP to another host."""
    challenge = f'Bearer realm="{realm}",service="tests"'
    server["/v2/site/cache/manifests/index.spack"] = status(401, WWW_Authenticate=challenge)
    with pytest.raises(SourceError, match="names a realm for tokens that"):
        snapshots(location, "mysite", settings=WITH_LOGIN)
    assert authorizations(server) == [None]


def test_other_host_gets_no_credentials(server: Server, location: str) -> None:
    """Blobs on another host are fetched without the token or the login, even if it requires one."""
    path = f"/v2/site/cache/blobs/{digest_of(json.dumps(INDEX).encode())}"
    with serving() as storage:
        storage["/blob"] = server.replies[path]
        server[path] = status(307, Location=storage.at("/blob"))
        Tokens(server, login=BASIC).guard("site/cache")
        (snapshot,) = snapshots(location, "mysite", settings=WITH_LOGIN)
        assert snapshot.content
        challenge = f'Bearer realm="{storage.at("/token")}",service="x"'
        storage["/blob"] = status(401, WWW_Authenticate=challenge)
        with pytest.raises(SourceError, match="HTTP 401"):
            snapshots(location, "mysite", settings=WITH_LOGIN)
        assert authorizations(storage) == [None, None]
        assert storage.requests == ["GET /blob"] * 2


def test_login_is_never_shown(server: Server, location: str) -> None:
    """The login is not in representations, warnings, progress or snapshots."""
    assert PASSWORD not in repr(WITH_LOGIN)
    steps: list[str] = []
    report = Report(progress=lambda task, *_: steps.append(task))
    Tokens(server, login=BASIC).guard("site/cache")
    (snapshot,) = snapshots(location, "mysite", settings=WITH_LOGIN, report=report)
    text = repr([snapshot.source, list(snapshot.content.specs()), report.warnings, steps])
    assert PASSWORD not in text
    assert "token-1" not in text


# -- the registry of the distribution project, on which many others are based


DISTRIBUTION = shutil.which("docker-registry", path=f"{os.environ['PATH']}{os.pathsep}/usr/bin")
"""The registry of the distribution project, if it is installed, as packaged by Debian."""

_LISTENING = re.compile(r"listening on (127\.0\.0\.1:\d+)")


@contextmanager
def distribution(folder: Path) -> Iterator[str]:
    """Run the registry of the distribution project below a folder; yield HOST:PORT."""
    assert DISTRIBUTION is not None, "docker-registry is not installed"
    folder.mkdir(exist_ok=True)
    file, log = folder / "config.yml", folder / "log"
    storage = f"storage: {{filesystem: {{rootdirectory: {folder / 'data'}}}}}"
    file.write_text(f"version: 0.1\n{storage}\nhttp: {{addr: '127.0.0.1:0'}}\n")
    with log.open("wb") as written:
        process = subprocess.Popen([DISTRIBUTION, "serve", file], stdout=written, stderr=written)
    try:
        patience = time.monotonic() + 20
        while (listening := _LISTENING.search(log.read_text("utf-8"))) is None:
            assert process.poll() is None, log.read_text("utf-8")
            assert time.monotonic() < patience, log.read_text("utf-8")
            time.sleep(0.01)
        yield listening[1]
    finally:
        process.terminate()
        process.wait(20)


def push(host: str, name: str, images: Iterable[Image]) -> str:
    """Push images to a registry without authentication; return the repository's location."""
    with httpx.Client(base_url=f"http://{host}", timeout=20) as client:
        for tag, manifest, blobs in images:
            for digest, data in blobs.items():
                begun = client.post(f"/v2/{name}/blobs/uploads/").raise_for_status()
                url = httpx.URL(begun.headers["Location"]).copy_merge_params({"digest": digest})
                client.put(url, content=data).raise_for_status()
            headers = {"Content-Type": json.loads(manifest)["mediaType"]}
            url = httpx.URL(f"/v2/{name}/manifests/{tag}")
            client.put(url, content=manifest, headers=headers).raise_for_status()
    return f"oci+http://{host}/{name}"


@pytest.mark.skipif(
    DISTRIBUTION is None and not os.environ.get("CI"), reason="docker-registry is not installed"
)
def test_with_and_without_an_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both have the same contents, sizes included; links to more tags are followed."""
    monkeypatch.setattr("snapshots.sources.buildcache.oci.TAGS_A_PAGE", 1)
    with distribution(tmp_path) as host:
        with_index = push(host, "site/indexed", [index_image(INDEX), *IMAGES])
        (indexed,) = snapshots(with_index, "mysite", sizes=True)
        (images,) = snapshots(push(host, "site/images", IMAGES), "mysite")
    assert len(indexed.content) == len(IMAGES)
    start = f"http://{host}/v2/site/indexed/blobs/sha256:"
    assert all((spec.tarball or "").startswith(start) for spec in indexed.content.specs())
    with_size, without = (
        [replace(spec, tarball=None) for spec in each.content.specs()] for each in (indexed, images)
    )
    assert with_size == without
