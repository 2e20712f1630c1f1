"""How build caches and repositories are read: what is kept, what is tried, how much is taken."""

from pathlib import Path

import msgspec

from snapshots.errors import InvalidArgument


class Login(msgspec.Struct, frozen=True):
    """A user and a password; neither is shown where the record is."""

    user: str
    password: str

    def __repr__(self) -> str:
        return "Login(...)"


class ReadSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How locations are read. Raises InvalidArgument for fewer attempts or workers than one.

    ``cache_dir`` keeps what later runs need not fetch again: clones, and at most ``cache_bytes`` of
    indexes; None keeps nothing. An index may hold ``max_index_bytes`` when unpacked. ``timeout`` is
    the longest silence of a server, ``deadline`` the time that one answer may take with all
    attempts, or the fetching of a repository, and ``backoff`` the wait before a second attempt,
    which doubles with each one after it, all in seconds; a request is tried ``attempts`` times,
    ``workers`` of them at once. ``s3_prefixes`` maps buckets to the HTTPS prefixes they are served
    at, in addition to PUBLIC_BUCKETS. ``oci_login`` is for OCI registries that ask for one; without
    it ``docker_config``, a file of Docker's, is looked into.
    """

    cache_dir: Path | None = None
    cache_bytes: int = 4 << 30
    max_index_bytes: int = 2 << 30
    timeout: float = 60.0
    deadline: float = 3_600.0
    attempts: int = 5
    backoff: float = 1.0
    workers: int = 8
    s3_prefixes: dict[str, str] = {}
    oci_login: Login | None = None
    docker_config: Path | None = None

    def __post_init__(self) -> None:
        for name, value in (("attempts", self.attempts), ("workers", self.workers)):
            if value < 1:
                raise InvalidArgument(name, f"must be at least 1, not {value}")
