"""Reading bytes from a folder, a file, or an http(s):// or s3:// URL.

An S3 bucket is read where it is served publicly over HTTPS; no credentials for S3 are used. What
is large goes to disk as it comes over the wire, so several indexes can be fetched at once in
little memory; it is unpacked when it is read, within a bound.
"""

import hashlib
import random
import re
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from threading import Event, Lock
from typing import TYPE_CHECKING, Literal, Self, TypeVar
from urllib.parse import urlsplit
from urllib.request import url2pathname

import msgspec

from snapshots.errors import SourceError
from snapshots.sources.importer import importer_name
from snapshots.sources.reports import Report

if TYPE_CHECKING:
    import httpx

PUBLIC_BUCKETS: Mapping[str, str] = {"spack-binaries": "https://binaries.spack.io"}
"""Where well-known buckets are served publicly."""

DOCUMENT_BYTES = 16 << 20
"""The most bytes of a document that is read into memory at once: a manifest, a checksum."""

_PIECE = 1 << 20
_MAX_REDIRECTS = 10
_LONGEST_WAIT = 120.0
_MISSING = frozenset({403, 404, 410})  # S3 answers 403 for what is missing where it may not list
_GZIP = 16 + zlib.MAX_WBITS
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")

T = TypeVar("T")


class ReadSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How locations are read.

    ``cache_dir`` keeps what later runs need not fetch again; None keeps nothing. An index may hold
    ``max_index_bytes`` when unpacked. ``timeout`` is the longest silence of a server and
    ``backoff`` the wait before a second attempt, which doubles with each one after it, both in
    seconds; a request is tried ``attempts`` times, ``workers`` of them at once. ``s3_prefixes``
    maps buckets to the HTTPS prefixes they are served at, in addition to PUBLIC_BUCKETS.
    """

    cache_dir: Path | None = None
    max_index_bytes: int = 2 << 30
    timeout: float = 60.0
    attempts: int = 5
    backoff: float = 1.0
    workers: int = 8
    s3_prefixes: dict[str, str] = {}


class Missing(SourceError):
    """Nothing can be read at a location: no such file, or HTTP 403, 404 or 410."""


def is_url(location: str) -> bool:
    """Tell whether the location is read over HTTP."""
    return location.startswith(("http://", "https://"))


def resolve(location: str, settings: ReadSettings) -> str:
    """Return the path or the http(s) URL that a location stands for.

    Raises SourceError for a URL of another kind.
    """
    match = _SCHEME.match(location)
    if match is None:
        return location
    scheme, rest = match[1].lower(), location[match.end() :]
    if scheme in ("http", "https"):
        if "@" in rest.partition("/")[0]:  # it would stand in the catalog for all to read
            shown = f"{scheme}://{rest.partition('@')[2]}"
            raise SourceError(shown, "the URL holds a login; only what is public can be read")
        return f"{scheme}://{rest}"
    if scheme == "file":
        return url2pathname(urlsplit(location).path)
    if scheme != "s3":
        known = "a folder, a file, or an http(s):// or s3:// URL"
        raise SourceError(location, f"is none of what can be read: {known}")
    bucket, _, path = rest.partition("/")
    if _BUCKET.fullmatch(bucket) is None:
        raise SourceError(location, f"{bucket!r} cannot name an S3 bucket")
    prefixes = {**PUBLIC_BUCKETS, **settings.s3_prefixes}
    prefix = prefixes.get(bucket, f"https://{bucket}.s3.amazonaws.com")
    return f"{prefix.rstrip('/')}/{path}"


class Body(msgspec.Struct, frozen=True, kw_only=True):
    """The bytes of ``location`` in the file ``path``.

    ``encoding`` is the Content-Encoding they came in, ``etag`` what the server called them. The
    file is the ``user``'s own, or ``kept`` for later runs, or ``passing``.
    """

    location: str
    path: Path
    file: Literal["user", "kept", "passing"]
    encoding: str | None = None
    etag: str | None = None

    def load(
        self, *, limit: int, compression: str = "none", algorithm: str = "sha256"
    ) -> tuple[bytearray, str]:
        """Return the unpacked content, and the checksum of what lay before ``compression``.

        Raises SourceError where the content is larger than ``limit`` bytes, or is no good gzip.
        """
        digest = hashlib.new(algorithm)
        chunks = _unpacked(self._chunks(), self.encoding, self.location)
        chunks = _unpacked(_hashed(chunks, digest), compression, self.location)
        return _collect(chunks, limit, self.location), digest.hexdigest()

    def release(self) -> None:
        """Delete the file if no later run has a use for it."""
        if self.file == "passing":
            self.path.unlink(missing_ok=True)

    @contextmanager
    def discarded_if_bad(self) -> Iterator[None]:
        """Delete the file, unless it is the user's, where the block finds its content bad.

        Otherwise every later run would find it unchanged, and as bad.
        """
        try:
            yield
        except SourceError:
            if self.file != "user":
                self.path.unlink(missing_ok=True)
            raise

    def _chunks(self) -> Iterator[bytes]:
        try:
            with self.path.open("rb") as file:
                while chunk := file.read(_PIECE):
                    yield chunk
        except OSError as error:
            raise SourceError(self.location, f"cannot be read: {error.strerror}") from None


class Transport:
    """Reads locations; a context manager, and safe to share between threads."""

    def __init__(self, settings: ReadSettings, report: Report) -> None:
        self.settings = settings
        self._report = report
        self._exit = ExitStack()
        self._lock = Lock()
        self._stopped = Event()
        self._http: httpx.Client | None = None
        self._store: _Store | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._exit.close()

    def stop(self) -> None:
        """End every request under way, in whatever thread, with a SourceError."""
        self._stopped.set()

    def exists(self, location: str) -> bool:
        """Tell whether a file lies at the location. Raises SourceError if that cannot be told."""
        if not is_url(location):
            return Path(location).is_file()
        try:
            return self._request("HEAD", location, {}, lambda _: True)
        except Missing:
            return False

    def read(self, location: str) -> bytearray:
        """Return the content of a small document. Raises Missing or SourceError."""
        if not is_url(location):
            return _user_file(location, DOCUMENT_BYTES).load(limit=DOCUMENT_BYTES)[0]

        def content(response: "httpx.Response") -> bytearray:
            chunks = _unpacked(response.iter_raw(), _encoding(response, location), location)
            return _collect(chunks, DOCUMENT_BYTES, location)

        return self._request("GET", location, {}, content)

    def fetch(self, location: str, *, key: str | None = None) -> Body:
        """Bring a large content to disk, unless it lies there unchanged since an earlier run.

        One content is kept for each ``key``, the location if none is given. Raises Missing or
        SourceError.
        """
        if not is_url(location):
            return _user_file(location, self.settings.max_index_bytes)
        key = key or location
        store = self._body_store()
        known = store.find(key, location)
        headers = {"If-None-Match": known.etag} if known and known.etag else {}

        def stored(response: "httpx.Response") -> Body:
            if known and response.status_code == 304:
                return known
            note = _Note(location, response.headers.get("ETag"), _encoding(response, location))
            return store.keep(key, note, self._watched(response, location))

        return self._request("GET", location, headers, stored)

    def _watched(self, response: "httpx.Response", location: str) -> Iterator[bytes]:
        """Yield the body as it comes over the wire; stop at the limit, and when told to."""
        limit = self.settings.max_index_bytes
        length = response.headers.get("Content-Length", "")
        total = int(length) if length.isdecimal() else None
        done = 0
        for chunk in response.iter_raw(_PIECE):
            done += len(chunk)
            if max(done, total or 0) > limit:
                raise _too_large(location, limit)
            if self._stopped.is_set():
                raise SourceError(location, "reading was stopped")
            with self._lock:
                self._report.progress(f"reading {location}", done, total)
            yield chunk

    def _request(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        use: Callable[["httpx.Response"], T],
    ) -> T:
        """Return what ``use`` makes of the response; try again where that may help."""
        import httpx

        failure, asked = "", 0.0
        for attempt in range(self.settings.attempts):
            if attempt:
                self._pause(url, attempt, asked)
            asked = 0.0
            try:
                with self._client().stream(method, url, headers=headers) as response:
                    if response.status_code != 429 and response.status_code < 500:
                        _check_status(response, url)
                        return use(response)
                    failure, asked = _status(response), _retry_after(response)
            except httpx.TooManyRedirects:
                reason = f"redirects more than {_MAX_REDIRECTS} times, perhaps in a circle"
                raise SourceError(url, f"{reason}; give the final URL") from None
            except (httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
                raise SourceError(url, f"is no URL that can be read: {error}") from None
            except httpx.TimeoutException:
                failure = f"no answer within {self.settings.timeout:g} s"
            except httpx.TransportError as error:
                failure = f"the connection failed: {str(error) or type(error).__name__}"
            if asked > _LONGEST_WAIT:
                raise SourceError(url, f"{failure}; try again in {asked:.0f} s, as it asks")
        times = f"tried {self.settings.attempts} times"
        raise SourceError(url, f"{failure} ({times}); try again later")

    def _pause(self, url: str, attempt: int, asked: float) -> None:
        """Wait before another attempt, at least as long as the server asked for."""
        jitter = random.uniform(0.5, 1.5)  # noqa: S311  # it spreads load and hides nothing
        wait = self.settings.backoff * 2 ** (attempt - 1) * jitter
        if self._stopped.wait(max(wait, asked)):
            raise SourceError(url, "reading was stopped")

    def _client(self) -> "httpx.Client":
        import httpx

        with self._lock:
            if self._http is None:
                agent = importer_name().replace(" ", "/")
                client = httpx.Client(
                    follow_redirects=True,
                    max_redirects=_MAX_REDIRECTS,
                    timeout=self.settings.timeout,
                    limits=httpx.Limits(max_connections=self.settings.workers),
                    headers={"Accept-Encoding": "gzip", "User-Agent": agent},
                )
                self._http = self._exit.enter_context(client)
            return self._http

    def _body_store(self) -> "_Store":
        with self._lock:
            if self._store is None:
                self._store = self._open_store()
            return self._store

    def _open_store(self) -> "_Store":
        if self.settings.cache_dir is not None:
            folder = self.settings.cache_dir / "indexes"
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                self._report.warn(f"{folder}: cannot keep anything: {error.strerror}")
            else:
                return _Store(folder, lasting=True)
        passing = tempfile.TemporaryDirectory(prefix="cachelog-")
        return _Store(Path(self._exit.enter_context(passing)), lasting=False)


class _Note(msgspec.Struct):
    """What is known of a stored body; the checksum is that of the file as it lies there."""

    location: str
    etag: str | None
    encoding: str | None
    size: int = 0
    sha256: str = ""


class _Store:
    """A folder of bodies with a note beside each, under the key that it was asked for with."""

    def __init__(self, folder: Path, *, lasting: bool) -> None:
        self._folder = folder
        self._lasting = lasting

    def find(self, key: str, location: str) -> Body | None:
        """Return the body under the key if it is that of ``location``, whole and undamaged."""
        path = self._path(key)
        try:
            note = msgspec.json.decode(path.with_suffix(".json").read_bytes(), type=_Note)
            if note.location != location or path.stat().st_size != note.size:
                return None
            with path.open("rb") as file:
                undamaged = hashlib.file_digest(file, "sha256").hexdigest() == note.sha256
        except (OSError, msgspec.DecodeError):
            return None
        return self._body(note, path) if undamaged else None

    def keep(self, key: str, note: _Note, chunks: Iterable[bytes]) -> Body:
        """Store the chunks in place of what stood under the key; a failure leaves nothing."""
        path = self._path(key)
        digest = hashlib.sha256()
        try:
            with tempfile.NamedTemporaryFile(dir=self._folder, delete=False) as file:
                partial = Path(file.name)
                try:
                    for chunk in _hashed(chunks, digest):
                        file.write(chunk)
                    note.size, note.sha256 = file.tell(), digest.hexdigest()
                    file.close()
                    partial.replace(path)
                finally:
                    partial.unlink(missing_ok=True)
            path.with_suffix(".json").write_bytes(msgspec.json.encode(note))
        except OSError as error:
            reason = f"cannot be stored in {self._folder}: {error.strerror}"
            raise SourceError(note.location, reason) from None
        return self._body(note, path)

    def _path(self, key: str) -> Path:
        return self._folder / f"{hashlib.sha256(key.encode()).hexdigest()[:40]}.body"

    def _body(self, note: _Note, path: Path) -> Body:
        return Body(
            location=note.location,
            path=path,
            file="kept" if self._lasting and note.etag else "passing",
            encoding=note.encoding,
            etag=note.etag,
        )


def _user_file(location: str, limit: int) -> Body:
    path = Path(location)
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        raise Missing(location, "does not exist") from None
    except OSError as error:
        raise SourceError(location, f"cannot be read: {error.strerror}") from None
    if size > limit:
        raise _too_large(location, limit)
    return Body(location=location, path=path, file="user")


def _check_status(response: "httpx.Response", url: str) -> None:
    code = response.status_code
    if code == 200 or (code == 304 and "If-None-Match" in response.request.headers):
        return
    if code in _MISSING:
        raise Missing(url, f"{_status(response)}: it is not there, or not for everyone to read")
    raise SourceError(url, f"{_status(response)}: check the URL, and that it asks for no login")


def _status(response: "httpx.Response") -> str:
    return f"HTTP {response.status_code} {response.reason_phrase}".rstrip()


def _encoding(response: "httpx.Response", location: str) -> str | None:
    encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding in ("identity", ""):
        return None
    if encoding in ("gzip", "x-gzip"):
        return "gzip"
    raise SourceError(location, f"came in the Content-Encoding {encoding!r}, not in gzip or none")


def _retry_after(response: "httpx.Response") -> float:
    """Return the seconds that a server asks to wait, 0 if it does not say (RFC 9110, 10.2.3)."""
    text = response.headers.get("Retry-After", "").strip()
    if text.isdecimal():
        return float(text)
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return 0.0
    return max(0.0, (moment.replace(tzinfo=UTC) - datetime.now(UTC)).total_seconds())


def _hashed(chunks: Iterable[bytes], digest: "hashlib._Hash") -> Iterator[bytes]:
    for chunk in chunks:
        digest.update(chunk)
        yield chunk


def _unpacked(chunks: Iterable[bytes], encoding: str | None, location: str) -> Iterable[bytes]:
    return _gunzipped(chunks, location) if encoding == "gzip" else chunks


def _gunzipped(chunks: Iterable[bytes], location: str) -> Iterator[bytes]:
    """Unpack in small pieces, so that no one has to hold all that a bomb unpacks to."""
    member = zlib.decompressobj(_GZIP)
    for chunk in chunks:
        packed = chunk
        while packed:
            if member.eof:  # RFC 1952, 2.2: a gzip file is a series of members
                member = zlib.decompressobj(_GZIP)
            try:
                piece = member.decompress(packed, _PIECE)
            except zlib.error as error:
                raise SourceError(location, f"is no good gzip: {error}") from None
            packed = member.unused_data if member.eof else member.unconsumed_tail
            if piece:
                yield piece
    if not member.eof:
        raise SourceError(location, "breaks off in the middle of its gzip data")


def _collect(chunks: Iterable[bytes], limit: int, location: str) -> bytearray:
    data = bytearray()
    for chunk in chunks:
        if len(data) + len(chunk) > limit:
            raise _too_large(location, limit)
        data += chunk
    return data


def _too_large(location: str, limit: int) -> SourceError:
    return SourceError(
        location, f"holds more than {limit:,} bytes; if that is right, raise max_index_bytes"
    )
