"""``/check``: the specs of a lock file in a build cache; ``/check/plan``: those to be built.

Lock files are parsed in memory and never stored.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar

import msgspec
from starlette.types import Receive, Scope, Send
from strawberry.utils.str_converters import to_camel_case

from schema.errors import bounded
from schema.revisions.lookup import ConcreteSpecInput
from server.asgi.bodies import Bodies
from server.asgi.errors import BadRequest
from server.asgi.exchanges import CODE, unless_disconnected
from server.asgi.responses import Response
from server.pages.addresses import Address, given, query_string, raw_path
from server.pages.documents import DocumentAnswer, document
from server.pages.endpoint import PageContext, PageEndpoint
from server.pages.exports import CSV_TYPE, csv_body, csv_head
from server.pages.filters import missing_cause
from server.pages.forms import Field, read_form
from server.pages.renderer import NO_STORE, PageResponse
from server.pages.routes import Page
from snapshots.changes.plans import StackLock
from snapshots.errors import SourceError
from snapshots.models import ConcreteSpec, Spec
from snapshots.refs import series
from snapshots.sources import lock_files
from snapshots.sources.lock_files import LockFile
from snapshots.spack.names import is_hash, is_name
from snapshots.texts import legible, quoted, shortened

FORM = Page("/check", "check_form")
RESULT = Page("/check", "check")
PLAN_FORM = Page("/check/plan", "check_form")
PLAN = Page("/check/plan", "plan")

MAX_SPECS = 10_000
"""Maximum number of specs of an uploaded lock file: as many as the largest real environments."""

BODIES = 8
"""Factor on the maximum size of a body: a lock file has eight times the bytes of a request."""

_MAX_VALID_TEXT = 64 << 10
_MAX_INVALID_TEXT = 1 << 20
"""Maximum sizes of texts that the form repeats, in bytes: of valid and of invalid lock files."""

_PLANNED = sorted(
    {*ConcreteSpecInput.__annotations__}
    & {*Spec.__struct_fields__} - {"dependencies", "compiler", "namespace"}
)
"""The facts of specs that plans use, besides dependencies."""

_MAX_NAME_LENGTH = 100
_MAX_REF_LENGTH = 1_000
_SPECS_SHOWN = 3
_DEFAULT_BASE = "develop"
LISTED = 500, 200, 70
"""Numbers of missing specs to query for a page; the first that a request's cost allows is used."""

_PART = 400
"""Number of specs per request for a table of missing specs."""

LONGEST_ADDRESS = 7_900
"""Maximum length of the query string of a URL to share; links to CSV are slightly longer."""

_SHARED = {"roots": True, "specs": False}
"""The parameters of such a URL, and whether their specs are roots."""


Specs = TypeVar("Specs")


class CheckForm(msgspec.Struct, frozen=True):
    """The fields of a form: the ``data`` and ``name`` of a lock file, and the revision to search.

    If ``ref`` is empty, the best revision of all tags is used. ``stack`` restricts a plan to a
    stack; empty for all stacks. With ``is_table``, the missing specs are requested as CSV.
    ``shared`` has the parameters of names and hashes that are given instead of a lock file.
    """

    data: bytes
    name: str
    ref: str
    stack: str = ""
    is_table: bool = False
    shared: Mapping[str, Sequence[str]] = {}

    def text(self, most: int) -> str:
        """Return the lock file as text for the form; empty if it has more bytes than ``most``."""
        return self.data.decode("utf-8", "replace") if len(self.data) <= most else ""


