"""Error pages: what was not found, the reason, and the nearest matches."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from starlette.types import Scope

from schema.errors import bounded, incident
from server.asgi.errors import BadRequest
from server.asgi.responses import Headers
from server.pages.addresses import (
    Address,
    bare_address,
    path_filled,
    query_string,
)
from server.pages.documents import DocumentAnswer, DocumentRunner, document
from server.pages.renderer import NO_STORE, PageResponse, Renderer
from server.pages.routes import Page
from snapshots.texts import quoted

_SUGGESTED = {"package": "PACKAGE", "stack": "STACK", "series": "SERIES"}
"""The kinds of page subjects that have names, and the kinds of suggestions that resemble them."""

_HASH, _SPEC, _CAUSE, _COMMIT = "hash", "spec", "cause", "commit"
_NARROWING = "narrowing"
"""The kind of an invalid filter of a comparison; the name is that of its parameter."""

_FILTERED_FIELDS = ["compare", "summary"], ["compare", "releaseNotes"]
"""The fields of a comparison that report an error of its filters first."""


class Nearest(msgspec.Struct, frozen=True):
    """The kind and name of a subject that was not found, and links to the nearest names.

    ``ref`` is the revision in which it was looked up, if that exists. ``elsewhere`` are the series
    that have or had a package, as returned by the document ``nearest``.
    """

    kind: str = ""
    name: str = ""
    links: Sequence[tuple[str, str]] = ()
    ref: str = ""
    elsewhere: Sequence[Mapping[str, Any]] = ()

    @property
    def sentence(self) -> str:
        """The message for what was not found."""
        where = " in this revision" if self.ref else ""
        return _SENTENCES.get(self.kind) or f"There is no such {self.kind}{where}."


NOWHERE = "There is nothing at this URL."

_SENTENCES = {
    "": NOWHERE,
    _HASH: "No revision of this catalog had a hash with this prefix.",
    _CAUSE: "There is no such cause in this comparison.",
    _COMMIT: "No known commit, or more than one, has a hash with this prefix.",
}


async def nearest_to(
    page: Page, address: Address, answered: DocumentAnswer, runner: DocumentRunner, scope: Scope
) -> Nearest:
    """Return the nearest matches for the subject of a page that its answer lacks."""
    params: Mapping[str, str] = scope["path_params"]
    kind = page.subject.rpartition(".")[2]
    if kind in (_HASH, _COMMIT):
        (subject,) = params.values()
        return Nearest(kind, subject)
    if (error := answered.error_of(page.subject)) is not None:
        if kind == _SPEC and "candidates" in error.get("extensions", {}):
            return Nearest(kind, params["hash"], ref=params["ref"])
        near = _of_error(page, address, params, error)
        if parameter := _narrowing_at_fault(address, error):
            return msgspec.structs.replace(near, kind=_NARROWING, name=parameter)
        return near
    if kind == _CAUSE:
        all_causes = address.to("compare", f"{params['base']}...{params['head']}")
        return Nearest(kind, params["cause"], [("all causes of the comparison", all_causes)])
    if kind not in (*_SUGGESTED, _SPEC) or not params:
        return Nearest()
    parameter, name = [*params.items()][-1]
    ref = params.get("ref", "")
    if kind == _SPEC:
        return Nearest(kind, name, ref=ref)
    data = await _similar(kind, name, ref, runner)
    names = [suggestion["value"] for suggestion in data.get("similar") or ()]
    elsewhere = (data.get("elsewhere") or {}).get("inSeries", ())
    return Nearest(kind, name, _links(page, address, params, parameter, names), ref, elsewhere)


def _of_error(
    page: Page, address: Address, params: Mapping[str, str], error: Mapping[str, Any]
) -> Nearest:
    """Return the nearest names in an error, with links that replace the parameter at fault."""
    extensions = error.get("extensions", {})
    parameters = {name: values[-1] for name, values in address.query.items()} | dict(params)
    for parameter, value in parameters.items():
        if value == extensions.get("sought"):
            names = extensions.get("nearest", ())
            return Nearest("", value, _links(page, address, params, parameter, names))
    return Nearest()


def _narrowing_at_fault(address: Address, error: Mapping[str, Any]) -> str:
    """Return the filter parameter of a comparison that caused an error; empty if none did."""
    if error.get("path") not in _FILTERED_FIELDS:
        return ""
    about = error["message"].partition(":")[0]
    is_bad = error.get("extensions", {}).get("code") == "BAD_USER_INPUT"
    parameter = about if about in ("stack", "package") else "matching"
    return parameter if is_bad and address.has(parameter) else ""


async def _similar(kind: str, name: str, ref: str, runner: DocumentRunner) -> Mapping[str, Any]:
    """Return the answer with the names of a kind that resemble a name, in a revision if given."""
    variables = {"name": name, "kinds": [_SUGGESTED[kind]], "isPackage": kind == "package"}
    try:
        answered = await runner.run(document("nearest").text, variables | {"ref": ref or None})
    except BadRequest:  # overload: the page is shown without suggestions
        return {}
    return answered.data


def _links(
    page: Page, address: Address, params: Mapping[str, str], parameter: str, values: Iterable[str]
) -> list[tuple[str, str]]:
    """Return links to the page with other values of a parameter, in its path or query."""
    if parameter not in params:
        return [(value, address.here(**{parameter: value})) for value in values]
    query = query_string(address.query)
    links = []
    for value in values:
        path = path_filled(
            page.path, {name: [text] for name, text in params.items()} | {parameter: [value]}
        )
        links.append((value, address.root + (path or "").removeprefix("/") + query))
    return links


_STATUS = {
    "REVISION_NOT_FOUND": 404,
    "AMBIGUOUS_REF": 404,
    "AMBIGUOUS_HASH": 404,
    "CURSOR_EXPIRED": 410,
    "HISTORY_INCOMPLETE": 503,
    "CATALOG_UNAVAILABLE": 503,
    "INTERNAL_SERVER_ERROR": 500,
}
"""The status of a page whose subject is missing, by the code of the error; 400 for others."""

TITLES = {
    404: "Not found",
    405: "Not allowed",
    414: "URL too long",
    429: "Too many requests",
    500: "Something went wrong",
    503: "Temporarily unavailable",
}
"""The headings of error pages by status."""

_DEFAULT_TITLE = "Invalid request"
_AMBIGUOUS_TITLE = "Ambiguous"
_AMBIGUOUS = ("AMBIGUOUS_REF", "AMBIGUOUS_HASH")
_VARIABLE = re.compile(r"Variable '\$(\w+)' ")
"""The beginning of GraphQL's messages about the value of a variable."""


