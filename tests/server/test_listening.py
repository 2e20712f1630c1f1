"""Sockets that are listened on, and processes that serve them."""

import socket
import subprocess
import sys

import pytest

from server.http.servers import listening_socket, url_of
from snapshots.errors import InvalidArgument
from tests.server.servers import PATIENCE, environ


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


def test_an_application_that_cannot_be_made_ends_the_server() -> None:
    """The process ends with a failure; what is wrong is in its log."""
    program = (
        "from server.http.limits import ConnectionLimits\n"
        "from server.http.servers import listening_socket, serve\n"
        "listening = listening_socket('127.0.0.1', 0)\n"
        "limits = ConnectionLimits()\n"
        "serve('server.nope:x', listening, workers=1, limits=limits, hang_seconds=30)"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environ(), capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 1
    assert "server.nope" in done.stderr
