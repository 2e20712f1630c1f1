"""Requests that offer another protocol than HTTP/1.1, which this server does not take up."""

from collections.abc import Sequence

_UPGRADE = b"upgrade"


def head_without_upgrade(
    method: bytes, url: bytes, version: str, headers: Sequence[tuple[bytes, bytes]]
) -> bytes | None:
    """Return the head of a request as if it had made no such offer; None where it makes none.

    A server may ignore the offer (RFC 9110, 7.8), and must read the body then, if there is one. The
    parser takes what follows the head for the other protocol, so it has to be given another head.
    """
    kept = [(name, value) for name, value in headers if name != _UPGRADE]
    if len(kept) == len(headers):
        return None
    lines = [b"%b %b HTTP/%b" % (method, url, version.encode())]
    lines += [b"%b: %b" % header for header in kept]
    return b"\r\n".join([*lines, b"\r\n"])
