"""Opening of repositories: a local one is read in place, one at a URL is cloned and cached.

Git follows no redirects of http(s):// URLs: they can lead to any address, including services of
this machine or its network.
"""

import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit, urlunsplit

from msgspec.structs import replace

from snapshots.errors import InvalidArgument, SourceError
from snapshots.sources.git import repository as git
from snapshots.sources.inputs import Missing, read_regular
from snapshots.sources.settings import ReadSettings

# -- clones

_SCP_LIKE = re.compile(r"[^/:]+:[^:].*", re.S)
_REDIRECTED = re.compile(r"returned error: 30\d")
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
) -> Iterator[git.Repository]:
    """Open the repository in a folder, or the updated clone of the repository at a URL.

    A clone is bare, contains the remote's HEAD, and stays in ``settings.cache_dir``: the next call
    fetches only new commits. With ``refs``, each a ref with at most one ``*``, it also contains
    these, but no blobs; a repository in a folder then has all of its refs. Errors name the
    ``option`` of the location. Raises SourceError if there is no repository or it has no commit,
    and InvalidArgument for a location that is neither a path nor a URL, and for a URL if
    ``settings.cache_dir`` is None.
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


def _in_place(folder: Path, location: str, own: Path) -> git.Repository:
    """Make the empty folder ``own`` a repository with the HEAD and objects of another one.

    The configuration of the other one does not apply to it.
    """
    try:
        # One call for both; the path is last, as it can contain any byte.
        head, _, shared = git.discover(folder, location, "HEAD", "--git-common-dir").partition(
            b"\n"
        )
    except SourceError:
        git.discover(folder, location, "--git-common-dir")  # raises where there is no repository
        raise SourceError(location, "has no commit yet") from None
    common = folder.absolute() / os.fsdecode(shared.removesuffix(b"\n"))
    format_ = "sha256" if len(head) == _LONG_HASH else "sha1"
    (own / "refs").mkdir()
    (own / "config").write_text(_OWN_CONFIG.format(format=format_))
    (own / "HEAD").write_bytes(head + b"\n")
    with suppress(Missing):  # without this file, the history is complete
        (own / "shallow").write_bytes(read_regular(str(common / "shallow"), _SHALLOW_BYTES))
    return git.Repository(own, location, common / "objects")


def _refs_in(folder: Path, location: str) -> bytes:
    """Return all refs of a repository in git's packed-refs format."""
    lines = git.discover(folder, location, "--all", "--symbolic-full-name", "--all").splitlines()
    objects, names = lines[: len(lines) // 2], lines[len(lines) // 2 :]
    if not all(name.startswith(b"refs/") for name in names):
        raise SourceError(location, "has refs that cannot be told apart")
    pairs = sorted(zip(names, objects, strict=True))
    return b"".join(b"%s %s\n" % (object_, name) for name, object_ in pairs)


def _cloned(url: str, settings: ReadSettings, option: str, refs: Sequence[str]) -> git.Repository:
    scheme = _scheme_of(url, option) if "://" in url else "ssh"
    public = _without_password(url)
    if settings.cache_dir is None:
        raise InvalidArgument(option, f"{public} is a URL, and no folder is given for its clone")
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", public.rstrip("/").removesuffix(".git"))[-60:]
    digest = hashlib.sha256(public.encode()).hexdigest()[:16]
    kind = "-refs" if refs else ""
    folder = settings.cache_dir / "clones" / f"{name.lstrip('-.')}-{digest}{kind}.git"
    repository = git.Repository(folder, public)
    try:
        repository.folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidArgument("clones", f"{error.filename}: {error.strerror}") from None
    network = git.Network((scheme,), settings.deadline)
    try:
        # Created and fetched into, rather than cloned, so that a killed run leaves no partial
        # clone.
        git.run(
            repository, "init", "--quiet", "--bare", "--template=", f"--initial-branch={_FETCHED}"
        )
        fetch = ["fetch", "--quiet", "--no-tags", "--no-recurse-submodules"]
        if refs:
            network = replace(network, config={**network.config, f"remote.{_REMOTE}.url": url})
            git.run(repository, "symbolic-ref", "HEAD", _HEAD)
            fetch += ["--prune", "--filter=blob:none", "--", _REMOTE, f"+HEAD:{_HEAD}"]
            git.run(repository, *fetch, *(f"+{ref}:{ref}" for ref in refs), network=network)
            return replace(repository, network=network)
        git.run(repository, *fetch, "--", url, f"+HEAD:refs/heads/{_FETCHED}", network=network)
    except SourceError as error:
        reason = error.reason.replace(url, public)
        if _REDIRECTED.search(reason):
            reason += ": it redirects; give the final URL, perhaps with .git at its end"
        raise SourceError(public, reason) from None
    return repository


def fetch_blobs(repository: git.Repository, blobs: Sequence[str]) -> None:
    """Fetch blobs into the clone of a repository at a URL that was opened with refs.

    Does nothing for a repository in a folder. Raises SourceError on failure.
    """
    if repository.network is not None and blobs:
        command = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--filter=blob:none")
        negotiation = {"fetch.negotiationAlgorithm": "noop"}
        config = {**repository.network.config, **negotiation}
        network = replace(repository.network, config=config)
        git.run(repository, *command, "--", _REMOTE, *blobs, network=network)


def _scheme_of(url: str, option: str) -> str:
    """Return the scheme of a URL. Raises InvalidArgument for one that git cannot clone from."""
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise InvalidArgument(option, f"is not a valid URL: {error}") from None
    scheme = parts.scheme.lower()
    if scheme not in git.SCHEMES:
        known = ", ".join(git.SCHEMES)
        raise InvalidArgument(option, f"{scheme}:// cannot be cloned from; these can: {known}")
    try:
        _ = parts.port  # parsed on access
    except ValueError:  # its message would reveal the end of a password that contains a slash
        raise InvalidArgument(
            option, "is not a valid URL: its port is not a number up to 65535"
        ) from None
    return scheme


def _without_password(url: str) -> str:
    """Return the URL without secrets, for catalogs and logs."""
    if "://" not in url:
        return url
    parts = urlsplit(url)
    user, _, host = parts.netloc.rpartition("@")
    netloc = f"{user.partition(':')[0]}@{host}" if user and parts.scheme == "ssh" else host
    return urlunsplit(parts._replace(netloc=netloc))
