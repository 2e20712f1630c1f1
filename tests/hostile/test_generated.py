"""Documents that hypothesis draws from the schema are answered, whatever they ask."""

from http.client import HTTPConnection

from hypothesis import HealthCheck, given, settings

from tests.expensive import examples
from tests.hostile.attack import HOST, Target, query, send
from tests.hostile.generated import documents
from tests.hostile.runner import ANSWER_SECONDS_LOADED


@settings(examples(40), suppress_health_check=[*HealthCheck])
@given(text=documents())
def test_drawn_documents_are_answered(text: str, target: Target) -> None:
    """A document is executed, or refused with an error that is the client's, in time."""
    connection = HTTPConnection(HOST, target.port, timeout=2 * ANSWER_SECONDS_LOADED)
    answer = send(connection, query(text))
    connection.close()
    assert answer.status in (200, 400, 503)
    assert not answer.is_internal_error
    assert answer.seconds < ANSWER_SECONDS_LOADED
