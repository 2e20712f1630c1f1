"""What the generated clients share: how a query is sent, its errors, and pages of lists.

The generator copies this module into the package, beside its models.
"""

import time
from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Any, Protocol, Self, TypeVar

import httpx
from pydantic import BaseModel, Field, TypeAdapter, ValidationError
from pydantic_core import to_json

from .base_model import UNSET

MAX_URL = 2000  # proxies may refuse longer ones
MAX_WAIT = 60  # seconds
TIMEOUT = 15.0  # seconds: a server gives up a query after 10
_VARIABLES = TypeAdapter(dict[str, Any])
_UNKNOWN = {"PERSISTED_QUERY_NOT_FOUND", "PERSISTED_QUERY_NOT_SUPPORTED"}


class Candidate(BaseModel):
    """One of several hashes that start with an ambiguous prefix."""

    hash: str
    title: str


class Extensions(BaseModel, extra="allow"):
    """What an error has for programs.

    - code: what tells errors apart: REVISION_NOT_FOUND, AMBIGUOUS_HASH, OVERLOADED …
    - nearest: names that resemble one that does not exist
    - candidates: hashes that start with an ambiguous prefix
    """

    code: str | None = None
    nearest: list[str] = []
    candidates: list[Candidate] = []


class ResponseError(BaseModel):
    """An error as GraphQL responses have it."""

    message: str
    path: list[str | int] = []
    extensions: Extensions = Field(default_factory=Extensions)


class _Response(BaseModel):
    data: dict[str, Any] | None = None
    errors: list[ResponseError] = []


class QueryError(Exception):
    """A query is refused, or fields of it failed.

    - errors: those of the response
    - data: the fields that did not fail, by the API's names; None if the query was refused
    - status: the HTTP status
    - retry_after: seconds after which to try again, if the server says so
    """

    def __init__(self, response: httpx.Response, body: _Response) -> None:
        self.errors = body.errors
        self.data = body.data
        self.status = response.status_code
        seconds = response.headers.get("retry-after", "")
        self.retry_after = int(seconds) if seconds.isdecimal() else None
        messages = [error.message for error in body.errors]
        super().__init__("; ".join(messages) or f"the server answers with status {self.status}")

    @property
    def code(self) -> str | None:
        """The code of the first error."""
        return self.errors[0].extensions.code if self.errors else None


class PageInfo(Protocol):
    """Where a page of a list ends."""

    has_next_page: bool
    end_cursor: str | None


class Page(Protocol):
    """A page of a list, which selects its ``pageInfo``."""

    @property
    def page_info(self) -> PageInfo:
        """Where it ends."""


Data = TypeVar("Data")
PageT = TypeVar("PageT", bound=Page)


def _data(response: httpx.Response) -> dict[str, Any]:
    try:
        body = _Response.model_validate_json(response.content)
    except ValidationError:
        raise QueryError(response, _Response()) from None
    if body.errors or body.data is None or not response.is_success:
        raise QueryError(response, body)
    return body.data


def _requests(url: str, query: str, variables: dict[str, Any]) -> list[httpx.Request]:
    """Return the request by the document's hash, unless it is too long for a URL, and in full."""
    present = {name: value for name, value in variables.items() if value is not UNSET}
    values = _VARIABLES.dump_python(present, mode="json", by_alias=True, exclude_unset=True)
    persisted = {"version": 1, "sha256Hash": sha256(query.encode()).hexdigest()}
    body = {
        "query": query,
        "variables": values,
        "extensions": {"persistedQuery": persisted},
    }
    params = {name: to_json(body[name]).decode() for name in ("variables", "extensions")}
    headers = {"Accept": "application/json"}
    by_hash = httpx.Request("GET", url, params=params, headers=headers)
    whole = httpx.Request("POST", url, json=body, headers=headers)
    return [by_hash, whole] if len(str(by_hash.url)) <= MAX_URL else [whole]


class BaseClient:
    """Queries one server; close it, or use it in ``with``.

    ``url`` is the address of the API, ``https://example.org/graphql``; ``http`` an httpx client
    with other timeouts, headers or proxies; ``retries`` how often a request is repeated that the
    server refuses for now (Retry-After). Methods raise QueryError, and what httpx raises.
    """

    def __init__(self, url: str, http: httpx.Client | None = None, *, retries: int = 2) -> None:
        self._url = url
        self._http = http or httpx.Client(timeout=TIMEOUT)
        self._retries = retries

    def execute(self, query: str, variables: dict[str, Any], **_: object) -> dict[str, Any]:
        """Return the data that answers a document of one operation; raises QueryError."""
        requests = _requests(self._url, query, variables)
        retries = self._retries
        while True:
            try:
                return _data(self._http.send(requests[0]))
            except QueryError as error:
                if error.code in _UNKNOWN and len(requests) > 1:
                    del requests[0]
                elif retries and error.retry_after is not None and error.retry_after <= MAX_WAIT:
                    retries -= 1
                    time.sleep(error.retry_after)
                else:
                    raise

    def get_data(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return what ``execute`` returns: generated methods pass one to the other."""
        return data

    def pages(
        self,
        query: Callable[..., Data],
        select: Callable[[Data], PageT | None],
        **variables: Any,
    ) -> Iterator[PageT]:
        """Yield the pages of a list that ``select`` returns from the data of a query.

        The query has a variable ``after``, and selects ``pageInfo { hasNextPage endCursor }``.
        """
        page = select(query(**variables))
        while page:
            yield page
            if not page.page_info.has_next_page:
                return
            page = select(query(**variables | {"after": page.page_info.end_cursor}))

    def close(self) -> None:
        """Close its connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
