"""A check of responses for schemathesis that uses the error codes of cachelog.

Its own check ``not_a_server_error`` only recognizes the codes of other servers, and reports any
other code next to data, such as REVISION_NOT_FOUND, as an error of the server.
"""

from typing import Any

import schemathesis
from schemathesis import Case, CheckContext, Response

from schema.errors import INTERNAL
from snapshots.errors import CachelogError, CatalogError

CLIENT_ERRORS = {kind.code for kind in CachelogError.__subclasses__()} - {CatalogError.code}
"""The codes that errors of fields may have; refused requests have no data."""


def has_only_client_errors(_ctx: CheckContext, response: Response, _case: "Case[Any]") -> None:
    """Require JSON, a status below 500, and next to data only client errors."""
    assert response.status_code < 500, f"status {response.status_code}"
    answer = response.json()
    codes = {error["extensions"]["code"] for error in answer.get("errors", ())}
    assert INTERNAL not in codes, answer
    if "data" in answer:
        assert codes <= CLIENT_ERRORS, codes


schemathesis.check(has_only_client_errors)
