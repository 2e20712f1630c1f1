"""Where a repository lies: a local one is read in place, one at a URL is cloned and kept."""

import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit, urlunsplit

from snapshots.errors import InvalidArgument, SourceError
from snapshots.sources.files import Missing, read_regular
from snapshots.sources.git.commands import SCHEMES, Network, Repository, discover, run
from snapshots.sources.git.pipes import refuse_pipes
from snapshots.sources.git.redirects import destination
from snapshots.sources.settings import ReadSettings

_SCP_LIKE = re.compile(r"[^/:]+:[^:].*", re.S)
_FETCHED = "imported"
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
def open_repository(location: str, settings: ReadSettings) -> Iterator[Repository]:
    """Open the repository in a folder, or the clone of the one at a URL, brought up to date.

    A clone is bare, holds the remote's HEAD, and stays in ``settings.cache_dir``: the next call
    fetches only what is new. Raises SourceError where there is no repository or no commit in it,
    InvalidArgument for a location that can be neither path nor URL, and for a URL without that
    folder.
    """
    if not location or location.startswith("-") or "\0" in location:
        raise InvalidArgument("--git", f"{location!r} is neither a path nor a URL")
    with ExitStack() as stack:
        try:
            folder = Path(location).expanduser()
            is_folder, is_file = folder.is_dir(), folder.is_file()
        except (OSError, RuntimeError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise SourceError(location, f"cannot be read: {reason}") from None
        if is_folder:
            own = Path(stack.enter_context(TemporaryDirectory(prefix="cachelog-git-")))
            yield _in_place(folder, location, own)
        elif is_file:
            raise SourceError(location, "is a file, not a repository")
        elif "://" in location or _SCP_LIKE.fullmatch(location):
            yield _cloned(location, settings)
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
        head, _, found = discover(folder, location, "HEAD", "--git-common-dir").partition(b"\n")
    except SourceError:
        discover(folder, location, "--git-common-dir")  # raises where there is no repository
        raise SourceError(location, "holds no commit yet") from None
    common = folder.absolute() / os.fsdecode(found.removesuffix(b"\n"))
    if common != inner:
        refuse_pipes(common, location)
    format_ = "sha256" if len(head) == _LONG_HASH else "sha1"
    (own / "refs").mkdir()
    (own / "config").write_text(_OWN_CONFIG.format(format=format_))
    (own / "HEAD").write_bytes(head + b"\n")
    with suppress(Missing):  # then it has all of its history
        (own / "shallow").write_bytes(read_regular(str(common / "shallow"), _SHALLOW_BYTES))
    return Repository(own, location, common / "objects")


def _cloned(url: str, settings: ReadSettings) -> Repository:
    scheme = _scheme_of(url) if "://" in url else "ssh"
    public = _without_password(url)
    if settings.cache_dir is None:
        raise InvalidArgument("--git", f"{public} is a URL, and no folder is given for its clone")
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", public.rstrip("/").removesuffix(".git"))[-60:]
    digest = hashlib.sha256(public.encode()).hexdigest()[:16]
    folder = settings.cache_dir / "clones" / f"{name.lstrip('-.')}-{digest}.git"
    repository = Repository(folder, public)
    try:
        repository.folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidArgument("clones", f"{error.filename}: {error.strerror}") from None
    found, network = url, Network((scheme,), settings.deadline)
    if scheme in ("http", "https"):
        found, config = destination(url, public, settings)
        network = Network((urlsplit(found).scheme.lower(),), settings.deadline, config)
    try:
        # Made and fetched into, rather than cloned, so that a killed run leaves nothing half done.
        run(repository, "init", "--quiet", "--bare", "--template=", f"--initial-branch={_FETCHED}")
        refs = f"+HEAD:refs/heads/{_FETCHED}"
        fetch = ("fetch", "--quiet", "--no-tags", "--no-recurse-submodules")
        run(repository, *fetch, "--", found, refs, network=network)
    except SourceError as error:
        reason = error.reason.replace(url, public).replace(found, _without_password(found))
        raise SourceError(public, reason) from None
    return repository


def _scheme_of(url: str) -> str:
    """Return the scheme of a URL; raises InvalidArgument for one that git cannot clone from."""
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise InvalidArgument("--git", f"is no good URL: {error}") from None
    scheme = parts.scheme.lower()
    if scheme not in SCHEMES:
        known = ", ".join(SCHEMES)
        raise InvalidArgument("--git", f"{scheme}:// cannot be cloned from; these can: {known}")
    try:
        _ = parts.port  # parsed only here
    except ValueError:  # which would show the end of a password that has a slash in it
        raise InvalidArgument(
            "--git", "is no good URL: its port is no number up to 65535"
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
