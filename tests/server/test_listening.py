"""Sockets that are listened on, and processes that serve them."""

import socket

import pytest

from server.http.servers import listening_socket, url_of
from snapshots.errors import InvalidArgument
from tests.server.servers import PATIENCE


def test_a_client_can_connect_before_anything_serves() -> None:
    """It waits for its answer; nobody is refused while a server starts."""
    with listening_socket("127.0.0.1", 0) as listening:
        address = listening.getsockname()
        assert url_of(listening) == f"http://127.0.0.1:{address[1]}"
        socket.create_connection(address, timeout=PATIENCE).close()


def test_an_address_of_ipv6_stands_in_brackets() -> None:
    """As a browser wants it."""
    try:
        listening = listening_socket("::1", 0)
    except InvalidArgument as error:
        pytest.skip(f"this machine has no IPv6: {error}")
    with listening:
        assert url_of(listening) == f"http://[::1]:{listening.getsockname()[1]}"
