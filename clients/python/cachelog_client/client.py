"""Clients that send a question and decode what answers it."""

from functools import cache
from hashlib import sha256
from typing import Any, ClassVar, Generic, Self, TypeVar

import httpx
import msgspec

Answer = TypeVar("Answer", covariant=True)

_LONGEST_ADDRESS = 2000
_UNKNOWN = ("PERSISTED_QUERY_NOT_FOUND", "PERSISTED_QUERY_NOT_SUPPORTED")


class Question(msgspec.Struct, Generic[Answer], frozen=True):
    """A document with its variables, which are the fields of each subclass."""

    TEXT: ClassVar[str]
    ANSWER: ClassVar[type]


class Extensions(msgspec.Struct):
    """What an error has for programs."""

    code: str | None = None
    nearest: list[str] = []


class ResponseError(msgspec.Struct):
    """An error as GraphQL responses have it."""

    message: str
    path: list[str | int] = []
    extensions: Extensions = msgspec.field(default_factory=Extensions)


class _Failure(msgspec.Struct):
    errors: list[ResponseError] = []


class AskError(Exception):
    """A question that was refused, or a field that failed.

    ``code`` tells errors apart (``REVISION_NOT_FOUND``, ``RATE_LIMITED``), ``retry_after`` is the
    number of seconds to wait where the server says so.
    """

    def __init__(self, errors: list[ResponseError], response: httpx.Response) -> None:
        self.errors = errors
        self.status = response.status_code
        seconds = response.headers.get("retry-after", "")
        self.retry_after = int(seconds) if seconds.isdecimal() else None
        super().__init__(
            errors[0].message if errors else f"the server answers with status {self.status}"
        )

    @property
    def code(self) -> str | None:
        """The code of the first error."""
        return self.errors[0].extensions.code if self.errors else None


def _requests(endpoint: str, question: Question[Any]) -> tuple[httpx.Request | None, httpx.Request]:
    """Return the request by the document's hash, None if too long for GET, and the whole one."""
    variables = msgspec.to_builtins(question)
    digest = sha256(question.TEXT.encode()).hexdigest()
    extensions = {"persistedQuery": {"version": 1, "sha256Hash": digest}}
    body = {"query": question.TEXT, "variables": variables, "extensions": extensions}
    headers = {"Accept": "application/json"}
    params = {
        name: msgspec.json.encode(body[name]).decode() for name in ("variables", "extensions")
    }
    short: httpx.Request | None = httpx.Request("GET", endpoint, params=params, headers=headers)
    if short is not None and len(str(short.url)) > _LONGEST_ADDRESS:
        short = None
    return short, httpx.Request("POST", endpoint, json=body, headers=headers)


def _decoded(question: Question[Answer], response: httpx.Response) -> Answer:
    try:
        errors = msgspec.json.decode(response.content, type=_Failure).errors
    except msgspec.MsgspecError:
        raise AskError([], response) from None
    if errors or not response.is_success:
        raise AskError(errors, response)
    data: Answer = msgspec.json.decode(response.content, type=_data_of(question.ANSWER)).data
    return data


@cache
def _data_of(answer: type) -> Any:
    return msgspec.defstruct("Response", [("data", answer)])


def _is_unknown(question: Question[Any], response: httpx.Response) -> bool:
    """Tell whether the server has to be sent the document itself."""
    try:
        _decoded(question, response)
    except AskError as error:
        return error.code in _UNKNOWN
    return False


class Client:
    """Asks one server; close it, or use it in ``with``.

    ``endpoint`` is the address of the API, ``https://example.org/graphql``. ``http`` is a client of
    httpx with other timeouts, headers or proxies. Raises AskError, and what httpx raises.
    """

    def __init__(self, endpoint: str, http: httpx.Client | None = None) -> None:
        self._endpoint = endpoint
        self._http = http or httpx.Client()

    def ask(self, question: Question[Answer]) -> Answer:
        """Return the answer to a question."""
        short, whole = _requests(self._endpoint, question)
        response = self._http.send(short) if short else None
        if response is None or _is_unknown(question, response):
            response = self._http.send(whole)
        return _decoded(question, response)

    def close(self) -> None:
        """Close its connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncClient:
    """As ``Client``, for programs with an event loop."""

    def __init__(self, endpoint: str, http: httpx.AsyncClient | None = None) -> None:
        self._endpoint = endpoint
        self._http = http or httpx.AsyncClient()

    async def ask(self, question: Question[Answer]) -> Answer:
        """Return the answer to a question."""
        short, whole = _requests(self._endpoint, question)
        response = await self._http.send(short) if short else None
        if response is None or _is_unknown(question, response):
            response = await self._http.send(whole)
        return _decoded(question, response)

    async def close(self) -> None:
        """Close its connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
