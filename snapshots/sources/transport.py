"""Reading of folders, files, http(s):// URLs, and objects in buckets.

Large bodies are written to disk while they are downloaded, so that several indexes can be fetched
at once with little memory. HTTP requests have only the credentials that a caller passes, and these
are never sent to another server after a redirect.
"""

import os
import random
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import islice
from pathlib import Path
from threading import Event, Lock
from typing import TYPE_CHECKING, Self, TypeVar
from urllib.parse import urljoin

import msgspec

from snapshots.errors import SourceError
from snapshots.models import utc
from snapshots.program import importer_name
from snapshots.sources import buckets, downloads
from snapshots.sources.boundary import AddressRefused, Boundary, hosts_of
from snapshots.sources.inputs import AccessDenied, Missing, unreadable, walk
from snapshots.sources.locations import is_url
from snapshots.sources.reports import Report
from snapshots.sources.settings import ReadSettings

if TYPE_CHECKING:
    import httpx


# -- responses


class Unauthorized(SourceError):
    """HTTP 401 of the requested server; ``challenges`` are its WWW-Authenticate headers."""

    def __init__(self, location: str, reason: str, challenges: list[str]) -> None:
        super().__init__(location, reason)
        self.challenges = challenges


class ReceivedDocument(msgspec.Struct, frozen=True):
    """A small body, and the URL of the next page in its ``Link`` header, if there is one."""

    data: bytes | bytearray
    next_page: str | None = None


def status_of(response: "httpx.Response") -> str:
    """Return the status for display: HTTP 404 Not Found."""
    return f"HTTP {response.status_code} {response.reason_phrase}".rstrip()


def may_recover(response: "httpx.Response") -> bool:
    """Return whether the same request may succeed later."""
    return response.status_code == 429 or response.status_code >= 500


def retry_after(response: "httpx.Response") -> float:
    """Return the value of Retry-After in seconds, 0 if there is none (RFC 9110, 10.2.3)."""
    text = response.headers.get("Retry-After", "").strip()
    if text.isdecimal():
        return float(text)
    try:
        moment = utc(parsedate_to_datetime(text))
    except (ValueError, OverflowError):
        return 0.0
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


def _encoding_of(response: "httpx.Response") -> str:
    encoding: str = response.headers.get("Content-Encoding", "identity")
    return encoding


def _unpacked(chunks: Iterable[bytes], encoding: str, url: str) -> bytes | bytearray:
    """Return the content of a small document with a Content-Encoding. Raises SourceError."""
    packed = downloads.collected(chunks, _DOCUMENT_BYTES, url)
    return downloads.unpacked(packed, _compression(encoding, url), _DOCUMENT_BYTES, url)


def _compression(encoding: str, url: str) -> str | None:
    """Return gzip or None for a Content-Encoding. Raises SourceError for any other."""
    encoding = encoding.strip().lower()
    if encoding in ("identity", ""):
        return None
    if encoding in ("gzip", "x-gzip"):
        return "gzip"
    raise SourceError(url, f"came in the Content-Encoding {encoding!r}, not in gzip or none")


def _next_page_of(response: "httpx.Response", url: str) -> str | None:
    """Return the URL of the next page, if there is one (RFC 8288). Raises SourceError."""
    link = response.links.get("next")
    if link is None:
        return None
    try:
        return urljoin(url, link["url"])
    except ValueError as error:
        raise SourceError(url, f"names a next page that is not a URL: {error}") from None


def _etag_of(response: "httpx.Response") -> str | None:
    """Return the ETag, unless it contains characters that a request header cannot."""
    etag: str = response.headers.get("ETag", "")
    return etag if etag and etag.isascii() and etag.isprintable() else None


def _is_first(response: "httpx.Response") -> bool:
    """Return whether a response is from the requested server, not from one it redirected to."""
    url = response.url
    return all(
        (earlier.url.scheme, earlier.url.netloc) == (url.scheme, url.netloc)
        for earlier in response.history
    )


