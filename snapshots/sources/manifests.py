"""Manifests of a build cache of layout 3: what a blob is, how large, and where it lies.

Source: Spack's documentation of build caches, and the layout that Spack 1.0 and later write.
"""

import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit, urlunsplit

import msgspec

from snapshots.errors import SourceError
from snapshots.models import Spec
from snapshots.sources.reports import Report
from snapshots.sources.transport import Missing, Transport, is_url

UNVERIFIED = "some manifests are signed; cachelog does not verify signatures"

_ALGORITHMS = {"sha256": 64, "sha384": 96, "sha512": 128}
_COMPRESSIONS = ("gzip", "none")
_PACKAGE = re.compile(r"application/vnd\.spack\.install\.v\d+\.tar\+gzip")
_SIGNED = b"-----BEGIN PGP SIGNED MESSAGE-----"
_CLEARTEXT = re.compile(
    rb"-----BEGIN PGP SIGNED MESSAGE-----[ \t]*\r?\n"
    rb"(?:[^\r\n]+\r?\n)*\r?\n"
    rb"(?P<text>.*?)\r?\n-----BEGIN PGP SIGNATURE-----",
    re.S,
)
_DASH_ESCAPE = re.compile(rb"^- ", re.M)
_UNFIT = re.compile(r"[^A-Za-z0-9_+.-]")
_BATCH = 500


class Blob(msgspec.Struct, frozen=True, rename="camel"):
    """An entry of a manifest; ``content_length`` is in bytes, as the blob lies in the cache."""

    content_length: Annotated[int, msgspec.Meta(ge=0)]
    media_type: str
    checksum: str
    checksum_algorithm: str = "sha256"
    compression: str = "none"

    @property
    def path(self) -> str:
        """Where the blob lies below the cache: ``blobs/ALGORITHM/XX/CHECKSUM``."""
        return f"blobs/{self.checksum_algorithm}/{self.checksum[:2]}/{self.checksum}"


class Manifest(msgspec.Struct, frozen=True):
    """The blobs that make up an index, or a spec and its package."""

    version: int
    data: list[Blob]
    signed: bool = False


class Package(msgspec.Struct, frozen=True):
    """The binary of a spec: its size in bytes, and where it lies below the cache."""

    size: int
    path: str


