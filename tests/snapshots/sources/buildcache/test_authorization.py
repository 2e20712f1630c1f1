"""Registries that want a login or a token: what is sent to whom, and what is never told."""

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
from tests.snapshots.sources.buildcache.indexes import documents_of, small_database
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
    PASSWORD,
    USER,
    Tokens,
    basic,
    digest_of,
    index_image,
    serve,
    spec_image,
)

INDEX = small_database()
IMAGES = [spec_image(value) for value in documents_of(INDEX).values()]
BASIC = basic(USER, PASSWORD)
WITH_LOGIN = msgspec.structs.replace(QUICK, oci_login=Login(USER, PASSWORD))


def docker_config(folder: Path, value: object) -> ReadSettings:
    """Return settings with a configuration of Docker's."""
    file = folder / "config.json"
    file.write_text(value if isinstance(value, str) else json.dumps(value))
    return msgspec.structs.replace(QUICK, docker_config=file)


@pytest.fixture
def location(server: Server) -> str:
    """Serve a repository with an index and images."""
    return serve(server, "site/cache", [index_image(INDEX), *IMAGES])


def authorizations(server: Server) -> list[str | None]:
    """Return the Authorization headers that a server was sent."""
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
    """Several stand in one header or in several, with quoted values or bare ones."""
    assert challenges(headers) == offered


@pytest.mark.parametrize("uses", [1_000, 2])
def test_tokens(server: Server, location: str, uses: int) -> None:
    """The realm is asked with what the registry says, and again as tokens expire."""
    tokens = Tokens(server, uses=uses)
    tokens.guard("site/cache")
    settings = msgspec.structs.replace(QUICK, workers=1)
    (snapshot,) = snapshots(location, "mysite", sizes=True, settings=settings)
    assert len(snapshot.content) == len(IMAGES)
    asked = {"service": ["tests"], "scope": ["repository:site/cache:pull"]}
    assert all(query == asked for query in tokens.asked)
    assert (len(tokens.asked) == 1) is (uses > 100)
    sent = {None, *(f"Bearer token-{number + 1}" for number in range(len(tokens.asked)))}
    assert set(authorizations(server)) == sent


def test_a_token_that_is_refused(server: Server, location: str) -> None:
    """The error names the host and the variables, and nobody asks for ever."""
    tokens = Tokens(server, uses=0)
    tokens.guard("site/cache")
    host = server.url.removeprefix("http://")
    with pytest.raises(SourceError, match=rf"{host} has no .*, or not for everyone") as error:
        snapshots(location, "mysite")
    assert "CACHELOG_OCI_USER and CACHELOG_OCI_PASSWORD" in str(error.value)
    assert f"docker login {host}" in str(error.value)
    assert len(tokens.asked) == 2


def test_a_login_that_is_no_utf_8(server: Server, location: str) -> None:
    """Its bytes are sent as they stand in the environment."""
    expected = f"Basic {base64.b64encode(b'me:' + bytes([255])).decode()}"
    Tokens(server, login=expected).guard("site/cache")
    login = Login("me", bytes([255]).decode(errors="surrogateescape"))
    assert snapshots(location, "mine", settings=msgspec.structs.replace(QUICK, oci_login=login))


def test_a_password_for_the_registry(server: Server, location: str) -> None:
    """A Basic challenge is answered with the login; without one, or a wrong one, it is refused."""
    for path, reply in list(server.replies.items()):

        def guarded(request: BaseHTTPRequestHandler, reply: Any = reply) -> None:
            if request.headers.get("Authorization") == BASIC:
                reply(request)
            else:
                status(401, WWW_Authenticate='Basic realm="tests"')(request)

        server[path] = guarded
    (found,) = snapshots(location, "mysite", settings=WITH_LOGIN)
    assert found.content
    asked = len(server.asked)
    wrong = msgspec.structs.replace(QUICK, oci_login=Login(USER, "wrong"))
    with pytest.raises(SourceError, match="does not accept the login of CACHELOG_OCI_USER"):
        snapshots(location, "mysite", settings=wrong)
    with pytest.raises(SourceError, match="set CACHELOG_OCI_USER and"):
        snapshots(location, "mysite")
    assert len(server.asked) == asked + 3


@pytest.mark.parametrize("headers", [{}, {"WWW_Authenticate": 'Digest realm="x"'}])
def test_other_ways_of_authentication(server: Server, headers: dict[str, str]) -> None:
    """They are named, and no login is sent."""
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
def test_answers_of_realms(server: Server, location: str, reply: Reply, reason: str | None) -> None:
    """A realm answers with a token, by one of two names; other answers are its errors."""
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
def test_realms_that_are_not_asked(server: Server, location: str, realm: str) -> None:
    """A realm that is read over plain HTTP on another host, or is none, gets nothing."""
    Tokens(server).guard("site/cache", realm or "")
    challenge = f'Bearer realm="{realm}",service="tests"'
    server["/v2/site/cache/manifests/index.spack"] = status(401, WWW_Authenticate=challenge)
    with pytest.raises(SourceError, match="names a realm for tokens that"):
        snapshots(location, "mysite", settings=WITH_LOGIN)
    assert authorizations(server) == [None]


