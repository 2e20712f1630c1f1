"""How an OCI registry lets one read: what it asks for, with which login, and the token for it.

Source: RFC 9110, 11 (challenges), RFC 7617 (Basic), the token specification of the CNCF's
distribution project (Bearer), and the documentation of Docker's own ``config.json``.
"""

import base64
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar
from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit, urlunsplit
from urllib.request import parse_http_list

import msgspec

from snapshots.errors import SourceError
from snapshots.escaping import quoted
from snapshots.sources.buildcache.decoding import decode_json
from snapshots.sources.buildcache.locations import resolve
from snapshots.sources.buildcache.responses import Forbidden, Unauthorized
from snapshots.sources.buildcache.transport import Transport
from snapshots.sources.files import Missing, read_regular
from snapshots.sources.settings import Login, ReadSettings

VARIABLES = "CACHELOG_OCI_USER and CACHELOG_OCI_PASSWORD"
"""The settings of a login."""

_RENEWALS = 2
_CONFIG_BYTES = 1 << 20
_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"  # noqa: S105 - RFC 9110 names it so
_CHALLENGE_PART = re.compile(
    rf"(?:(?P<scheme>{_TOKEN})(?: +|$))?(?:(?P<key>{_TOKEN})[ \t]*=[ \t]*(?P<value>.*))?", re.S
)
_BEARER_TOKEN = re.compile(r"[\x21-\x7e]{1,32768}")
_DOCKER_HOST = re.compile(r"(?:https?://)?(?P<host>[^/]+)(?:/v[12])?/?", re.I)
_DOCKER_HUB = frozenset({"docker.io", "index.docker.io", "registry-1.docker.io"})

Result = TypeVar("Result")


class Challenge(msgspec.Struct, frozen=True):
    """A way of authentication that a server offers: ``scheme`` and parameters in lower case."""

    scheme: str
    parameters: dict[str, str]


def challenges(headers: Sequence[str]) -> list[Challenge]:
    """Return the challenges of all WWW-Authenticate headers; what is none is left out."""
    found: list[Challenge] = []
    for item in parse_http_list(",".join(headers)):
        match = _CHALLENGE_PART.fullmatch(item)
        if match is None:
            continue
        if match["scheme"]:
            found.append(Challenge(match["scheme"].lower(), {}))
        if match["key"] and found:
            value = match["value"].strip()
            if value[:1] == value[-1:] == '"' and len(value) > 1:
                value = value[1:-1]
            found[-1].parameters.setdefault(match["key"].lower(), value)
    return found


class Credentials(msgspec.Struct, frozen=True):
    """The login for a host, if there is one, and ``source``, where it stands.

    ``hint`` says why a login that somebody may count on cannot be used.
    """

    login: Login | None = None
    source: str = ""
    hint: str = ""


def credentials_for(host: str, settings: ReadSettings) -> Credentials:
    """Return the login of the settings, or else what Docker's configuration has for a host.

    What is wrong with that file is a hint: a registry may well let everybody read.
    """
    if settings.oci_login is not None:
        return Credentials(settings.oci_login, VARIABLES)
    if settings.docker_config is None:
        return Credentials()
    try:
        return _docker_credentials(host, settings.docker_config)
    except Missing:
        return Credentials()
    except SourceError as error:
        return Credentials(hint=str(error))


class _DockerLogin(msgspec.Struct):
    auth: str | None = None
    identitytoken: str | None = None


class _DockerConfig(msgspec.Struct):
    auths: dict[str, _DockerLogin] = {}
    cred_helpers: dict[str, str] = msgspec.field(default={}, name="credHelpers")
    creds_store: str | None = msgspec.field(default=None, name="credsStore")


def _docker_credentials(host: str, file: Path) -> Credentials:
    """Return what a ``config.json`` of Docker's has. Raises Missing and SourceError."""
    location = str(file)
    config = decode_json(read_regular(location, _CONFIG_BYTES), _DockerConfig, location)
    if helper := _of_host(config.cred_helpers, host):
        return Credentials(hint=_unused(location, f"credHelpers: {helper}"))
    entry = _of_host(config.auths, host)
    if entry is not None and entry.identitytoken:
        return Credentials(hint=_unused(location, "identitytoken"))
    if entry is None or not entry.auth:
        store = config.creds_store
        return Credentials(hint=_unused(location, f"credsStore: {store}") if store else "")
    try:
        text = base64.b64decode(entry.auth, validate=True).decode()
    except ValueError:  # it is no base64, no ASCII, or no UTF-8
        raise SourceError(location, f"its login for {host} is no base64") from None
    user, colon, password = text.rstrip("\0").partition(":")
    if not colon:
        raise SourceError(location, f"its login for {host} is not USER:PASSWORD")
    return Credentials(Login(user, password), location)


