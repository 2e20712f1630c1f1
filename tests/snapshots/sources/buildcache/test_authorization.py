"""Registries that require a login or a token: who receives what, and what is never shown."""

import base64
import json
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import msgspec
import pytest

from snapshots.errors import SourceError
from snapshots.sources.buildcache.oci import challenges, credentials_for
from snapshots.sources.reports import Report
from snapshots.sources.settings import Login, ReadSettings
from tests.snapshots.sources.buildcache.misbehaving_servers import (
    Reply,
    Server,
    document,
    send,
    serving,
    status,
)
from tests.snapshots.sources.buildcache.readings import QUICK, snapshots
from tests.snapshots.sources.buildcache.registries import (
    IMAGES,
    INDEX,
    PASSWORD,
    USER,
    WITH_LOGIN,
    Tokens,
    basic,
    digest_of,
    index_image,
    serve,
)

BASIC = basic(USER, PASSWORD)


def docker_config(folder: Path, value: object) -> ReadSettings:
    """Return settings with a Docker configuration."""
    file = folder / "config.json"
    file.write_text(value if isinstance(value, str) else json.dumps(value))
    return msgspec.structs.replace(QUICK, docker_config=file)


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
        (["Basic"], {"basic": {}}),
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
    settings = msgspec.structs.replace(QUICK, workers=1)
    (snapshot,) = snapshots(location, "mysite", sizes=True, settings=settings)
    assert len(snapshot.content) == len(IMAGES)
    query = {"service": ["tests"], "scope": ["repository:site/cache:pull"]}
    assert all(each == query for each in tokens.queries)
    assert (len(tokens.queries) == 1) is (uses > 100)
    sent = {None, *(f"Bearer token-{number + 1}" for number in range(len(tokens.queries)))}
    assert set(authorizations(server)) == sent


def test_refused_token(server: Server, location: str) -> None:
    """The error names the host and the variables, after a limited number of requests."""
    tokens = Tokens(server, uses=0)
    tokens.guard("site/cache")
    host = server.url.removeprefix("http://")
    with pytest.raises(SourceError, match=rf"{host} has no .*, or not for everyone") as error:
        snapshots(location, "mysite")
    assert "CACHELOG_OCI_USER and CACHELOG_OCI_PASSWORD" in str(error.value)
    assert f"docker login {host}" in str(error.value)
    assert len(tokens.queries) == 2


def test_login_beyond_utf_8(server: Server, location: str) -> None:
    """The bytes of the environment are sent verbatim."""
    expected = f"Basic {base64.b64encode(b'me:' + bytes([255])).decode()}"
    Tokens(server, login=expected).guard("site/cache")
    login = Login("me", bytes([255]).decode(errors="surrogateescape"))
    assert snapshots(location, "mine", settings=msgspec.structs.replace(QUICK, oci_login=login))


def test_password(server: Server, location: str) -> None:
    """A Basic challenge is answered with the login; a missing or wrong login is an error."""
    for path, reply in list(server.replies.items()):

        def guarded(request: BaseHTTPRequestHandler, reply: Any = reply) -> None:
            if request.headers.get("Authorization") == BASIC:
                reply(request)
            else:
                status(401, WWW_Authenticate='Basic realm="tests"')(request)

        server[path] = guarded
    (snapshot,) = snapshots(location, "mysite", settings=WITH_LOGIN)
    assert snapshot.content
    num_requests = len(server.requests)
    wrong = msgspec.structs.replace(QUICK, oci_login=Login(USER, "wrong"))
    with pytest.raises(SourceError, match="does not accept the login of CACHELOG_OCI_USER"):
        snapshots(location, "mysite", settings=wrong)
    with pytest.raises(SourceError, match="set CACHELOG_OCI_USER and"):
        snapshots(location, "mysite")
    assert len(server.requests) == num_requests + 3


@pytest.mark.parametrize("headers", [{}, {"WWW_Authenticate": 'Digest realm="x"'}])
def test_unsupported_authentication(server: Server, headers: dict[str, str]) -> None:
    """The scheme is named in the error, and no login is sent."""
    location = serve(server, "site/cache", [])
    server["/v2/site/cache/manifests/index.spack"] = status(401, **headers)
    way = "digest" if headers else "none"
    with pytest.raises(SourceError, match=f"a way that cachelog does not know: '{way}'"):
        snapshots(location, "mysite", settings=WITH_LOGIN)
    assert authorizations(server) == [None]


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (document({}), "issued no token"),
        (document({"token": "a b"}), "issued no token"),
        (document({"token": "a\r\nX: y"}), "issued no token"),
        (document({"token": 1}), "token: "),
        (document([]), "expected `object`"),
        (status(404), "HTTP 404"),
        (lambda request: send(request, 503), "HTTP 503 .*try again later"),
        (document({"access_token": "token-x"}), None),
    ],
)
def test_responses_of_realms(
    server: Server, location: str, reply: Reply, reason: str | None
) -> None:
    """A token is in one of two keys; other responses are errors of the realm."""
    tokens = Tokens(server)
    tokens.guard("site/cache")
    tokens.grant("token-x")
    for path in [path for path in server.replies if path.startswith("/token")]:
        server[path] = reply
    if reason is None:
        assert snapshots(location, "mysite")
        return
    with pytest.raises(SourceError, match=rf"/token\?.*{reason}"):
        snapshots(location, "mysite")


