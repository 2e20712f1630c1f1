"""How build caches and repositories are read: what is kept, what is tried, how much is taken."""

from collections.abc import Mapping
from pathlib import Path
from typing import Self

import msgspec

from snapshots.errors import InvalidArgument


class Login(msgspec.Struct, frozen=True):
    """A user and a password; neither is shown where the record is."""

    user: str
    password: str

    def __repr__(self) -> str:
        return "Login(...)"


class S3Access(msgspec.Struct, frozen=True, kw_only=True):
    """How buckets of S3 are reached; without a key, requests are not signed.

    ``endpoint`` is the URL of another service than Amazon's, ``region`` the one that buckets lie
    in. Neither the key nor the token is shown where the record is.
    """

    endpoint: str = ""
    region: str = ""
    key_id: str = ""
    secret: str = ""
    token: str = ""
    allows_http: bool = False

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> Self:
        """Return what the variables of AWS say, those that a catalog on S3 takes, too.

        No service of the machine is asked for credentials.
        """
        return cls(
            endpoint=environ.get("AWS_ENDPOINT_URL", "").rstrip("/"),
            region=environ.get("AWS_REGION", "") or environ.get("AWS_DEFAULT_REGION", ""),
            key_id=environ.get("AWS_ACCESS_KEY_ID", ""),
            secret=environ.get("AWS_SECRET_ACCESS_KEY", ""),
            token=environ.get("AWS_SESSION_TOKEN", ""),
            allows_http=environ.get("AWS_ALLOW_HTTP", "").lower() in ("true", "1", "yes", "on"),
        )

    @property
    def is_signed(self) -> bool:
        """Whether there is a key to sign requests with, or half of one."""
        return bool(self.key_id or self.secret)

    def unsigned(self) -> Self:
        """Return the same without a key."""
        return msgspec.structs.replace(self, key_id="", secret="", token="")

    def __repr__(self) -> str:
        return f"S3Access(endpoint={self.endpoint!r}, region={self.region!r}, ...)"


class ReadSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How locations are read. Raises InvalidArgument for fewer attempts or workers than one.

    ``cache_dir`` keeps what later runs need not fetch again: clones, at most ``cache_bytes`` of
    indexes, and as many of documents of single specs; None keeps nothing. An index may hold
    ``max_index_bytes`` when unpacked. ``timeout`` is the longest silence of a server, ``deadline``
    the time that one answer may take with all attempts, or the fetching of a repository, and
    ``backoff`` the wait before a second attempt, which doubles with each one after it, all in
    seconds; a request is tried ``attempts`` times, ``workers`` of them at once. With ``proof`` the
    hashes of an index are computed anew, and a spec whose content has another hash is bad.
    ``s3_prefixes`` maps buckets to the HTTPS prefixes they are served at, in addition to
    PUBLIC_BUCKETS; other buckets are reached as ``s3`` says. ``oci_login`` is for OCI registries
    that ask for one; without it ``docker_config``, a file of Docker's, is looked into. ``view``
    names the one of a build cache's smaller indexes that is read instead of the whole one.
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
    s3_prefixes: dict[str, str] = {}
    oci_login: Login | None = None
    docker_config: Path | None = None
    s3: S3Access = S3Access()
    view: str | None = None

    def __post_init__(self) -> None:
        for name, value in (("attempts", self.attempts), ("workers", self.workers)):
            if value < 1:
                raise InvalidArgument(name, f"must be at least 1, not {value}")
