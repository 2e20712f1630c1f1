"""Large responses on their way: how many bytes, and who is refused."""

import pytest

from server.graphql.errors import BadRequest
from server.graphql.outgoing import Outgoing
from server.responses import Response


def response(num_bytes: int) -> Response:
    """Return a response of that many bytes."""
    return Response(200, b"x" * num_bytes, b"text/plain", b"no-store")


def test_large_responses_are_counted_while_they_are_sent() -> None:
    """Twice, as each may be compressed too."""
    outgoing = Outgoing(10 << 20)
    with outgoing.room_for(response(1 << 20)), outgoing.room_for(response(2 << 20)):
        assert outgoing.num_bytes == 6 << 20
    assert outgoing.num_bytes == 0


def test_without_room_a_large_response_is_refused() -> None:
    """Small ones are sent all the same, and large ones again when there is room."""
    outgoing = Outgoing(5 << 20)
    with outgoing.room_for(response(2 << 20)):
        with pytest.raises(BadRequest) as caught, outgoing.room_for(response(1 << 20)):
            pass
        assert caught.value.status == 503
        assert dict(caught.value.headers)[b"retry-after"]
        with outgoing.room_for(response(1_000)):
            assert outgoing.num_bytes == 4 << 20
    with outgoing.room_for(response(1 << 20)):
        assert outgoing.num_bytes == 2 << 20


def test_one_that_is_larger_than_the_bound_is_sent_alone() -> None:
    """What settings allow as an answer can always be sent."""
    outgoing = Outgoing(1)
    with outgoing.room_for(response(1 << 20)):
        assert outgoing.num_bytes == 2 << 20


def test_a_client_that_hangs_up_makes_room() -> None:
    """However the sending ends."""
    outgoing = Outgoing(1)
    with pytest.raises(OSError, match="gone"), outgoing.room_for(response(1 << 20)):
        raise OSError("gone")
    assert outgoing.num_bytes == 0
