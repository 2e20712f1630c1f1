"""What a file is, as its first bytes and its keys say, and its text in UTF-8.

Files are not always as Spack writes them: an editor or PowerShell adds a byte order mark or writes
UTF-16, a file is stored compressed, a document is signed, and a file has the name of another kind.

Sources: RFC 1952, 2.3.1 (gzip), RFC 9580, 7 (signed text), Unicode 16, 23.8 (byte order marks), and
the documents that Spack writes.
"""

import re
import zlib
from enum import Enum

import msgspec
from msgspec import UNSET, Raw, UnsetType

from snapshots.errors import SourceError
from snapshots.sources.downloads import GZIP_HEAD, unpacked

# -- text

HEAD_BYTES = 4096
"""The number of first bytes that tell JSON, pages and other files apart."""

_UTF_8_MARK = b"\xef\xbb\xbf"
_UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_SIGNED = b"-----BEGIN PGP SIGNED MESSAGE-----"
_ARMOR = rb"-----BEGIN PGP SIGNED MESSAGE-----[ \t]*\r?\n(?:[^\r\n]+\r?\n)*\r?\n"
_CLEARTEXT = re.compile(_ARMOR + rb"(?P<text>.*?)\r?\n-----BEGIN PGP SIGNATURE-----", re.S)
_ARMOR_HEADER = re.compile(_ARMOR)
_DASH_ESCAPE = re.compile(rb"^- ", re.M)


def text_of(data: bytes | bytearray, location: str, limit: int) -> bytes | bytearray:
    """Return the text of a file in UTF-8, without gzip, byte order mark and signature.

    Data in any other form is returned unchanged. Raises SourceError for text of more than ``limit``
    bytes, and for invalid gzip, UTF-16 and signed text.
    """
    if data.startswith(GZIP_HEAD):
        data = unpacked(data, "gzip", limit, location)
    if data.startswith(_UTF_8_MARK):
        data = data[len(_UTF_8_MARK) :]
    elif data.startswith(_UTF_16_MARKS):
        try:
            data = data.decode("utf-16").encode()
        except UnicodeError as error:
            raise SourceError(location, f"is not valid UTF-16: {error}") from None
    return cleartext(data, location)


def is_signed(data: bytes | bytearray) -> bool:
    """Return whether a document is signed, with its text readable."""
    return data.startswith(_SIGNED)


def cleartext(document: bytes | bytearray, location: str) -> bytes | bytearray:
    """Return the text of a clear-signed document, or the document itself if it is not signed.

    The signature is not verified. Raises SourceError if the signed text is truncated.
    """
    if not is_signed(document):
        return document
    match = _CLEARTEXT.match(document)
    if match is None:
        raise SourceError(location, "breaks off in the middle of its signed text")
    return _DASH_ESCAPE.sub(b"", match["text"])


def is_json(head: bytes | bytearray) -> bool:
    """Return whether a file is a JSON object or list, according to its first bytes."""
    return _head_of(head).startswith((b"{", b"["))


def is_page(head: bytes) -> bool:
    """Return whether a file is a cache page, according to its first bytes."""
    return _PAGE.match(_head_of(head)) is not None


def _head_of(head: bytes | bytearray) -> bytes:
    """Return the beginning of a file's text in UTF-8, without leading white space."""
    if head.startswith(GZIP_HEAD):
        try:
            head = zlib.decompressobj(wbits=31).decompress(head, HEAD_BYTES)
        except zlib.error:
            return b""
    if head.startswith(_UTF_16_MARKS):
        head = head.decode("utf-16", "ignore").encode()
    head = head.removeprefix(_UTF_8_MARK)
    if armor := _ARMOR_HEADER.match(head):
        head = _DASH_ESCAPE.sub(b"", head[armor.end() :])
    return bytes(head.lstrip())


# -- kinds


class FileKind(Enum):
    """What a file is; the value describes it."""

    INDEX = "the index of a build cache or an installation"
    TAG_LIST = "a list of tags and stacks"
    MANIFEST = "a manifest of a build cache"
    SPEC = "the spec.json of one spec"
    SPEC_LIST = "a list of specs, as 'spack find --json' prints it"
    LOCK_FILE = "the spack.lock of an environment"
    PAGE = "a cache page"
    ENVIRONMENT = "a spack.yaml, which does not list concrete specs as a spack.lock does"
    EMPTY = "empty"

    def instead_of(self, expected: str) -> str:
        """Return the reason for refusing a file of this kind where another one is expected."""
        return f"is {self.value}" + ("" if self is FileKind.EMPTY else f", not {expected}")


_PAGE = re.compile(
    rb"---[ \t]*\r?\n"
    rb"(?:.*\n)*?(?:meta:[ \t]*\{|spec_(?:details|names|files):|layout:[ \t]*[\"']?cache\b)"
)
"""The beginning of a cache page: front matter with one of the keys that only cache pages have."""

_ENVIRONMENT = re.compile(rb"(?:---.*\n|[ \t]*#.*\n|\s*\n)*spack:")


class _Keys(msgspec.Struct):
    """The keys that tell JSON documents apart."""

    database: Raw | UnsetType = UNSET
    concrete_specs: Raw | UnsetType = UNSET
    meta: Raw | UnsetType = msgspec.field(name="_meta", default=UNSET)
    spec: Raw | UnsetType = UNSET
    version: Raw | UnsetType = UNSET
    data: Raw | UnsetType = UNSET


def kind_of(text: bytes | bytearray | Raw) -> FileKind | None:
    """Return what a file is, given its text; None for any other file, and for invalid JSON.

    The document of a spec has an object
    below ``spec`` or, before Spack 0.17, a list; a tag named ``spec`` has labels.
    """
    head = _head_of(bytes(memoryview(text)[:HEAD_BYTES]))
    if not head:  # more white space may precede a text
        return FileKind.EMPTY if len(text) <= HEAD_BYTES else None
    if head.startswith(b"["):
        return FileKind.SPEC_LIST
    if not head.startswith(b"{"):
        if _PAGE.match(head):
            return FileKind.PAGE
        return FileKind.ENVIRONMENT if _ENVIRONMENT.match(head) else None
    try:
        keys = msgspec.json.decode(text, type=_Keys)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if keys.database is not UNSET:
        return FileKind.INDEX
    if keys.concrete_specs is not UNSET or keys.meta is not UNSET:
        return FileKind.LOCK_FILE
    spec = b"" if keys.spec is UNSET else bytes(keys.spec)
    if spec.startswith(b"{") or (spec.startswith(b"[") and b'"label"' not in spec):
        return FileKind.SPEC
    if keys.version is not UNSET and keys.data is not UNSET:
        return FileKind.MANIFEST
    try:
        tags = msgspec.json.decode(text, type=dict[str, list[Raw]])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return FileKind.TAG_LIST if tags else None
