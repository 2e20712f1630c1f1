"""A listening socket that takes no newcomers, and those who had connected before."""

import socket
import sys

import pytest

from server.http.servers import listening_socket, refuse_newcomers


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the filter is Linux's")
def test_who_has_connected_is_served_and_who_comes_later_is_not() -> None:
    """Nobody is reset: newcomers wait until the socket is closed."""
    with listening_socket("127.0.0.1", 0) as listening:
        address = listening.getsockname()
        with socket.create_connection(address) as early:
            refuse_newcomers(listening)
            with pytest.raises(TimeoutError):
                socket.create_connection(address, timeout=0.3)
            accepted, _ = listening.accept()
            with accepted:
                early.sendall(b"a")
                assert accepted.recv(1) == b"a"
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(address)
