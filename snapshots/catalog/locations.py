"""Locations of catalogs: a folder, or a URL of object storage."""

import os
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import msgspec

from snapshots.errors import CatalogError, InvalidArgument

_SCHEMES = ("s3", "s3a", "gs", "az", "abfs", "abfss", "adl")
_ALLOWED = "a folder, or a URL that begins with file://, s3://, gs:// or az:// (or abfss://)"
# "s3:/bucket" and "gs:bucket" are mistyped URLs; a folder of such a name can be given as "./s3:".
_MISTYPED = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/|(?:file|https?|s3a?|gs|az|abfss?|adl):")

_KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
_NO_METADATA = "AWS_EC2_METADATA_DISABLED"
_OTHER_CREDENTIALS = (
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_METADATA_ENDPOINT",
    "AWS_PROFILE",
    "AWS_SHARED_CREDENTIALS_FILE",
    "AWS_SKIP_SIGNATURE",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
)
"""Variables of AWS that state where credentials are, or that none are needed."""


class Location(msgspec.Struct, frozen=True):
    """A valid location: ``text`` as the user wrote it, ``root`` as the store expects it."""

    text: str
    root: str
    is_folder: bool

    def uri(self, path: str) -> str:
        """Return the full path or URL of a path relative to the location."""
        return f"{self.root}/{path}"

    def require_folder(self) -> None:
        """Raise CatalogError for an existing path that is not a folder."""
        root = Path(self.root)
        if self.is_folder and root.exists() and not root.is_dir():
            raise CatalogError(self.text, "is not a folder")

    def require_credentials(self) -> None:
        """Raise CatalogError for S3 if no variable provides credentials.

        Without credentials, the store's libraries would request them from the metadata address of a
        cloud machine, which may give any response or none elsewhere. They only do so if a variable
        allows it. A variable with characters that are invalid in a header also raises CatalogError,
        because those libraries would crash.
        """
        if self.root.partition("://")[0] not in ("s3", "s3a"):
            return
        for name in (*_KEYS, "AWS_SESSION_TOKEN"):
            text = os.environ.get(name, "")
            if not (text.isascii() and text.isprintable()):
                reason = "contains a character that no credentials have; is there a line break?"
                raise CatalogError(self.text, f"{name} {reason}")
        if all(map(os.environ.get, _KEYS)) or any(map(os.environ.get, _OTHER_CREDENTIALS)):
            return
        if os.environ.get(_NO_METADATA, "").lower() == "false":
            return
        missing = " and ".join(name for name in _KEYS if not os.environ.get(name))
        reason = (
            f"S3 needs {missing} in the environment; on a machine of AWS that has a role of its "
            f"own, set {_NO_METADATA}=false"
        )
        raise CatalogError(self.text, reason)

    def require_writable(self) -> None:
        """Raise CatalogError if a folder is not writable, or missing and cannot be created.

        Object storage only reports this when it is written to.
        """
        if not self.is_folder:
            return
        place = Path(self.root)
        while not os.path.lexists(place):
            place = place.parent
        if not place.is_dir():
            raise CatalogError(self.text, f"{place} is not a folder")
        if not os.access(place, os.W_OK | os.X_OK):
            raise CatalogError(self.text, f"{place} cannot be written: Permission denied")


def parse_location(text: str) -> Location:
    """Check the form of a location, without reading anything.

    A ``file://`` URL is converted to its folder. Raises InvalidArgument that states the allowed
    forms.
    """
    if not text.strip() or not text.isprintable():
        raise _refused(text, "names nothing")
    if "://" in text:
        return _of_url(text)
    if _MISTYPED.match(text):
        raise _refused(text, "is neither a folder nor a URL; a URL has :// after its scheme")
    return _folder(text, text)


def _of_url(text: str) -> Location:
    try:
        url = urlsplit(text)
    except ValueError as error:
        raise _refused(text, f"cannot be read: {error}") from None
    if url.scheme == "file":
        if url.netloc not in ("", "localhost") or not url.path:
            raise _refused(text, "names no folder; write file:///the/whole/path")
        return _folder(text, unquote(url.path))
    if url.scheme not in _SCHEMES:
        raise _refused(text, f"is of a kind that cannot hold a catalog ({url.scheme}://)")
    if not url.netloc:
        raise _refused(text, "names no bucket")
    scheme_end = text.index("://")
    return Location(text, url.scheme + text[scheme_end:].rstrip("/"), is_folder=False)


def _folder(text: str, path: str) -> Location:
    try:
        root = Path(path).expanduser().absolute()
    except RuntimeError:
        raise _refused(text, "begins with the home folder of a user who does not exist") from None
    return Location(text, str(root).rstrip("/"), is_folder=True)


def _refused(text: str, reason: str) -> InvalidArgument:
    return InvalidArgument("catalog", f"{text!r} {reason}. A catalog is {_ALLOWED}")