def parse_manifest(document: bytes | bytearray, location: str) -> Manifest:
    """Parse a manifest, be it signed or not; the signature is not looked at.

    Raises SourceError where it is none, or names a blob that cannot be read.
    """
    try:
        manifest = msgspec.json.decode(cleartext(document, location), type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SourceError(location, f"is no manifest: {error}") from None
    if manifest.version != 3:
        raise SourceError(location, f"{manifest.version} is not 3", key="version")
    for index, blob in enumerate(manifest.data):
        digits = _ALGORITHMS.get(blob.checksum_algorithm)
        if digits is None:
            reason = f"{blob.checksum_algorithm!r} is none of {', '.join(_ALGORITHMS)}"
            raise SourceError(location, reason, key=f"data[{index}].checksumAlgorithm")
        if re.fullmatch(rf"[0-9a-f]{{{digits}}}", blob.checksum) is None:
            reason = f"{blob.checksum!r} is no {blob.checksum_algorithm}"
            raise SourceError(location, reason, key=f"data[{index}].checksum")
        if blob.compression not in _COMPRESSIONS:
            reason = f"{blob.compression!r} is none of {', '.join(_COMPRESSIONS)}"
            raise SourceError(location, reason, key=f"data[{index}].compression")
    return msgspec.structs.replace(manifest, signed=document.startswith(_SIGNED))


def cleartext(document: bytes | bytearray, location: str) -> bytes | bytearray:
    """Return what a clear-signed document says, or the document itself if it is not signed.

    Source: RFC 9580, 7. Raises SourceError where the signed text has no end.
    """
    if not document.startswith(_SIGNED):
        return document
    match = _CLEARTEXT.match(document)
    if match is None:
        raise SourceError(location, "breaks off in the middle of its signed text")
    return _DASH_ESCAPE.sub(b"", match["text"])


def warn_if_signed(manifest: Manifest, report: Report) -> None:
    """Warn, once an import, that signatures are not verified."""
    if manifest.signed and UNVERIFIED not in report.warnings:
        report.warn(UNVERIFIED)


def file_name(*parts: str) -> str:
    """Join parts of a file name as Spack does: with ``-``, and ``_`` for what does not fit."""
    return _UNFIT.sub("_", "-".join(parts))


def path_of(location: str) -> str:
    """Return the path of a URL, or the absolute path of a file, with ``/`` between its parts."""
    return urlsplit(location).path if is_url(location) else Path(location).absolute().as_posix()


def with_path(location: str, path: str) -> str:
    """Return the location with another path; a URL keeps its host and query."""
    return urlunsplit(urlsplit(location)._replace(path=path)) if is_url(location) else path


def join(base: str, path: str) -> str:
    """Return the location of a path below a folder or a URL."""
    return with_path(base, f"{path_of(base).rstrip('/')}/{path}")


def link(base: str, path: str) -> str:
    """Return the URL of a path below a folder or a URL; that of a folder is a file:// URL."""
    location = join(base, path)
    return location if is_url(location) else Path(location).as_uri()


def spec_manifest(base: str, spec: Spec) -> str:
    """Return where the manifest of a spec lies in the cache at ``base``."""
    name = file_name(spec.name, spec.version, spec.hash)
    return join(base, f"v3/manifests/spec/{file_name(spec.name)}/{name}.spec.manifest.json")


def read_packages(
    bases: Mapping[str, Sequence[Spec]], transport: Transport, report: Report
) -> dict[str, Package]:
    """Return the package of each spec, by hash, from the manifests in the caches at ``bases``.

    What was read from a URL is kept in the cache folder for ever, since the manifest of a hash
    never changes; so an interrupted reading goes on where it stopped. A manifest that is not there
    is warned of and its hash left out. Raises SourceError for one that cannot be read, unless the
    report skips what is bad.
    """
    packages: dict[str, Package] = {}
    wanted = {
        spec_manifest(base, spec): spec.hash for base, specs in bases.items() for spec in specs
    }
    with closing(_Known(transport.settings.cache_dir, report)) as known:
        for location in list(wanted):
            package = known.find(location)
            if package is not None:
                packages[wanted.pop(location)] = package
        for location, package in known.keeping(_read_all(wanted, transport, report)):
            packages[wanted[location]] = package
    return packages


def _read_all(
    locations: Iterable[str], transport: Transport, report: Report
) -> Iterator[tuple[str, Package]]:
    pool = ThreadPoolExecutor(transport.settings.workers, thread_name_prefix="manifests")
    try:
        futures = {
            pool.submit(_read_manifest, location, transport): location for location in locations
        }
        for done, future in enumerate(as_completed(futures), start=1):
            report.progress("reading sizes", done, len(futures))
            try:
                manifest = future.result()
                warn_if_signed(manifest, report)
                yield futures[future], _package(manifest, futures[future])
            except Missing as error:
                report.warn(f"{error}; the size of this spec stays unknown")
            except SourceError as error:
                report.bad(error)
    except BaseException:
        transport.stop()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _read_manifest(location: str, transport: Transport) -> Manifest:
    return parse_manifest(transport.read(location), location)


def _package(manifest: Manifest, location: str) -> Package:
    for blob in manifest.data:
        if _PACKAGE.fullmatch(blob.media_type):
            return Package(blob.content_length, blob.path)
    raise SourceError(location, "names no package: no application/vnd.spack.install blob")


class _Known:
    """The packages that earlier runs read, by the URL of their manifest, in an SQLite file."""

    def __init__(self, folder: Path | None, report: Report) -> None:
        self._file = ":memory:" if folder is None else str(folder / "packages.sqlite3")
        try:
            if folder is not None:
                folder.mkdir(parents=True, exist_ok=True)
            self._database = self._open()
        except (OSError, sqlite3.Error) as error:
            report.warn(f"{self._file}: cannot keep sizes; delete it if it is damaged: {error}")
            self._file = ":memory:"
            self._database = self._open()

    def find(self, manifest: str) -> Package | None:
        """Return what is known of a manifest's package."""
        query = "SELECT size, path FROM packages WHERE manifest = ?"
        row = self._database.execute(query, (manifest,)).fetchone()
        return Package(*row) if row else None

    def keeping(self, found: Iterable[tuple[str, Package]]) -> Iterator[tuple[str, Package]]:
        """Yield what was found, and keep it, now and then while it comes in."""
        rows: list[tuple[str, int, str]] = []
        try:
            for manifest, package in found:
                if is_url(manifest):
                    rows.append((manifest, package.size, package.path))
                if len(rows) == _BATCH:
                    self._keep(rows)
                yield manifest, package
        finally:
            self._keep(rows)

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def _open(self) -> sqlite3.Connection:
        database = sqlite3.connect(self._file, timeout=60)
        try:
            database.execute(
                "CREATE TABLE IF NOT EXISTS packages (manifest TEXT PRIMARY KEY, "
                "size INTEGER NOT NULL, path TEXT NOT NULL) WITHOUT ROWID"
            )
        except sqlite3.Error:
            database.close()
            raise
        return database

    def _keep(self, rows: list[tuple[str, int, str]]) -> None:
        try:
            with self._database:
                self._database.executemany("INSERT OR REPLACE INTO packages VALUES (?, ?, ?)", rows)
        except sqlite3.Error as error:
            raise SourceError(self._file, f"cannot keep sizes: {error}") from None
        rows.clear()