def missing(
    renderer: Renderer, address: Address, subject: str, answered: DocumentAnswer, nearest: Nearest
) -> PageResponse:
    """Return the page for an answer that lacks the page's subject."""
    error = answered.error_of(subject) or {"message": nearest.sentence}
    code = error.get("extensions", {}).get("code")
    error = {**error, "message": _in_terms_of_url(error["message"], address)}
    status = _STATUS.get(code, 400) if code else 404
    return _page(renderer, address, status, error, code or "NOT_FOUND", nearest)


def refused(renderer: Renderer, scope: Scope, error: BadRequest) -> PageResponse:
    """Return the page for a request that is refused."""
    shown = {"message": bounded(error.message)}
    more = [*error.headers]
    return _page(renderer, bare_address(scope), error.status, shown, error.code, more=more)


def failed(renderer: Renderer, scope: Scope, error: Exception) -> PageResponse:
    """Return the page for an unexpected error, with the id that identifies it in the log."""
    shown: Mapping[str, Any] = incident(error)
    return _page(renderer, bare_address(scope), 500, shown, shown["extensions"]["code"])


def _page(
    renderer: Renderer,
    address: Address,
    status: int,
    error: Mapping[str, Any],
    code: str,
    nearest: Nearest = Nearest(),  # noqa: B008 - it is frozen
    more: Headers | None = None,
) -> PageResponse:
    """Return an error page, which is not cached by the server or by clients."""
    title = _AMBIGUOUS_TITLE if code in _AMBIGUOUS else TITLES.get(status, _DEFAULT_TITLE)
    shown = {"status": status, "title": title, "error": error, "nearest": nearest}
    body = renderer.render("error.html", address, shown)
    return PageResponse(status, body, NO_STORE, code=code, more=more)


def _in_terms_of_url(message: str, address: Address) -> str:
    """Return a message about a variable in terms of the URL's parameter."""
    if (match := _VARIABLE.match(message)) is None:
        return message
    name = match[1]
    values = " and ".join(address.query.get(name, ()))
    if not values:
        return f"The URL has no {name}"
    return f"{name} cannot be {quoted(values)}"
