"""Documents that hypothesis draws from the schema are answered, whatever they ask."""

from http.client import HTTPConnection

from hypothesis import HealthCheck, given, settings

from tests.hostile.attack import HOST, Target, query, send
from tests.hostile.generated import documents

_LOADED_SECONDS = 4.0
"""Twice what is asked of a quiet machine."""


@settings(max_examples=40, deadline=None, suppress_health_check=[*HealthCheck])
@given(text=documents())
def test_drawn_documents_are_answered(text: str, target: Target) -> None:
    """A document is executed, or refused with an error that is the client's, in time."""
    connection = HTTPConnection(HOST, target.port, timeout=2 * _LOADED_SECONDS)
    answer = send(connection, query(text))
    connection.close()
    assert answer.status in (200, 400, 503)
    assert not answer.is_internal_error
    assert answer.seconds < _LOADED_SECONDS
