"""Who is told: URLs that the operator gives, and how messages name them."""

from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import urlsplit

from snapshots.errors import InvalidArgument


class Receiver(NamedTuple):
    """A URL, and what of it may be shown: its path or login may be all that keeps others out."""

    url: str
    shown: str


def receivers_of(urls: Iterable[str], name: str) -> list[Receiver]:
    """Return the receivers at some URLs, each once.

    Raises InvalidArgument, naming the option or variable and the place, for what is no http(s) URL.
    """
    found = []
    for place, url in enumerate(dict.fromkeys(urls), 1):
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError:
            host, port = None, None
        if host is None or parts.scheme not in ("http", "https") or not url.isprintable():
            raise InvalidArgument(name, f"URL {place} is none of http:// or https://HOST/...")
        where = host if port is None else f"{host}:{port}"
        found.append(Receiver(url, f"{parts.scheme}://{where}"))
    return found
