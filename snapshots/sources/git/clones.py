"""Where a repository lies: a local one is read in place, one at a URL is cloned and kept."""

import hashlib
import re
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from snapshots.errors import InvalidArgument, SourceError
from snapshots.sources.git.commands import SCHEMES, Repository, run

_SCP_LIKE = re.compile(r"[^/:]+:[^:].*", re.S)
_FETCHED = "imported"


def open_repository(location: str, clones: Path | None) -> Repository:
    """Return the repository in a folder, or the clone of the one at a URL, brought up to date.

    A clone is bare, holds the remote's HEAD, and stays in the folder ``clones``: the next call
    fetches only what is new. Raises SourceError where there is no repository or no commit in it,
    InvalidArgument for a location that can be neither path nor URL, and a URL without ``clones``.
    """
    if not location or location.startswith("-"):
        raise InvalidArgument("--git", f"{location!r} is neither a path nor a URL")
    folder = Path(location).expanduser()
    if folder.is_dir():
        repository = Repository(folder, location)
    elif folder.exists():
        raise SourceError(location, "is a file, not a repository")
    elif "://" in location or _SCP_LIKE.fullmatch(location):
        repository = _cloned(location, clones)
    else:
        raise SourceError(location, "does not exist")
    head = run(repository, "cat-file", "--batch-check", data=b"HEAD^{commit}\n")
    if head.rstrip().endswith(b" missing"):
        raise SourceError(repository.location, "holds no commit yet")
    return repository


def _cloned(url: str, clones: Path | None) -> Repository:
    scheme = urlsplit(url).scheme.lower() if "://" in url else "ssh"
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
    try:
        # Made and fetched into, rather than cloned, so that a killed run leaves nothing half done.
        run(repository, "init", "--quiet", "--bare", "--template=", f"--initial-branch={_FETCHED}")
        refs = f"+HEAD:refs/heads/{_FETCHED}"
        run(repository, "fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--", url, refs)
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
