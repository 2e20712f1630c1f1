"""``--json`` of commands: the data of a document of ``server/documents``, executed in process."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from server.documents import document
from server.terminal import console
from server.terminal.catalogs import OpenedCatalog
from server.terminal.console import plain
from snapshots.errors import CachelogError
from snapshots.models import ConcreteSpec, FileInfo, SideInfo, is_revision

_SIZES = re.compile(r"\$(\w+): Int(!?) = ")
"""The lengths of lists that a document asks for by default: of a server, not of this process."""

_MANY = (1 << 31) - 1


class DocumentError(CachelogError):
    """An error of a document, with its message."""


def side_name(side: SideInfo) -> str:
    """Return the name of a side in variables: the ref of a revision, or the path of a file."""
    return side.ref or side.name


def print_answer(
    opened: OpenedCatalog, name: str, variables: Mapping[str, Any], lines: Iterable[str]
) -> None:
    """Print the lines; or with ``--json`` a document's answer, with ``--print-query`` its text."""
    if console.prints_query():
        written = orjson.dumps(_without_none(plain(variables))).decode()
        console.print_paged([*document(name).splitlines(), f"# variables: {written}"])
    elif console.prints_json():
        console.print_json(answer(opened, name, variables))
    else:
        console.print_paged(lines)


def answer(opened: OpenedCatalog, name: str, variables: Mapping[str, Any]) -> Any:
    """Return the data of a document, whose lists are whole unless it limits them.

    The variables name the sides that were opened by ``side_name``. Raises DocumentError for the
    first error if nothing is left of the data. Errors of parts of it are printed to standard error.
    """
    # It takes a second of processor time to import the API.
    from schema.api import API
    from schema.context import Context, FileSide
    from schema.documents.estimates import NOTHING
    from schema.execution.budget import Budget
    from schema.fields.relay import whole_lists
    from schema.limits import Limits

    limits = Limits(
        max_revisions=1 << 60,
        max_answer_bytes=1 << 60,
        max_seconds=float("inf"),
        max_document_bytes=1 << 20,
    )
    sides = {
        side_name(side): FileSide.of(side) if isinstance(side, FileInfo) else side
        for side in opened.sides
        if not is_revision(side)
    }
    context = Context(opened.catalog, opened.library, budget=Budget(limits), sides=sides)
    text = document(name)
    sizes = {size: _MANY if needed else None for size, needed in _SIZES.findall(text)}
    values = sizes | plain(variables)
    with whole_lists():
        result = API(limits).execute(text, values, context=context, cost=NOTHING)
    is_empty = not any((result.data or {}).values())
    for message in dict.fromkeys(error["message"] for error in result.errors):
        if is_empty:
            raise DocumentError(message)
        console.note(message)
    return orjson.loads(orjson.dumps(result.data))


def spec_inputs(specs: Iterable[ConcreteSpec]) -> list[dict[str, Any]]:
    """Return the specs of a lock file as values of ``[ConcreteSpecInput!]``."""
    return [_without_none(plain(spec)) for spec in specs]


def _without_none(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in facts.items() if value is not None}
