"""Errors as GraphQL responses show them: a code, a helpful message, never an inner detail."""

import logging
from uuid import uuid4

from graphql import GraphQLError, GraphQLFormattedError, GraphQLSyntaxError

from schema.budget import BudgetExceeded
from snapshots.errors import (
    AmbiguousRef,
    CachelogError,
    CatalogError,
    ConstraintSyntaxError,
    EmptyCatalog,
    InvalidArgument,
    RevisionNotFound,
)

PARSE_FAILED = "GRAPHQL_PARSE_FAILED"
VALIDATION_FAILED = "GRAPHQL_VALIDATION_FAILED"
BAD_USER_INPUT = "BAD_USER_INPUT"
QUERY_TOO_LARGE = "QUERY_TOO_LARGE"
INTERNAL = "INTERNAL_SERVER_ERROR"

CODES: dict[type[CachelogError], str] = {
    RevisionNotFound: "REVISION_NOT_FOUND",
    AmbiguousRef: "AMBIGUOUS_REF",
    EmptyCatalog: "REVISION_NOT_FOUND",
    InvalidArgument: BAD_USER_INPUT,
    CatalogError: "CATALOG_UNAVAILABLE",
    CachelogError: BAD_USER_INPUT,
}
"""The code of each error of the domain, in ``extensions.code``."""

_log = logging.getLogger("cachelog.errors")


def formatted(error: GraphQLError, *, default_code: str = BAD_USER_INPUT) -> GraphQLFormattedError:
    """Return an error as a response shows it.

    What the user can do something about keeps its message. Anything else is logged under a new id,
    and the response shows that id alone. ``default_code`` is for GraphQL's own errors.
    """
    original = error.original_error
    while isinstance(original, GraphQLError):
        # A variable of a wrong type: GraphQL's own error wraps that of the scalar.
        original = original.original_error
    if isinstance(error, GraphQLSyntaxError):
        return _shown(error, PARSE_FAILED)
    if original is None:
        return _shown(error, default_code)
    if isinstance(original, RecursionError):
        return _shown(error, QUERY_TOO_LARGE) | {"message": "The query nests too deeply."}
    if isinstance(original, CatalogError):
        _log.error("%s", original, exc_info=original)
        shown = _shown(error, CODES[CatalogError])
        shown["message"] = "The catalog cannot be read at the moment."  # not where it is
        return shown
    if isinstance(original, CachelogError):
        shown = _shown(error, CODES.get(type(original), BAD_USER_INPUT))
        if isinstance(original, ConstraintSyntaxError):
            shown["extensions"]["position"] = original.position
        return shown
    shown = error.formatted
    shown.update(incident(original))
    return shown


def exceeded(error: BudgetExceeded) -> GraphQLFormattedError:
    """Return the error of a request that has used what it may."""
    return {"message": str(error), "extensions": {"code": error.code}}


def incident(error: BaseException) -> GraphQLFormattedError:
    """Log an unexpected error under a new id, and return what a response shows of it: the id."""
    name = uuid4().hex[:12]
    _log.error("error %s: %s", name, error, exc_info=error)
    return {
        "message": f"Internal error; the server's log has the details under {name}.",
        "extensions": {"code": INTERNAL, "id": name},
    }


def _shown(error: GraphQLError, code: str) -> GraphQLFormattedError:
    shown = error.formatted
    shown["extensions"] = {"code": code}
    return shown
