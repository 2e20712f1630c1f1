"""Relay's Node: objects with an opaque, stable id of their own."""

import base64
import binascii

import strawberry

from snapshots.errors import InvalidArgument

_SEPARATOR = ":"


def node_id(kind: str, *parts: str) -> strawberry.ID:
    """Return the id of an object: its type and what names it there, opaque to clients."""
    plain = _SEPARATOR.join((kind, *parts))
    return strawberry.ID(base64.b64encode(plain.encode()).decode())


def parse_node_id(text: str) -> tuple[str, list[str]]:
    """Return the type and the parts of an id; raises InvalidArgument for a text that is none."""
    try:
        kind, *parts = base64.b64decode(text, validate=True).decode().split(_SEPARATOR)
    except (binascii.Error, UnicodeDecodeError, ValueError):
        raise InvalidArgument("id", f"{text!r} is no id of this API") from None
    return kind, parts


@strawberry.interface(description="An object that can be fetched again by its id.")
class Node:
    """Relay's Node interface."""

    @strawberry.field(
        description="Opaque and stable: the same object has the same id after a restart and on "
        "every replica."
    )
    def id(self) -> strawberry.ID:
        """Return the id; every type has its own."""
        raise NotImplementedError
