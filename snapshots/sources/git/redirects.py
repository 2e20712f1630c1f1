"""Where a repository at an http(s):// URL is in the end: redirects are followed here, not by git.

Git would follow one to any address, that of a service of this machine or its network too.
"""

from collections.abc import Mapping
from ipaddress import ip_address
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit, urlunsplit

from snapshots.errors import SourceError
from snapshots.program import importer_name
from snapshots.sources.addresses import AddressRefused, Boundary, hosts_of
from snapshots.sources.settings import ReadSettings

_INFO = "/info/refs"
_QUESTION = "service=git-upload-pack"
_MAX_REDIRECTS = 10
_PORTS = {"http": 80, "https": 443}


class Destination(NamedTuple):
    """A URL that git may open, and the settings by which it goes nowhere else from there."""

    url: str
    config: Mapping[str, str]


def destination(url: str, public: str, settings: ReadSettings) -> Destination:
    """Follow the redirects of a repository at an http(s):// URL, as git does at first.

    They may lead to the public net, and to special addresses of such kinds as the URL itself has.
    Git then follows none, and connects to the addresses that were checked. ``public`` is the URL
    in errors. Raises SourceError. Where there is no answer, git is left to say why.
    """
    boundary = Boundary(hosts_of(url))
    try:
        found = _followed(url, public, boundary, settings)
        return Destination(found, _confined(found, boundary))
    except AddressRefused as error:
        raise SourceError(public, str(error)) from None


def _followed(url: str, public: str, boundary: Boundary, settings: ReadSettings) -> str:
    import httpx

    from snapshots.sources.network import BoundedBackend, Overdue, keep_within

    parts = urlsplit(url)
    asked = parts._replace(path=parts.path.rstrip("/") + _INFO, query=_QUESTION, fragment="")
    backend = BoundedBackend(boundary)
    client = httpx.Client(
        follow_redirects=True,
        max_redirects=_MAX_REDIRECTS,
        timeout=settings.timeout,
        headers={"User-Agent": f"git/2 ({importer_name()})", "Git-Protocol": "version=2"},
    )
    keep_within(client, backend)
    try:
        with (
            client,
            backend.deadline(settings.deadline),
            client.stream("GET", urlunsplit(asked)) as response,
        ):
            end = urlsplit(str(response.url))
            is_redirected = bool(response.history)
    except httpx.TooManyRedirects:
        reason = f"redirects more than {_MAX_REDIRECTS} times, perhaps in a circle"
        raise SourceError(public, f"{reason}; give the final URL") from None
    except Overdue:
        raise SourceError(public, f"no answer within {settings.deadline:g} s") from None
    except (httpx.HTTPError, httpx.InvalidURL):
        return url
    return _repository_at(end, parts, public) if is_redirected else url


def _repository_at(end: SplitResult, begin: SplitResult, public: str) -> str:
    """Return the URL of the repository whose references were found at ``end``."""
    host = end.netloc.rpartition("@")[2]
    path = end.path.removesuffix(_INFO)
    shown = urlunsplit((end.scheme, host, path, "", ""))
    if not end.path.endswith(_INFO):
        raise SourceError(public, f"redirects to {shown}, which is no repository of git's")
    if begin.scheme.lower() == "https" and end.scheme != "https":
        raise SourceError(public, f"redirects to {shown}, which everybody on the way can change")
    login, at, own_host = begin.netloc.rpartition("@")
    if own_host != host:
        return shown  # a login is for the host that it was given for
    return urlunsplit((end.scheme, f"{login}{at}{host}", path, "", ""))


def _confined(url: str, boundary: Boundary) -> dict[str, str]:
    """Return the settings of git that keep it at a URL. Raises AddressRefused."""
    parts = urlsplit(url)
    bare = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
    # The user may have other settings for some URLs, of which the one that says most counts.
    config = {"http.followRedirects": "false", f"http.{bare}.followRedirects": "false"}
    host, port = parts.hostname or "", parts.port or _PORTS[parts.scheme.lower()]
    try:
        addresses = boundary.addresses(host, port)
    except (OSError, UnicodeError):
        return config  # a proxy may know the host, and if none does, git says so
    if host not in addresses:
        shown = (f"[{it}]" if ip_address(it).version == 6 else it for it in addresses)
        config["http.curloptResolve"] = f"{host}:{port}:{','.join(shown)}"
    return config
