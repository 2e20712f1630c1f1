"""Errors in GraphQL responses: a code and a helpful message, without internal details."""

import logging
import re
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from graphql import GraphQLError, GraphQLFormattedError, GraphQLSyntaxError

from schema.execution.budget import QUERY_TOO_LARGE, BudgetExceeded
from schema.limits import Limits
from snapshots import errors
from snapshots.texts import legible, visible

PARSE_FAILED = "GRAPHQL_PARSE_FAILED"
VALIDATION_FAILED = "GRAPHQL_VALIDATION_FAILED"
BAD_USER_INPUT = errors.CachelogError.code
TOO_MANY_ERRORS = "TOO_MANY_ERRORS"
INTERNAL = "INTERNAL_SERVER_ERROR"

_log = logging.getLogger("cachelog.errors")


CLIENT_TEXT = 200
"""Maximum number of characters of a client's text that an error repeats."""

# Errors of the domain also repeat at most this many, in addition to their own text.
_OWN_MESSAGE = 2 * CLIENT_TEXT
# Quotes in GraphQL's messages are truncated first, so that the rest of a message remains.
_LONG_QUOTE = re.compile(rf"""(['"])([^'"]{{{CLIENT_TEXT // 2}}})[^'"]+\1""")
_LONG_WORD = re.compile(rf"""([^\s'"]{{{CLIENT_TEXT // 2}}})[^\s'"]+""")
_LONGEST_LIST = 100
_ABORTED = "Validation aborted."


def shown(
    raised: Sequence[GraphQLError],
    limits: Limits,
    *,
    default_code: str = BAD_USER_INPUT,
    further: int = 0,
) -> tuple[GraphQLFormattedError, ...]:
    """Return the errors as they appear in a response: at most ``limits.max_errors`` of them.

    If there are more, including ``further`` ones that were only counted, the last one states the
    number of the others.
    """
    _log_outages(raised)
    total = len(raised) + further
    number = total if total <= limits.max_errors else max(0, limits.max_errors - 1)
    few = [formatted(error, default_code=default_code) for error in raised[:number]]
    if total > number:
        message = f"... and {total - number:,} more errors"
        few.append({"message": message, "extensions": {"code": TOO_MANY_ERRORS}})
    return tuple(few)


def bounded(message: str, longest: int = CLIENT_TEXT) -> str:
    """Return a message that contains a client's text, in a form that is safe for any client.

    It consists of visible characters, in one line, and is at most ``longest`` characters long.
    """
    return legible(_LONG_WORD.sub(r"\1...", _LONG_QUOTE.sub(r"\1\2...\1", message)), longest)


def formatted(error: GraphQLError, *, default_code: str = BAD_USER_INPUT) -> GraphQLFormattedError:
    """Return an error as it appears in a response.

    Errors that the user can correct keep their message. Outages of the catalog's storage have a
    general message, because ``shown`` logs them. All other errors are logged with a new id, and the
    response contains only this id. ``default_code`` is the code of GraphQL's own errors.
    """
    original = error.original_error
    while isinstance(original, GraphQLError):
        # A variable of a wrong type: GraphQL's own error wraps that of the scalar.
        original = original.original_error
    if isinstance(error, GraphQLSyntaxError):
        return _shown(error, PARSE_FAILED)
    if original is None and error.message == _ABORTED:
        message = "The document has too many fields of the same names, or nests too deeply."
        return {"message": message, "extensions": {"code": default_code}}
    if original is None:
        return _shown(error, default_code)
    if isinstance(original, RecursionError):
        return _shown(error, QUERY_TOO_LARGE) | {"message": "The query nests too deeply."}
    if isinstance(original, errors.CachelogError):
        return _of_domain(error, original)
    shown = error.formatted
    shown.update(incident(original))
    return shown


def exceeded(error: BudgetExceeded) -> GraphQLFormattedError:
    """Return the error of a request that has exceeded its budget."""
    return {"message": str(error), "extensions": {"code": error.code}}


def incident(error: BaseException) -> GraphQLFormattedError:
    """Log an unexpected error with a new id, and return an error with only this id."""
    name = uuid4().hex[:12]
    _log.error("error %s: %s", name, error, exc_info=error)
    return {
        "message": f"Internal error; the server's log has the details under {name}.",
        "extensions": {"code": INTERNAL, "id": name},
    }


def _log_outages(raised: Sequence[GraphQLError]) -> None:
    """Log errors of the catalog's storage: one line for each distinct text, not for each field."""
    causes = (error.original_error for error in raised)
    for text in dict.fromkeys(
        str(cause) for cause in causes if isinstance(cause, errors.CatalogError)
    ):
        _log.error("%s", visible(text))


def _shown(error: GraphQLError, code: str) -> GraphQLFormattedError:
    shown = error.formatted
    shown["message"] = bounded(shown["message"])
    shown["extensions"] = {"code": code}
    return shown


def _of_domain(error: GraphQLError, original: errors.CachelogError) -> GraphQLFormattedError:
    shown = _shown(error, original.code)
    if isinstance(original, errors.CatalogError):
        shown["message"] = "The catalog cannot be read at the moment."  # without its location
        return shown
    shown["extensions"] |= {key: _short(value) for key, value in original.extensions().items()}
    if isinstance(original, errors.ConstraintSyntaxError):
        shown["message"] = str(original)  # of two lines
    elif error.message == str(original):  # otherwise GraphQL has added a client's value
        shown["message"] = bounded(str(original), _OWN_MESSAGE)
    return shown


def _short(value: Any) -> Any:
    if isinstance(value, str):
        return legible(value, CLIENT_TEXT)
    return value[:_LONGEST_LIST] if isinstance(value, list) else value
