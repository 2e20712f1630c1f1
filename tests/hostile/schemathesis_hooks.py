"""What schemathesis asks of an answer, in the codes that cachelog documents.

Its own ``not_a_server_error`` knows the codes of other servers only. It takes any other code beside
data for the server's fault: REVISION_NOT_FOUND, say, which tells the client that a ref is wrong.
"""

from typing import Any

import schemathesis
from schemathesis import Case, CheckContext, Response

from schema.errors import BAD_USER_INPUT, CODES, INTERNAL

CLIENTS_FAULT = {BAD_USER_INPUT, *CODES.values()} - {INTERNAL, "CATALOG_UNAVAILABLE"}
"""Codes of errors in fields; of refusals, no code is asked, as nothing was executed."""


def errors_are_the_clients(_ctx: CheckContext, response: Response, _case: "Case[Any]") -> None:
    """Require JSON, a status below 500, and beside data errors of what the client got wrong."""
    assert response.status_code < 500, f"status {response.status_code}"
    answer = response.json()
    codes = {error["extensions"]["code"] for error in answer.get("errors", ())}
    assert INTERNAL not in codes, answer
    if "data" in answer:
        assert codes <= CLIENTS_FAULT, codes


schemathesis.check(errors_are_the_clients)