def test_a_realm_on_another_port_of_the_host(server: Server, location: str) -> None:
    """Registries over plain HTTP have their realm there."""
    with serving() as other:
        tokens = Tokens(server, login=BASIC)
        tokens.guard("site/cache", other.at("/token"))
        other.replies = {path: reply for path, reply in server.replies.items() if "/token" in path}
        (found,) = snapshots(location, "mysite", settings=WITH_LOGIN)
        assert found.content
        assert authorizations(other) == [BASIC]


def test_storage_elsewhere_gets_no_credentials(server: Server, location: str) -> None:
    """Blobs that lie on another host are fetched there without the token, or the login."""
    index = json.dumps(INDEX).encode()
    path = f"/v2/site/cache/blobs/{digest_of(index)}"
    with serving() as storage:
        storage["/blob"] = server.replies[path]
        server[path] = status(307, Location=storage.at("/blob"))
        Tokens(server, login=BASIC).guard("site/cache")
        (found,) = snapshots(location, "mysite", settings=WITH_LOGIN)
        assert found.content
        assert authorizations(storage) == [None]


def test_a_challenge_of_another_host_is_not_answered(server: Server, location: str) -> None:
    """Where the storage that a registry leads to wants a login, it is not told ours."""
    index = json.dumps(INDEX).encode()
    path = f"/v2/site/cache/blobs/{digest_of(index)}"
    with serving() as storage:
        challenge = f'Bearer realm="{storage.at("/token")}",service="x"'
        storage["/blob"] = status(401, WWW_Authenticate=challenge)
        server[path] = status(307, Location=storage.at("/blob"))
        with pytest.raises(SourceError, match="HTTP 401"):
            snapshots(location, "mysite", settings=WITH_LOGIN)
        assert authorizations(storage) == [None]
        assert storage.asked == ["GET /blob"]


HOST = "ghcr.example"
AUTH = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()


@pytest.mark.parametrize(
    "key", [HOST, f"https://{HOST}", f"https://{HOST}/v1/", f"http://{HOST}/v2", HOST.upper()]
)
def test_the_login_that_docker_knows(tmp_path: Path, key: str) -> None:
    """Docker names hosts in several ways; its file is named where the login is refused."""
    settings = docker_config(tmp_path, {"auths": {"other": {"auth": "x"}, key: {"auth": AUTH}}})
    found = credentials_for(HOST, settings)
    assert (found.login, found.source) == (Login(USER, PASSWORD), str(tmp_path / "config.json"))
    own = msgspec.structs.replace(settings, oci_login=Login("own", "x"))
    assert credentials_for(HOST, own).login == Login("own", "x")


def test_docker_hub_has_several_names(tmp_path: Path) -> None:
    """Its login stands under the address of an API of old."""
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
def test_logins_of_docker_that_are_not_used(tmp_path: Path, config: object, hint: str) -> None:
    """What somebody may count on is named in a hint, with the file."""
    if config is None:
        (tmp_path / "config.json").mkdir()
        settings = msgspec.structs.replace(QUICK, docker_config=tmp_path / "config.json")
    else:
        settings = docker_config(tmp_path, config)
    found = credentials_for(HOST, settings)
    assert found.login is None
    assert hint in found.hint
    assert (str(tmp_path) in found.hint) is bool(hint)


def test_a_hint_is_given_where_access_is_refused(
    server: Server, location: str, tmp_path: Path
) -> None:
    """And nowhere else: a registry may let everybody read."""
    host = server.url.removeprefix("http://")
    settings = docker_config(tmp_path, {"credHelpers": {host: "gcloud"}})
    assert snapshots(location, "mysite", settings=settings)
    Tokens(server, login=BASIC).guard("site/cache")
    with pytest.raises(SourceError, match="credHelpers: gcloud"):
        snapshots(location, "mysite", settings=settings)


def test_nothing_tells_the_login(server: Server, location: str) -> None:
    """Neither a record's text, nor warnings, progress and what is published."""
    assert PASSWORD not in repr(WITH_LOGIN)
    heard: list[str] = []
    report = Report(progress=lambda task, *_: heard.append(task))
    Tokens(server, login=BASIC).guard("site/cache")
    (found,) = snapshots(location, "mysite", settings=WITH_LOGIN, report=report)
    told = repr([found.source, list(found.content.specs()), report.warnings, heard])
    assert PASSWORD not in told
    assert "token-1" not in told
