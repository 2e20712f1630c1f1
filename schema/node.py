"""Relay's Node interface: objects with an opaque, stable id."""

import base64
import binascii
from collections.abc import Callable
from inspect import signature
from operator import attrgetter
from typing import Any, ClassVar
from urllib.parse import quote, urlencode

import strawberry

from schema.context import Context, PlannedInfo
from schema.fields.cost import resolver
from snapshots.errors import InvalidArgument
from snapshots.models import RevisionInfo, StackInfo
from snapshots.texts import quoted, short_key

ID_SEPARATOR = "~"
"""The separator between the parts of an id, which are names, hashes and keys without it."""

_STACK_SEPARATOR = ":"


def node_id(kind: str, *parts: str) -> strawberry.ID:
    """Return the opaque id of an object, from its type and the parts that identify it."""
    plain = ID_SEPARATOR.join((kind, *parts))
    return strawberry.ID(base64.urlsafe_b64encode(plain.encode()).decode().rstrip("="))


def id_field(kind: str, *paths: str) -> Any:
    """Declare the id of a type, computed from attributes of its object: names, and revisions."""
    values = [attrgetter(path) for path in paths]

    def id_of(self: Any) -> strawberry.ID:
        parts = (value(self) for value in values)
        return node_id(kind, *(part if isinstance(part, str) else key_of(part) for part in parts))

    return strawberry.field(resolver=id_of, description="An opaque, stable id.")


URL = "The path of its page on the server; null if it has none."


def page_path(*names: str, **query: str | None) -> str:
    """Return the path of a page, which consists of names; parameters of None are omitted."""
    path = "/" + "/".join(quote(name, safe="@~:") for name in names)
    given = {name: value for name, value in query.items() if value is not None}
    return f"{path}?{urlencode(given)}" if given else path


def page_in(info: RevisionInfo, *names: str) -> str | None:
    """Return the path of a page of a revision; None if the catalog does not have the revision."""
    if isinstance(info, PlannedInfo):
        return None
    revision = info.revision if isinstance(info, StackInfo) else info
    return page_path("r", revision.ref, *names)


def url_field(*names: str, of: str) -> Any:
    """Declare the path of the page of an object: some names, and an attribute of the object."""
    value = attrgetter(of)

    def url(self: Any) -> str | None:
        return page_path(*names, value(self))

    return strawberry.field(resolver=url, description=URL)


def parse_node_id(text: str) -> tuple[str, list[str]]:
    """Return the type and the parts of an id; raises InvalidArgument for any other text."""
    try:
        padded = text + "=" * (-len(text) % 4)
        plain = base64.b64decode(padded, altchars=b"-_", validate=True)
        kind, *parts = plain.decode().split(ID_SEPARATOR)
    except (binascii.Error, UnicodeDecodeError, ValueError):
        raise _no_id(text) from None
    return kind, parts


def _no_id(text: str) -> InvalidArgument:
    return InvalidArgument("id", f"{quoted(text)} is not an id of this API")


@strawberry.interface(description="An object that can be queried by its id.")
class Node:
    """Relay's Node interface.

    A type with ids has a class method ``of_id``, whose arguments are the context and the parts of
    an id. It returns the object, or None if there is none.
    """

    types: ClassVar[dict[str, type["Node"]]] = {}
    """The types with ids, by name."""

    of_id: ClassVar[Callable[..., Any]]
    num_id_parts: ClassVar[int]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "of_id" in vars(cls):
            Node.types[cls.__name__.removesuffix("Type")] = cls
            cls.num_id_parts = len(signature(cls.of_id).parameters) - 1

    @resolver()
    def id(self) -> strawberry.ID:
        """An opaque, stable id: an object has the same id after a restart, and on every replica."""
        raise NotImplementedError


def find_node(context: Context, id: str) -> Node | None:
    """Return the object of an id; None if there is none. Raises InvalidArgument."""
    name, parts = parse_node_id(id)
    if (kind := Node.types.get(name)) is None:
        raise _no_id(id)
    last = kind.num_id_parts - 1
    if len(parts) <= last:
        context.is_permanent = False
        return None
    node: Node | None = kind.of_id(context, *parts[:last], ID_SEPARATOR.join(parts[last:]))
    return node


def node_of(name: str, /, **facts: Any) -> Any:
    """Return an object of a type with ids, by the type's name: for modules that the type's module
    imports.
    """
    return Node.types[name](**facts)


def revision_object(info: RevisionInfo) -> Any:
    """Return the object for a revision of the catalog; for a stack, that of its revision."""
    return node_of("Revision", info=info.revision if isinstance(info, StackInfo) else info)


def key_of(info: RevisionInfo) -> str:
    """Return the part of ids that names a revision or a stack: a short key of the ref."""
    if isinstance(info, StackInfo):
        return f"{short_key(info.revision.ref)}{_STACK_SEPARATOR}{info.stack}"
    return short_key(info.ref)


def info_of_id(context: Context, key: str) -> RevisionInfo | None:
    """Return the revision or stack that a part of an id names; None if there is none."""
    of_revision, sign, stack = key.partition(_STACK_SEPARATOR)
    info = context.history.by_key.get(of_revision)
    if info is None:
        context.is_permanent = False  # such a revision may still be published
    return StackInfo.uncounted(info, stack) if info is not None and sign else info


def part_of_id(cls: Any, context: Context, key: str, name: str) -> Any:
    """Return the part of a revision's key and a name, which ``cls.find`` returns; None if there is
    none. It is the ``of_id`` of types whose objects are parts of a revision.
    """
    info = info_of_id(context, key)
    return None if info is None else cls.find(context.load(info), name)