class CheckEndpoint:
    """Serves the form by GET and HEAD, and the result for a lock file by POST.

    A body may have ``BODIES`` times the usual maximum size, and is counted as usual.
    """

    form = FORM

    def __init__(self, context: PageContext, bodies: Bodies) -> None:
        self._context = context
        self._bodies = bodies
        self._form = PageEndpoint(self.form, context)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["method"] == "POST":
            making = self._sent(scope, receive)
        elif self.form is FORM and any(
            f"{name}=".encode() in scope["query_string"] for name in _SHARED
        ):
            making = self._shared(scope, receive)
        else:
            await self._form(scope, receive, send)
            return
        await self._context.answer(making, scope, send)

    async def _sent(self, scope: Scope, receive: Receive) -> Response:
        """Answer a submitted form."""
        async with self._bodies.body(receive, BODIES * self._bodies.max_body) as content:
            return await unless_disconnected(
                receive, self._answer(scope, self._checked(scope, content))
            )

    async def _shared(self, scope: Scope, receive: Receive) -> Response:
        """Answer a URL that contains names and hashes of specs."""
        parameters = given(scope)
        ref = parameters.get("ref", [""])[-1].strip()
        form = CheckForm(b"", "the specs", ref, is_table="as" in parameters, shared=parameters)
        making = self._looked_up(scope, form, shared_specs(form), {"groups": ()})
        return await unless_disconnected(receive, self._answer(scope, making))

    async def _answer(self, scope: Scope, making: Awaitable[Response]) -> Response:
        """Return the response; for invalid input, the form with its values and a message."""
        try:
            return await making
        except Unreadable as error:
            scope[CODE], form = error.code, error.form
            variables = {"ref": None}
            answered = await self._context.runner.run(self.form.document.text, variables)
            data = {
                "tags": None,
                **answered.data,  # empty if the document was refused
                "text": form.text(_MAX_INVALID_TEXT),
                "problem": bounded(error.message, 1_000),
                "stack": form.stack,
            }
            return await self._page(self.form, scope, form.ref, data, variables, [], error.status)

    async def _checked(self, scope: Scope, content: bytes) -> Response:
        """Return the page for a submitted form."""
        form, (locked, specs) = await self._read(scope, content, _specs_to_find)
        shown: dict[str, Any] = {"groups": ()}
        if locked is not None:
            shown = {"writer": locked.writer, "groups": locked.groups, "left_out": locked.left_out}
        return await self._looked_up(scope, form, specs, shown)

    async def _read(
        self, scope: Scope, content: bytes, specs_of: Callable[[CheckForm], Specs]
    ) -> tuple[CheckForm, Specs]:
        """Return a submitted form, and the result of ``specs_of`` for it.

        Raises BadRequest for an invalid form, and Unreadable for an invalid lock file, with the
        position of the error.
        """
        content_type: bytes = dict(scope["headers"]).get(b"content-type", b"")

        def read() -> tuple[CheckForm, Specs]:
            form = _form_of(read_form(content_type, content))
            try:
                return form, specs_of(form)
            except SourceError as error:
                raise Unreadable(legible(str(error), 1_000), form) from None

        return await self._context.runner.lanes.heavy.run(read)

    async def _looked_up(
        self, scope: Scope, form: CheckForm, specs: list[dict[str, Any]], shown: Mapping[str, Any]
    ) -> Response:
        """Return the page or table for some specs; ``shown`` is additional data for the page."""
        runner = self._context.runner
        # A separate request, because the limit on cost applies to each one.
        covering = await runner.run(document("check_covering").text, {"specs": specs})
        variables: dict[str, Any] = {"ref": form.ref or _best(covering, form), "specs": specs}
        if form.is_table:
            return _missing_as_csv(await self._all_missing(form, variables))
        for size in LISTED:
            variables["first"] = size
            if await runner.is_affordable(RESULT.document.text, variables):
                break
        answered = await self._answered(RESULT, variables, form, "revision")
        missing = answered.data["revision"]["lookup"]["missing"]["nodes"]
        data = {
            "left_out": (),
            "writer": None,
            "covering": covering.data.get("bestCovering") or [],
            **shown,
            **answered.data,
            **_form_values(form),
            "listed": shared_parameters(missing),
            "shared": address_of(specs),
            "shared_missing": address_of(missing),
        }
        return await self._page(RESULT, scope, form.ref, data, variables, answered.errors)

    async def _answered(
        self, page: Page, variables: Mapping[str, Any], form: CheckForm, subject: str
    ) -> DocumentAnswer:
        """Return the answer for a page; raise Unreadable if it lacks the subject."""
        answered = await self._context.runner.run(page.document.text, variables)
        if not answered.data.get(subject):
            raise Unreadable(_first_error(answered), form)
        return answered

    async def _all_missing(
        self, form: CheckForm, variables: Mapping[str, Any]
    ) -> list[Mapping[str, Any]]:
        """Return all missing specs; they are queried in parts, because of the limit on cost."""
        specs = sorted(
            variables["specs"],
            key=lambda spec: (not spec.get("isRoot", False), spec["name"], spec["hash"]),
        )
        missing: list[Mapping[str, Any]] = []
        for start in range(0, len(specs), _PART):
            part = {**variables, "specs": specs[start : start + _PART], "first": _PART}
            answered = await self._answered(RESULT, part, form, "revision")
            missing += answered.data["revision"]["lookup"]["missing"]["nodes"]
        return missing

    async def _page(
        self,
        page: Page,
        scope: Scope,
        ref: str,
        data: Mapping[str, Any],
        variables: Mapping[str, Any],
        errors: list[dict[str, Any]],
        status: int = 200,
    ) -> Response:
        address = Address(raw_path(scope), {"ref": [ref]} if ref else {})
        shown = {**variables}
        if "specs" in shown:  # all of them would be too long for a URL
            shown["specs"] = shown["specs"][:_SPECS_SHOWN]
        body = await self._context.runner.lanes.light.run(
            lambda: self._context.renderer.page(
                page, address, data, params={}, variables=shown, errors=errors
            )
        )
        return PageResponse(status, body, NO_STORE)


