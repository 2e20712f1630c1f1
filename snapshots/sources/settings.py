"""Settings for reading build caches and repositories: caches, limits, retries, credentials."""

from pathlib import Path

import msgspec

from snapshots.errors import InvalidArgument


class Login(msgspec.Struct, frozen=True):
    """A user and a password, neither of which is in its representation."""

    user: str
    password: str

    def __repr__(self) -> str:
        return "Login(...)"


class ReadSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How locations are read. Raises InvalidArgument for fewer than one attempt or worker.

    ``cache_dir`` stores downloads for later runs: clones, up to ``cache_bytes`` of indexes, and up
    to ``cache_bytes`` of documents of single specs; None stores nothing. An index has at most
    ``max_index_bytes`` when decompressed. ``timeout`` is the maximum silence of a server;
    ``deadline`` is the maximum duration of a request with all attempts, or of fetching a
    repository; ``backoff`` is the delay before the second attempt, which doubles with each further
    one; all are in seconds. A request is tried ``attempts`` times, with ``workers`` requests at a
    time. With ``proof``, the hashes of an index are recomputed, and a spec with a different hash is
    bad. With ``allow_empty``, an index without specs is read instead of refused. ``s3_prefixes``
    maps buckets to the HTTPS prefixes that serve them, in addition to PUBLIC_BUCKETS.
    ``oci_login`` is for OCI registries that require one.
    """

    cache_dir: Path | None = None
    cache_bytes: int = 4 << 30
    max_index_bytes: int = 2 << 30
    timeout: float = 60.0
    deadline: float = 3_600.0
    attempts: int = 5
    backoff: float = 1.0
    workers: int = 8
    proof: bool = True
    allow_empty: bool = False
    s3_prefixes: dict[str, str] = {}
    oci_login: Login | None = None

    def __post_init__(self) -> None:
        for name, value in (("attempts", self.attempts), ("workers", self.workers)):
            if value < 1:
                raise InvalidArgument(name, f"must be at least 1, not {value}")
