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
from snapshots.sources.git.commands import SCHEMES, Repository, discover, run

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
def open_repository(location: str, clones: Path | None) -> Iterator[Repository]:
    """Open the repository in a folder, or the clone of the one at a URL, brought up to date.

    A clone is bare, holds the remote's HEAD, and stays in the folder ``clones``: the next call
    fetches only what is new. Raises SourceError where there is no repository or no commit in it,
    InvalidArgument for a location that can be neither path nor URL, and a URL without ``clones``.
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
            repository = _in_place(folder, location, own)
        elif is_file:
            raise SourceError(location, "is a file, not a repository")
        elif "://" in location or _SCP_LIKE.fullmatch(location):
            repository = _cloned(location, clones)
        else:
            raise SourceError(location, "does not exist")
        head = run(repository, "cat-file", "--batch-check", data=b"HEAD^{commit}\n")
        if head.rstrip().endswith(b" missing"):
            raise SourceError(repository.location, "holds no commit yet")
        yield repository


def _in_place(folder: Path, location: str, own: Path) -> Repository:
    """Make the empty folder ``own`` a repository with the HEAD and objects of the one in a folder.

    None of that one's configuration is in force there.
    """

    def part(name: str) -> Path:
        found = discover(folder, location, "--git-path", name)
        return folder.absolute() / os.fsdecode(found.removesuffix(b"\n"))

    objects, shallow = part("objects"), part("shallow")
    try:
        head = discover(folder, location, "--verify", "HEAD").decode().strip()
    except SourceError:
        raise SourceError(location, "holds no commit yet") from None
    format_ = "sha256" if len(head) == _LONG_HASH else "sha1"
    (own / "refs").mkdir()
    (own / "config").write_text(_OWN_CONFIG.format(format=format_))
    (own / "HEAD").write_text(f"{head}\n")
    with suppress(Missing):  # then it has all of its history
        (own / "shallow").write_bytes(read_regular(str(shallow), _SHALLOW_BYTES))
    return Repository(own, location, objects)


def _cloned(url: str, clones: Path | None) -> Repository:
    try:
        scheme = urlsplit(url).scheme.lower() if "://" in url else "ssh"
    except ValueError as error:
        raise InvalidArgument("--git", f"is no good URL: {error}") from None
    if scheme not in SCHEMES:
        known = ", ".join(SCHEMES)
        raise InvalidArgument("--git", f"{scheme}:// cannot be cloned from; these can: {known}")
    public = _without_password(url)
    if clones is None:
        raise InvalidArgument("--git", f"{public} is a URL, and no folder is given for its clone")
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", public.rstrip("/").removesuffix(".git"))[-60:]
    digest = hashlib.sha256(public.encode()).hexdigest()[:16]
    repository = Repository(clones / f"{name.lstrip('-.')}-{digest}.git", public)
    try:
        repository.folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidArgument("clones", f"{error.filename}: {error.strerror}") from None
    protocols = ("http", "https") if scheme == "http" else (scheme,)
    try:
        # Made and fetched into, rather than cloned, so that a killed run leaves nothing half done.
        run(repository, "init", "--quiet", "--bare", "--template=", f"--initial-branch={_FETCHED}")
        refs = f"+HEAD:refs/heads/{_FETCHED}"
        fetch = ("fetch", "--quiet", "--no-tags", "--no-recurse-submodules")
        run(repository, *fetch, "--", url, refs, protocols=protocols)
    except SourceError as error:
        raise SourceError(public, error.reason.replace(url, public)) from None
    return repository


def _without_password(url: str) -> str:
    """Return the URL without what must not come into a catalog or a log."""
    if "://" not in url:
        return url
    parts = urlsplit(url)
    user, _, host = parts.netloc.rpartition("@")
    kept = f"{user.partition(':')[0]}@{host}" if user and parts.scheme == "ssh" else host
    return urlunsplit(parts._replace(netloc=kept))