class PlanEndpoint(CheckEndpoint):
    """Serves the form and result of plans: the specs that have to be built, given a revision."""

    form = PLAN_FORM

    async def _checked(self, scope: Scope, content: bytes) -> Response:
        """Return the page for a submitted form."""
        form, specs = await self._read(scope, content, _specs_to_plan)
        variables = {"base": form.ref or _DEFAULT_BASE, "specs": specs}
        if form.stack:
            variables["stacks"] = [form.stack]
        answered = await self._answered(PLAN, variables, form, "plan")
        data = {**answered.data, **_form_values(form), "stack": form.stack}
        return await self._page(PLAN, scope, form.ref, data, variables, answered.errors)


def _form_values(form: CheckForm) -> dict[str, Any]:
    """Return the values of the form on a page of results, so that it can be submitted again."""
    return {"text": form.text(_MAX_VALID_TEXT), "name": form.name, "num_asked": _SPECS_SHOWN}


def shared_specs(form: CheckForm) -> list[dict[str, Any]]:
    """Return the specs, as GraphQL input, of parameters that ``shared_parameters`` created.

    Raises Unreadable if a value is not NAME-HASH.
    """
    specs = []
    for key, is_root in _SHARED.items():
        for token in " ".join(form.shared.get(key, ())).split():
            name, _, digest = token.rpartition("-")
            if not (is_name(name) and is_hash(digest)):
                token = quoted(shortened(token, _MAX_NAME_LENGTH))
                raise Unreadable(f"{token} in the URL is not NAME-HASH.", form)
            specs.append({"hash": digest, "name": name, "isRoot": is_root})
    return specs