# -- transport

_DOCUMENT_BYTES = 16 << 20  # far more than any manifest or checksum needs
_MAX_REDIRECTS = 10
_MAX_WAIT = 120.0
_NONE: Mapping[str, str] = {}
LISTED_MAX = 1_000_000
"""Maximum number of files in a folder of a bucket: ten times that of the largest cache."""

Item = TypeVar("Item")
Result = TypeVar("Result")


class RemoteFile(msgspec.Struct, frozen=True):
    """A file or object below a location; its ``version`` changes with its content."""

    location: str
    version: str | None


class Transport:
    """Reads locations; a context manager, and thread-safe.

    ``origins`` are the locations at which the import begins: other locations may have special
    addresses (loopback, private ...) only if one of these has one.

    On exit, every body is closed. A request that is still running in any thread raises SourceError
    when it receives its next bytes, or after the timeout for a silent server.
    """

    def __init__(self, settings: ReadSettings, report: Report, origins: Sequence[str]) -> None:
        self.settings = settings
        self.report = report
        self._open = ExitStack()
        self._pool = ThreadPoolExecutor(settings.workers, thread_name_prefix="transport")
        self._lock = Lock()
        self._stopped = Event()
        self._buckets = buckets.BucketReader(settings)
        self._boundary = Boundary(
            hosts_of(*(url for url in origins if not buckets.is_object(url))),
            configured=(buckets.s3_endpoint(), *settings.s3_prefixes.values()),
        )
        self._http: httpx.Client | None = None
        self._store: downloads.Store | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._pool.shutdown(cancel_futures=True)
        self._open.close()

    def exists(self, location: str) -> bool:
        """Return whether a file exists at the location. Raises SourceError if this is unknown."""
        if buckets.is_object(location):
            return self._buckets.exists(location)
        if is_url(location):
            try:
                return self._request("HEAD", location, {}, lambda *_: True)
            except Missing:
                return False
        try:
            return Path(location).is_file()
        except OSError as error:
            raise unreadable(location, error) from None

    def read(self, location: str) -> bytes | bytearray:
        """Return the content of a small document. Raises Missing or SourceError."""
        if not is_url(location):
            return downloads.user_file(location, _DOCUMENT_BYTES).load(limit=_DOCUMENT_BYTES)[0]
        if buckets.is_object(location):
            read = self._buckets.get(location)
            return _unpacked(read.chunks, read.encoding, location)
        return self.receive(location).data

    def receive(self, url: str, headers: Mapping[str, str] = _NONE) -> ReceivedDocument:
        """Return a small document at a URL; ``headers`` are added to the request.

        Raises Missing, Unauthorized or SourceError.
        """

        def content(response: "httpx.Response", chunks: Iterable[bytes]) -> ReceivedDocument:
            data = _unpacked(chunks, _encoding_of(response), url)
            return ReceivedDocument(data, _next_page_of(response, url))

        return self._request("GET", url, headers, content)

    def fetch(
        self, location: str, *, key: str | None = None, headers: Mapping[str, str] = _NONE
    ) -> downloads.StoredBody:
        """Download a large body to disk, unless an earlier run stored it and it is unchanged.

        One body is stored per ``key``, which is the location by default. ``headers`` are added to
        the request. Raises Missing, Unauthorized or SourceError.
        """
        if not is_url(location):
            return self._close_on_exit(downloads.user_file(location, self.settings.max_index_bytes))
        key = key or location
        store = self._body_store()
        cached = store.find(key, location)
        if cached is not None:
            self._close_on_exit(cached)

        def stored(
            chunks: Iterable[bytes], etag: str | None, encoding: str, size: int | None
        ) -> downloads.StoredBody:
            note = downloads.Note(location, etag, _compression(encoding, location))
            monitored = self._monitored(chunks, size, location)
            return self._close_on_exit(store.keep(key, note, monitored))

        def from_response(
            response: "httpx.Response", chunks: Iterable[bytes]
        ) -> downloads.StoredBody:
            if cached is not None and response.status_code == 304:
                return cached
            length = response.headers.get("Content-Length", "")
            size = int(length) if length.isdecimal() else None
            return stored(chunks, _etag_of(response), _encoding_of(response), size)

        if buckets.is_object(location):
            if cached and cached.etag:
                read = self._buckets.get_changed(location, cached.etag)
                if read is None:
                    return cached
            else:
                read = self._buckets.get(location)
            return stored(read.chunks, read.etag, read.encoding, read.size)
        if cached and cached.etag:
            headers = {**headers, "If-None-Match": cached.etag}
        return self._request("GET", location, headers, from_response)

    def can_list(self, location: str) -> bool:
        """Return whether the files below a location can be listed: folders and buckets."""
        return not is_url(location) or buckets.is_object(location)

    def listing(self, location: str) -> list[RemoteFile]:
        """Return the files below a folder, or the objects below a location in a bucket, sorted.

        Raises SourceError, also for an endless listing.
        """
        is_object = buckets.is_object(location)
        versions: dict[str, str | None] = {}
        for path, version in (self._buckets.list if is_object else _files)(location):
            if path in versions:
                raise SourceError(location, f"its list has {path} twice, perhaps in a loop")
            versions[path] = version
            if len(versions) > LISTED_MAX:
                raise SourceError(location, f"contains more than {LISTED_MAX:,} files")
            if not len(versions) % 1000:
                self.progress(f"listing {location}", len(versions), None)
        return [RemoteFile(path, versions[path]) for path in sorted(versions)]

    def each(
        self,
        task: str,
        work: Callable[[Item], Result],
        items: Iterable[Item],
        total: int,
        use: Callable[[Item, Result], object],
    ) -> None:
        """Call ``use`` in this thread with each of ``total`` items and the result of its work.

        Other threads work on a few of the next items. A SourceError of either is passed to
        ``report.bad``; ``task`` is the name for progress.
        """
        futures = ((item, self._pool.submit(work, item)) for item in items)
        under_way = deque(islice(futures, 2 * self.settings.workers))
        for done in range(total):
            item, future = under_way.popleft()
            wait([future])
            self.progress(task, done, total)
            try:
                use(item, future.result())
            except SourceError as error:
                self.report.bad(error)
            under_way.extend(islice(futures, 1))
        if total:
            self.progress(task, total, total)

    def progress(self, task: str, done: int, total: int | None) -> None:
        """Report progress, from any thread."""
        with self._lock:
            self.report.progress(task, done, total)

    def _close_on_exit(self, body: downloads.StoredBody) -> downloads.StoredBody:
        with self._lock:
            self._open.callback(body.file.close)
        return body

    def _monitored(
        self, chunks: Iterable[bytes], total: int | None, location: str
    ) -> Iterator[bytes]:
        """Yield the body as it is received. Raises SourceError at the size limit or after exit."""
        limit, done = self.settings.max_index_bytes, 0
        for chunk in chunks:
            done += len(chunk)
            if max(done, total or 0) > limit:
                raise downloads.too_large(location, limit)
            self._check_stopped(location)
            self.progress(f"reading {location}", done, total)
            yield chunk
        self.progress(f"reading {location}", done, done)

    def _request(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        use: Callable[["httpx.Response", Iterable[bytes]], Result],
    ) -> Result:
        """Return the result of ``use`` for the response and its body; retry if this may help."""
        import httpx

        client, failure, requested_wait = self._client(), "", 0.0
        end = time.monotonic() + self.settings.deadline
        for attempt in range(self.settings.attempts):
            if attempt:
                self._pause(attempt, requested_wait)
            self._check_stopped(url)
            requested_wait = 0.0
            try:
                with client.stream(method, url, headers={**headers}) as response:
                    if not may_recover(response):
                        self._check_status(response, url)
                        return use(response, self._before(end, response.iter_raw(), url))
                    failure = status_of(response)
                    requested_wait = retry_after(response)
            except AddressRefused as error:
                raise SourceError(url, str(error)) from None
            except httpx.TooManyRedirects:
                reason = f"redirects more than {_MAX_REDIRECTS} times, perhaps in a loop"
                raise SourceError(url, f"{reason}; give the final URL") from None
            except (httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
                raise SourceError(url, f"is not a valid URL: {error}") from None
            except httpx.TimeoutException:
                failure = f"no answer within {self.settings.timeout:g} s"
            except httpx.TransportError as error:
                failure = f"the connection failed: {str(error) or type(error).__name__}"
            if requested_wait > _MAX_WAIT:
                again = f"try again in {requested_wait:.0f} s, as it asks"
                raise SourceError(url, f"{failure}; {again}")
        times = f"tried {self.settings.attempts} times"
        raise SourceError(url, f"{failure} ({times}); try again later")

    def _before(self, end: float, chunks: Iterable[bytes], url: str) -> Iterator[bytes]:
        """Yield the body as it is received. Raises SourceError after a monotonic time."""
        for chunk in chunks:
            if time.monotonic() > end:
                reason = f"the whole answer took longer than {self.settings.deadline:g} s"
                raise SourceError(url, f"{reason}; try again later")
            yield chunk

    def _check_status(self, response: "httpx.Response", url: str) -> None:
        """Return if the response is successful.

        Raises Missing, AccessDenied, Unauthorized and SourceError.
        """
        code, status = response.status_code, status_of(response)
        if code == 200 or (code == 304 and "If-None-Match" in response.request.headers):
            return
        if code in (403, 404, 410):
            kind = AccessDenied if code == 403 else Missing
            raise kind(url, f"{status}: it is not there, or it is not public")
        reason = f"{status}: check the URL, and that it asks for no login"
        if code == 401 and _is_first(response):
            raise Unauthorized(url, reason, response.headers.get_list("WWW-Authenticate"))
        raise SourceError(url, reason)

    def _pause(self, attempt: int, requested_wait: float) -> None:
        """Wait before another attempt, at least as long as the server requested."""
        jitter = random.uniform(0.5, 1.5)  # noqa: S311  # for spreading load, not for security
        pause = self.settings.backoff * 2 ** (attempt - 1) * jitter
        self._stopped.wait(max(pause, requested_wait))

    def _check_stopped(self, url: str) -> None:
        if self._stopped.is_set():
            raise SourceError(url, "reading was stopped")

    def _client(self) -> "httpx.Client":
        import httpx

        from snapshots.sources.network import BoundedTransport

        with self._lock:
            if self._http is None:
                client = httpx.Client(
                    transport=BoundedTransport(
                        self._boundary, max_connections=self.settings.workers
                    ),
                    follow_redirects=True,
                    max_redirects=_MAX_REDIRECTS,
                    timeout=self.settings.timeout,
                    headers={
                        "Accept-Encoding": "gzip",
                        "User-Agent": importer_name().replace(" ", "/"),
                    },
                )
                self._http = self._open.enter_context(client)
            return self._http

    def _body_store(self) -> downloads.Store:
        with self._lock:
            if self._store is None:
                folder = self.settings.cache_dir and self.settings.cache_dir / "indexes"
                if folder is not None:
                    try:
                        folder.mkdir(parents=True, exist_ok=True)
                    except OSError as error:
                        self.report.warn(f"{folder}: cannot store anything: {error.strerror}")
                        folder = None
                self._store = downloads.Store(folder, self.settings.cache_bytes)
            return self._store


def _files(location: str) -> Iterator[tuple[str, None]]:
    """Yield the path of each file below a folder. Raises SourceError."""

    def refuse(error: OSError) -> None:
        raise unreadable(error.filename or location, error)

    for folder, _, names in walk(location, refuse):
        for name in names:
            yield os.path.join(folder, name), None  # noqa: PTH118 - of a million files
