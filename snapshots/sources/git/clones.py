"""Where a repository lies: a local one is read in place, one at a URL is cloned and kept.

Redirects of http(s):// URLs are followed here, not by git, which would follow one to any address,
that of a service of this machine or its network too.
"""

import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from ipaddress import ip_address
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import SplitResult, urlsplit, urlunsplit

from msgspec.structs import replace

from snapshots.errors import InvalidArgument, SourceError
from snapshots.program import importer_name
from snapshots.sources.boundary import AddressRefused, Boundary, hosts_of
from snapshots.sources.git.repository import (
    SCHEMES,
    Network,
    Repository,
    discover,
    refuse_pipes,
    run,
)
from snapshots.sources.inputs import Missing, read_regular
from snapshots.sources.settings import ReadSettings

# -- clones

_SCP_LIKE = re.compile(r"[^/:]+:[^:].*", re.S)
_FETCHED = "imported"
_REMOTE = "origin"
_HEAD = "refs/cachelog/head"
_LONG_HASH = 64
_SHALLOW_BYTES = 1 << 20
_OWN_CONFIG = """\
[core]
\trepositoryformatversion = 1
\tbare = true
[extensions]
\tobjectformat = {format}
"""


@contextmanager
def open_repository(
    location: str, settings: ReadSettings, *, option: str = "--git", refs: Sequence[str] = ()
) -> Iterator[Repository]:
    """Open the repository in a folder, or the clone of the one at a URL, brought up to date.

    A clone is bare, holds the remote's HEAD, and stays in ``settings.cache_dir``: the next call
    fetches only what is new. With ``refs``, each a ref with one ``*`` at the most, it holds these
    as well, and no blobs; of a repository in a folder all refs are there then. Errors name the
    ``option`` that gave the location. Raises SourceError where there is no repository or no commit
    in it, InvalidArgument for a location that can be neither path nor URL, and for a URL without
    that folder.
    """
    if not location or location.startswith("-") or "\0" in location:
        raise InvalidArgument(option, f"{location!r} is neither a path nor a URL")
    with ExitStack() as stack:
        try:
            folder = Path(location).expanduser()
            is_folder, is_file = folder.is_dir(), folder.is_file()
        except (OSError, RuntimeError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise SourceError(location, f"cannot be read: {reason}") from None
        if is_folder:
            own = Path(stack.enter_context(TemporaryDirectory(prefix="cachelog-git-")))
            repository = _in_place(folder, location, own)
            if refs:
                (own / "packed-refs").write_bytes(_refs_in(folder, location))
            yield repository
        elif is_file:
            raise SourceError(location, "is a file, not a repository")
        elif "://" in location or _SCP_LIKE.fullmatch(location):
            yield _cloned(location, settings, option, refs)
        else:
            raise SourceError(location, "does not exist")


def _in_place(folder: Path, location: str, own: Path) -> Repository:
    """Make the empty folder ``own`` a repository with the HEAD and objects of the one in a folder.

    None of that one's configuration is in force there.
    """
    inner = folder / ".git"
    refuse_pipes(inner if inner.exists() else folder, location)
    try:
        # Asked at once, the path last: it may hold any byte.
        head, _, shared = discover(folder, location, "HEAD", "--git-common-dir").partition(b"\n")
    except SourceError:
        discover(folder, location, "--git-common-dir")  # raises where there is no repository
        raise SourceError(location, "holds no commit yet") from None
    common = folder.absolute() / os.fsdecode(shared.removesuffix(b"\n"))
    if common != inner:
        refuse_pipes(common, location)
    format_ = "sha256" if len(head) == _LONG_HASH else "sha1"
    (own / "refs").mkdir()
    (own / "config").write_text(_OWN_CONFIG.format(format=format_))
    (own / "HEAD").write_bytes(head + b"\n")
    with suppress(Missing):  # then it has all of its history
        (own / "shallow").write_bytes(read_regular(str(common / "shallow"), _SHALLOW_BYTES))
    return Repository(own, location, common / "objects")


def _refs_in(folder: Path, location: str) -> bytes:
    """Return all refs of a repository as a file of git's names them."""
    lines = discover(folder, location, "--all", "--symbolic-full-name", "--all").splitlines()
    objects, names = lines[: len(lines) // 2], lines[len(lines) // 2 :]
    if not all(name.startswith(b"refs/") for name in names):
        raise SourceError(location, "has refs that cannot be told apart")
    pairs = sorted(zip(names, objects, strict=True))
    return b"".join(b"%s %s\n" % (object_, name) for name, object_ in pairs)


def _cloned(url: str, settings: ReadSettings, option: str, refs: Sequence[str]) -> Repository:
    scheme = _scheme_of(url, option) if "://" in url else "ssh"
    public = _without_password(url)
    if settings.cache_dir is None:
        raise InvalidArgument(option, f"{public} is a URL, and no folder is given for its clone")
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", public.rstrip("/").removesuffix(".git"))[-60:]
    digest = hashlib.sha256(public.encode()).hexdigest()[:16]
    kind = "-refs" if refs else ""
    folder = settings.cache_dir / "clones" / f"{name.lstrip('-.')}-{digest}{kind}.git"
    repository = Repository(folder, public)
    try:
        repository.folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidArgument("clones", f"{error.filename}: {error.strerror}") from None
    end, network = url, Network((scheme,), settings.deadline)
    if scheme in ("http", "https"):
        end, config = destination(url, public, settings)
        network = Network((urlsplit(end).scheme.lower(),), settings.deadline, config)
    try:
        # Made and fetched into, rather than cloned, so that a killed run leaves nothing half done.
        run(repository, "init", "--quiet", "--bare", "--template=", f"--initial-branch={_FETCHED}")
        fetch = ["fetch", "--quiet", "--no-tags", "--no-recurse-submodules"]
        if refs:
            network = replace(network, config={**network.config, f"remote.{_REMOTE}.url": end})
            run(repository, "symbolic-ref", "HEAD", _HEAD)
            fetch += ["--prune", "--filter=blob:none", "--", _REMOTE, f"+HEAD:{_HEAD}"]
            run(repository, *fetch, *(f"+{ref}:{ref}" for ref in refs), network=network)
            return replace(repository, network=network)
        run(repository, *fetch, "--", end, f"+HEAD:refs/heads/{_FETCHED}", network=network)
    except SourceError as error:
        reason = error.reason.replace(url, public).replace(end, _without_password(end))
        raise SourceError(public, reason) from None
    return repository


def fetch_blobs(repository: Repository, blobs: Sequence[str]) -> None:
    """Bring blobs into the clone of a repository at a URL, which was opened with refs.

    Does nothing for a repository in a folder. Raises SourceError where that fails.
    """
    if repository.network is not None and blobs:
        command = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--filter=blob:none")
        negotiation = {"fetch.negotiationAlgorithm": "noop"}
        config = {**repository.network.config, **negotiation}
        network = replace(repository.network, config=config)
        run(repository, *command, "--", _REMOTE, *blobs, network=network)


def _scheme_of(url: str, option: str) -> str:
    """Return the scheme of a URL; raises InvalidArgument for one that git cannot clone from."""
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise InvalidArgument(option, f"is not a valid URL: {error}") from None
    scheme = parts.scheme.lower()
    if scheme not in SCHEMES:
        known = ", ".join(SCHEMES)
        raise InvalidArgument(option, f"{scheme}:// cannot be cloned from; these can: {known}")
    try:
        _ = parts.port  # parsed only here
    except ValueError:  # which would show the end of a password that has a slash in it
        raise InvalidArgument(
            option, "is not a valid URL: its port is not a number up to 65535"
        ) from None
    return scheme


def _without_password(url: str) -> str:
    """Return the URL without what must not come into a catalog or a log."""
    if "://" not in url:
        return url
    parts = urlsplit(url)
    user, _, host = parts.netloc.rpartition("@")
    kept = f"{user.partition(':')[0]}@{host}" if user and parts.scheme == "ssh" else host
    return urlunsplit(parts._replace(netloc=kept))


# -- redirects

_INFO = "/info/refs"
_QUESTION = "service=git-upload-pack"
_MAX_REDIRECTS = 10
_PORTS = {"http": 80, "https": 443}


def destination(url: str, public: str, settings: ReadSettings) -> tuple[str, Mapping[str, str]]:
    """Return the URL where a repository at an http(s):// URL is in the end, as git finds it.

    With it come the settings of git by which it goes nowhere else from there.

    They may lead to the public net, and to special addresses of such kinds as the URL itself has.
    Git then follows none, and connects to the addresses that were checked. ``public`` is the URL
    in errors. Raises SourceError. Where there is no answer, git is left to say why.
    """
    boundary = Boundary(hosts_of(url))
    try:
        end = _followed(url, public, boundary, settings)
        return end, _confined(end, boundary)
    except AddressRefused as error:
        raise SourceError(public, str(error)) from None


def _followed(url: str, public: str, boundary: Boundary, settings: ReadSettings) -> str:
    import httpx

    from snapshots.sources.network import Overdue, bounded_client

    parts = urlsplit(url)
    path = parts.path.rstrip("/") + _INFO
    references = parts._replace(path=path, query=_QUESTION, fragment="")
    client, backend = bounded_client(
        boundary,
        follow_redirects=True,
        max_redirects=_MAX_REDIRECTS,
        timeout=settings.timeout,
        headers={"User-Agent": f"git/2 ({importer_name()})", "Git-Protocol": "version=2"},
    )
    try:
        with (
            client,
            backend.deadline(settings.deadline),
            client.stream("GET", urlunsplit(references)) as response,
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
        raise SourceError(public, f"redirects to {shown}, which is not a repository of git's")
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
        shown = [f"[{ip}]" if ip_address(ip).version == 6 else ip for ip in addresses]
        config["http.curloptResolve"] = f"{host}:{port}:{','.join(shown)}"
    return config