def shared_parameters(specs: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return parameters of a URL or form that contain the names and hashes of specs."""
    parts = {
        key: " ".join(
            f"{spec['name']}-{spec['hash']}"  # only characters that need no escaping
            for spec in specs
            if spec.get("isRoot", False) is is_root
        )
        for key, is_root in _SHARED.items()
    }
    return {key: text for key, text in parts.items() if text}


def address_of(specs: Iterable[Mapping[str, Any]]) -> dict[str, str] | None:
    """Return URL parameters that contain the names and hashes of specs; None if too long."""
    parameters = shared_parameters(specs)
    return parameters if len(query_string(parameters)) <= LONGEST_ADDRESS else None


_MISSING_COLUMNS = {
    **{name: (name,) for name in ("hash", "name", "version", "isRoot", "cause", "reason")},
    "lastSeen": ("lastSeen", "tagName"),
    "lastSeenAt": ("lastSeen", "takenAt"),
    "goneIn": ("goneIn", "tagName"),
    "goneInAt": ("goneIn", "takenAt"),
    "nearest": ("nearest", "hash"),
}
"""The columns of the table of missing specs, with their paths in the answer."""


def _missing_as_csv(missing: Iterable[Mapping[str, Any]]) -> Response:
    """Return the missing specs as a CSV file."""
    rows = ({**spec, "cause": missing_cause(spec) or None} for spec in missing)
    head = csv_head([(name,) for name in _MISSING_COLUMNS])
    body = head + csv_body(rows, [*_MISSING_COLUMNS.values()])
    disposition = (b"content-disposition", b'attachment; filename="missing.csv"')
    return Response(200, body, CSV_TYPE, NO_STORE, more=[disposition])


class Unreadable(BadRequest):
    """Raised for a lock file that cannot be checked, with its form."""

    def __init__(self, message: str, form: CheckForm) -> None:
        super().__init__(message, code="BAD_USER_INPUT")
        self.form = form


def _specs_to_find(form: CheckForm) -> tuple[LockFile | None, list[dict[str, Any]]]:
    """Return the lock file of a form, if any, and its specs as GraphQL input for lookups."""
    if form.shared:
        return None, shared_specs(form)
    locked = lock_files.parse(form.data, form.name, MAX_SPECS)
    return locked, [_as_input(spec) for spec in locked.specs]


def _specs_to_plan(form: CheckForm) -> list[dict[str, Any]]:
    """Return the specs of the lock file of a form, as GraphQL input for plans."""
    locked = lock_files.parse(form.data, form.name, MAX_SPECS).content
    return specs_to_plan(StackLock(form.stack or None, [*locked.specs()], locked.outside.specs))


def specs_to_plan(lock: StackLock) -> list[dict[str, Any]]:
    """Return the specs of a lock file, as GraphQL input for plans."""
    stack = {"stack": lock.stack} if lock.stack else {}
    built = [_as_input(spec, _PLANNED) | stack | _dependencies(spec) for spec in lock.specs]
    external = stack | {"isExternal": True}
    return built + [_as_input(spec, _PLANNED) | external for spec in lock.external]


def _as_input(
    spec: ConcreteSpec | Spec, names: Iterable[str] = ConcreteSpec.__struct_fields__
) -> dict[str, Any]:
    """Return facts of a spec as GraphQL input, without unknown ones."""
    values = ((name, getattr(spec, name)) for name in names)
    return {_in_graphql(name): value for name, value in values if value is not None}


_in_graphql = cache(to_camel_case)


def _dependencies(spec: Spec) -> dict[str, Any]:
    """Return the dependencies of a spec as GraphQL input; empty if they are unknown."""
    if spec.dependencies is None:
        return {}
    edges = [
        msgspec.structs.asdict(edge) | {"types": [name.upper() for name in edge.types]}
        for edge in spec.dependencies
    ]
    return {"dependencies": edges}


def _form_of(form: Mapping[str, Field]) -> CheckForm:
    """Return the parsed fields of a form; raise BadRequest if it has no lock file."""
    nothing = Field(b"")
    ref = (form.get("in") or form.get("ref") or nothing).text.strip()
    if len(ref) > _MAX_REF_LENGTH:
        raise BadRequest(
            f"The name of the side to search has more than {_MAX_REF_LENGTH:,} characters"
        )
    stack = form.get("stack", nothing).text.strip()
    is_table = form.get("as", nothing).text == "csv"
    if shared := {key: [form[key].text] for key in _SHARED if key in form}:
        return CheckForm(b"", "the specs", ref, is_table=is_table, shared=shared)
    file, text = form.get("file", nothing), form.get("text", nothing)
    if file.content.strip():
        name = legible(file.filename, _MAX_NAME_LENGTH) or "the file"
        sent = CheckForm(file.content, name, ref, stack, is_table)
    else:
        sent = CheckForm(text.content, "the text", ref, stack, is_table)
    if not sent.data.strip():
        raise Unreadable("Paste a lock file, or choose one.", CheckForm(b"", "", ref, stack))
    if stack and not is_name(stack):
        named = quoted(shortened(stack, _MAX_NAME_LENGTH))
        raise Unreadable(f"{named} cannot name a stack.", CheckForm(sent.data, sent.name, ref))
    return sent


def _best(covering: DocumentAnswer, form: CheckForm) -> str:
    """Return the series of the tag with most of the specs, which names its newest revision.

    An older revision that has all specs would not say what is missing now. Raises Unreadable if
    there is none.
    """
    if not (best := covering.data.get("bestCovering")):
        raise Unreadable(_first_error(covering), form)
    return series(best[0]["revision"]["tagName"])


def _first_error(answered: DocumentAnswer) -> str:
    """Return the reason why an answer has no data."""
    return answered.errors[0]["message"] if answered.errors else "The catalog is empty."