def _of_host(entries: Mapping[str, Any], host: str) -> Any:
    """Return what Docker's configuration has for a host, whose key may be the URL of an API."""
    names = _DOCKER_HUB if host in _DOCKER_HUB else {host}
    for key, entry in entries.items():
        match = _DOCKER_HOST.fullmatch(key)
        if match and match["host"].lower() in names:
            return entry
    return None


def _unused(location: str, where: str) -> str:
    return f"{location} leaves the login to another program ({where}), which is not asked"


class Authorization:
    """The Authorization header that a registry accepts; safe to share between threads.

    ``location`` is what the user named, ``url`` the https or http URL of its repository, ``scope``
    what a token is asked for where the registry does not say. Nothing is sent before the registry
    asks for it, and then the login goes to it alone or to the realm that it names: over https, or
    over http to the same host where the registry itself is read so.
    """

    def __init__(self, location: str, url: str, scope: str, transport: Transport) -> None:
        self._location = location
        self._url = urlsplit(url)
        self._scope = scope
        self._transport = transport
        self._header: str | None = None
        self._lock = Lock()

    def authorized(self, ask: Callable[[Mapping[str, str]], Result]) -> Result:
        """Return what ``ask`` does with the headers that the registry wants.

        A token that has expired is renewed. Raises SourceError where the registry does not let one
        read, and what ``ask`` raises otherwise.
        """
        for _ in range(_RENEWALS):
            headers = self._headers()
            try:
                return ask(headers)
            except Unauthorized as refusal:
                self._renew(headers, refusal)
        try:
            return ask(self._headers())
        except Unauthorized:
            raise self.refused() from None

    def refused(self, credentials: Credentials | None = None) -> SourceError:
        """Return the error for a registry that does not let one read."""
        host = self._url.netloc
        if credentials is None:
            credentials = credentials_for(host, self._transport.settings)
        if credentials.login is not None:
            reason = f"{host} does not accept the login of {credentials.source}"
            return SourceError(self._location, f"{reason}, or does not let it read this repository")
        reason = f"{host} has no such repository, or not for everyone to read"
        remedy = f"set {VARIABLES}, or log in with 'docker login {host}'"
        hint = f" ({credentials.hint})" if credentials.hint else ""
        return SourceError(self._location, f"{reason}: {remedy}{hint}")

    def _headers(self) -> Mapping[str, str]:
        header = self._header
        return {} if header is None else {"Authorization": header}

    def _renew(self, sent: Mapping[str, str], refusal: Unauthorized) -> None:
        """Have other headers than were ``sent``. Raises SourceError where there are none."""
        with self._lock:
            if sent.get("Authorization") != self._header:
                return  # another thread has renewed them meanwhile
            credentials = credentials_for(self._url.netloc, self._transport.settings)
            offered = {it.scheme: it.parameters for it in reversed(challenges(refusal.challenges))}
            if "bearer" in offered:
                self._header = f"Bearer {self._token(offered['bearer'], credentials)}"
            elif "basic" not in offered:
                ways = ", ".join(offered) or "none"
                reason = f"{self._url.netloc} asks for a login in a way that cachelog does not know"
                raise SourceError(self._location, f"{reason}: {quoted(ways)}")
            elif credentials.login is None or self._header is not None:
                raise self.refused(credentials)
            else:
                self._header = _basic(credentials.login)

    def _token(self, parameters: Mapping[str, str], credentials: Credentials) -> str:
        realm = self._checked_realm(parameters.get("realm", ""))
        named = {name: parameters[name] for name in ("service", "scope") if parameters.get(name)}
        query = dict(parse_qsl(realm.query)) | {"scope": self._scope} | named
        url = urlunsplit(realm._replace(query=urlencode(query), fragment=""))
        login = credentials.login
        headers = {"Authorization": _basic(login)} if login else {}
        try:
            document = self._transport.receive(url, headers)
        except (Unauthorized, Forbidden):
            raise self.refused(credentials) from None
        except Missing as error:  # it is not the registry that lacks something
            raise SourceError(url, error.reason) from None
        answer = decode_json(document.data, _TokenAnswer, url)
        token = answer.token or answer.access_token or ""
        if _BEARER_TOKEN.fullmatch(token) is None:
            raise SourceError(url, "hands out no token that can be sent in a header")
        return token

    def _checked_realm(self, realm: str) -> SplitResult:
        try:
            url = urlsplit(resolve(realm, self._transport.settings))
        except SourceError as error:
            reason = f"{self._url.netloc} names a realm for tokens that cannot be used"
            raise SourceError(self._location, f"{reason}: {error}") from None
        same_host = url.scheme == self._url.scheme == "http" and url.hostname == self._url.hostname
        if url.scheme != "https" and not same_host:
            reason = f"{self._url.netloc} names a realm for tokens that is not read over https"
            raise SourceError(self._location, f"{reason}: {quoted(realm)}")
        return url


class _TokenAnswer(msgspec.Struct):
    token: str | None = None
    access_token: str | None = None


def _basic(login: Login) -> str:
    return f"Basic {base64.b64encode(f'{login.user}:{login.password}'.encode()).decode()}"
