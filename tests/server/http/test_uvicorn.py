"""What server/http relies on of uvicorn's protocol: a release that moves it fails here."""

import inspect
from importlib.metadata import version

import pytest
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from server.http.connections import BoundedConnection
from server.http.cycles import AnswerCycle

TRIED = "0.54."
"""Of which versions all of it was read and tried."""

HOOKS = (
    "_start_asgi_task",
    "on_body",
    "on_headers_complete",
    "on_message_complete",
    "on_response_complete",
    "pause_writing",
    "resume_writing",
    "shutdown",
)
"""Methods that uvicorn itself calls, and that are replaced."""


def test_the_version_was_tried() -> None:
    """Read uvicorn's changes before another one is added."""
    assert version("uvicorn").startswith(TRIED)


@pytest.mark.parametrize("name", HOOKS)
def test_a_method_that_is_replaced_is_called(name: str) -> None:
    """By the same arguments."""
    theirs, ours = (
        inspect.signature(getattr(of, name)) for of in (HttpToolsProtocol, BoundedConnection)
    )
    assert [*theirs.parameters] == [*ours.parameters]


def test_a_cycle_has_what_it_had() -> None:
    """The state that an answer is written by, and the arguments that it is made with."""
    source = inspect.getsource(RequestResponseCycle)
    state = ("response_started", "chunked_encoding", "expected_content_length", "keep_alive")
    more = ("disconnected", "message_event", "on_response", "waiting_for_100_continue")
    assert all(f"self.{name}" in source for name in (*state, *more))
    assert [*inspect.signature(AnswerCycle).parameters][-1] == "on_response"