@pytest.mark.parametrize(
    "realm",
    ["http://other.example/token", "/token", "", "file:///etc/passwd", "https://u:p@a.example/"],
)
def test_refused_realms(server: Server, location: str, realm: str) -> None:
    """No request is sent to an invalid realm, or over plain HTTP to another host."""
    Tokens(server).guard("site/cache", realm or "")
    challenge = f'Bearer realm="{realm}",service="tests"'
    server["/v2/site/cache/manifests/index.spack"] = status(401, WWW_Authenticate=challenge)
    with pytest.raises(SourceError, match="names a realm for tokens that"):
        snapshots(location, "mysite", settings=WITH_LOGIN)
    assert authorizations(server) == [None]


def test_realm_on_another_port(server: Server, location: str) -> None:
    """Registries over plain HTTP may have their realm on another port."""
    with serving() as other:
        tokens = Tokens(server, login=BASIC)
        tokens.guard("site/cache", other.at("/token"))
        other.replies = {path: reply for path, reply in server.replies.items() if "/token" in path}
        (snapshot,) = snapshots(location, "mysite", settings=WITH_LOGIN)
        assert snapshot.content
        assert authorizations(other) == [BASIC]


def test_other_host_gets_no_credentials(server: Server, location: str) -> None:
    """Blobs on another host are fetched without the token or the login."""
    index = json.dumps(INDEX).encode()
    path = f"/v2/site/cache/blobs/{digest_of(index)}"
    with serving() as storage:
        storage["/blob"] = server.replies[path]
        server[path] = status(307, Location=storage.at("/blob"))
        Tokens(server, login=BASIC).guard("site/cache")
        (snapshot,) = snapshots(location, "mysite", settings=WITH_LOGIN)
        assert snapshot.content
        assert authorizations(storage) == [None]


def test_challenge_of_another_host(server: Server, location: str) -> None:
    """The login is not sent to a host to which the registry redirects."""
    index = json.dumps(INDEX).encode()
    path = f"/v2/site/cache/blobs/{digest_of(index)}"
    with serving() as storage:
        challenge = f'Bearer realm="{storage.at("/token")}",service="x"'
        storage["/blob"] = status(401, WWW_Authenticate=challenge)
        server[path] = status(307, Location=storage.at("/blob"))
        with pytest.raises(SourceError, match="HTTP 401"):
            snapshots(location, "mysite", settings=WITH_LOGIN)
        assert authorizations(storage) == [None]
        assert storage.requests == ["GET /blob"]


HOST = "ghcr.example"
AUTH = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()


@pytest.mark.parametrize(
    "key", [HOST, f"https://{HOST}", f"https://{HOST}/v1/", f"http://{HOST}/v2", HOST.upper()]
)
def test_login_of_docker(tmp_path: Path, key: str) -> None:
    """Docker has several names for a host; its file is the source of the login."""
    settings = docker_config(tmp_path, {"auths": {"other": {"auth": "x"}, key: {"auth": AUTH}}})
    credentials = credentials_for(HOST, settings)
    assert (credentials.login, credentials.source) == (
        Login(USER, PASSWORD),
        str(tmp_path / "config.json"),
    )
    own = msgspec.structs.replace(settings, oci_login=Login("own", "x"))
    assert credentials_for(HOST, own).login == Login("own", "x")


def test_names_of_docker_hub(tmp_path: Path) -> None:
    """Its login is stored under the URL of an old API."""
    auths = {"https://index.docker.io/v1/": {"auth": AUTH}}
    settings = docker_config(tmp_path, {"auths": auths})
    assert credentials_for("registry-1.docker.io", settings).login is not None
    assert credentials_for("quay.io", settings).login is None
    without = msgspec.structs.replace(QUICK, docker_config=tmp_path / "none")
    assert credentials_for("quay.io", without).hint == ""


@pytest.mark.parametrize(
    ("config", "hint"),
    [
        ({"credHelpers": {HOST: "gcloud"}, "auths": {HOST: {"auth": AUTH}}}, "credHelpers: gcloud"),
        ({"credsStore": "desktop", "auths": {HOST: {}}}, "credsStore: desktop"),
        ({"credsStore": "desktop"}, "credsStore: desktop"),
        ({"auths": {HOST: {"identitytoken": "x"}}}, "identitytoken"),
        ({"auths": {HOST: {"auth": "%%%"}}}, "is not base64"),
        ({"auths": {HOST: {"auth": "\xe9"}}}, "is not base64"),
        ({"auths": {HOST: {"auth": base64.b64encode(b"nobody").decode()}}}, "not USER:PASSWORD"),
        ({"auths": 1}, "auths: expected `object`"),
        ("{", "is not valid JSON"),
        (None, "is not a file"),
        ({"auths": {HOST: {}}}, ""),
        ({}, ""),
    ],
)
def test_unused_logins_of_docker(tmp_path: Path, config: object, hint: str) -> None:
    """A hint names unsupported settings of the file, on which users may rely."""
    if config is None:
        (tmp_path / "config.json").mkdir()
        settings = msgspec.structs.replace(QUICK, docker_config=tmp_path / "config.json")
    else:
        settings = docker_config(tmp_path, config)
    credentials = credentials_for(HOST, settings)
    assert credentials.login is None
    assert hint in credentials.hint
    assert (str(tmp_path) in credentials.hint) is bool(hint)


def test_hint_of_refused_access(server: Server, location: str, tmp_path: Path) -> None:
    """The hint is shown only if the registry refuses access."""
    host = server.url.removeprefix("http://")
    settings = docker_config(tmp_path, {"credHelpers": {host: "gcloud"}})
    assert snapshots(location, "mysite", settings=settings)
    Tokens(server, login=BASIC).guard("site/cache")
    with pytest.raises(SourceError, match="credHelpers: gcloud"):
        snapshots(location, "mysite", settings=settings)


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
