"""Manifests of a build cache of layout 3: what a blob is, how large, and where it lies.

Source: Spack's documentation of build caches, and the layout that Spack 1.0 and later write.
"""

import re
from typing import Annotated

import msgspec

from snapshots.errors import SourceError
from snapshots.models import SIZE_MAX
from snapshots.sources.buildcache.decoding import decode_json
from snapshots.sources.reports import Report

UNVERIFIED = "some manifests are signed; cachelog does not verify signatures"

_ALGORITHMS = {"sha256": 64, "sha384": 96, "sha512": 128}
_COMPRESSIONS = ("gzip", "none")
_SIGNED = b"-----BEGIN PGP SIGNED MESSAGE-----"
_CLEARTEXT = re.compile(
    rb"-----BEGIN PGP SIGNED MESSAGE-----[ \t]*\r?\n"
    rb"(?:[^\r\n]+\r?\n)*\r?\n"
    rb"(?P<text>.*?)\r?\n-----BEGIN PGP SIGNATURE-----",
    re.S,
)
_DASH_ESCAPE = re.compile(rb"^- ", re.M)

DOCUMENT_HEADS = (b"{", _SIGNED)
"""What a JSON document begins with, signed or not."""


class Blob(msgspec.Struct, frozen=True, rename="camel"):
    """An entry of a manifest; ``content_length`` is in bytes, as the blob lies in the cache.

    Raises ValueError for a checksum that is none, and for what cannot be unpacked.
    """

    content_length: Annotated[int, msgspec.Meta(ge=0, le=SIZE_MAX)]
    media_type: str
    checksum: str
    checksum_algorithm: str = "sha256"
    compression: str = "none"

    def __post_init__(self) -> None:
        digits = _ALGORITHMS.get(self.checksum_algorithm)
        if digits is None:
            raise ValueError(f"{self.checksum_algorithm!r} is none of {', '.join(_ALGORITHMS)}")
        if re.fullmatch(rf"[0-9a-f]{{{digits}}}", self.checksum) is None:
            raise ValueError(f"{self.checksum!r} is no {self.checksum_algorithm}")
        if self.compression not in _COMPRESSIONS:
            raise ValueError(f"{self.compression!r} is none of {', '.join(_COMPRESSIONS)}")

    @property
    def path(self) -> str:
        """Where the blob lies below the cache: ``blobs/ALGORITHM/XX/CHECKSUM``."""
        return f"blobs/{self.checksum_algorithm}/{self.checksum[:2]}/{self.checksum}"


class Manifest(msgspec.Struct, frozen=True):
    """The blobs that make up an index, or a spec and its package.

    Raises ValueError for a version other than 3.
    """

    version: int
    data: list[Blob]
    signed: bool = False

    def __post_init__(self) -> None:
        if self.version != 3:
            raise ValueError(f"the manifest is of version {self.version}, not 3")


def parse_manifest(document: bytes | bytearray, location: str) -> Manifest:
    """Parse a manifest, signed or not; the signature is not checked.

    Raises SourceError for what is no manifest, or names a blob that cannot be read.
    """
    manifest = decode_json(cleartext(document, location), Manifest, location)
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
