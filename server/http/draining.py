"""Closing a listening socket without cutting off those who have just connected."""

import ctypes
import errno
import socket
import struct
import sys

_ATTACH_FILTER = 26
"""SO_ATTACH_FILTER of Linux, which Python does not name."""

_SYN = 0x02
_FLAGS = 13
"""Where the flags stand in a TCP header."""

_INSTRUCTIONS = (
    (0x30, 0, 0, _FLAGS),  # load the byte with the flags
    (0x45, 0, 1, _SYN),  # where SYN is set, go on, else skip one
    (0x06, 0, 0, 0),  # drop the packet
    (0x06, 0, 0, 0xFFFF_FFFF),  # take the whole packet
)
"""A classic BPF program; see Linux's Documentation/networking/filter.rst."""


def refuse_newcomers(listening: socket.socket) -> bool:
    """Let nobody new connect, in all processes that share the socket; return whether that works.

    Who has begun to connect still can, and is to be accepted. A closed socket resets those
    connections instead, with the requests that were sent over them. Who comes later waits, and is
    refused when the socket is closed. Where the system has no such filter nothing happens.
    """
    if not sys.platform.startswith("linux"):
        return False
    program = b"".join(struct.pack("HBBI", *instruction) for instruction in _INSTRUCTIONS)
    buffer = ctypes.create_string_buffer(program)
    option = struct.pack("HL", len(_INSTRUCTIONS), ctypes.addressof(buffer))
    try:
        listening.setsockopt(socket.SOL_SOCKET, _ATTACH_FILTER, option)
    except OSError as error:
        if error.errno in (errno.ENOPROTOOPT, errno.EOPNOTSUPP, errno.EPERM, errno.EINVAL):
            return False
        raise
    return True
