"""How a field answers for many objects at once, as JSON text.

The stock executor asks each object for each field. A field that declares a batch form is asked
once for a whole list instead: it returns one JSON text an object, or the children of all objects
as one batch more. ``schema.executor`` joins the texts.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

BATCH = "batch"

Item = TypeVar("Item")


class Batch(Sequence[Item], Generic[Item]):
    """A list whose items are made only where somebody asks for one."""


class Children(NamedTuple):
    """The objects that a field leads to, those of all parents in one batch.

    ``counts`` says how many of them belong to each parent, for a field that is a list; without it
    each parent has one. ``batch`` is whatever the batch forms of its type's fields understand.
    """

    batch: Any
    counts: Sequence[int] | None = None


def batched(form: Callable[..., list[str] | Children]) -> Mapping[str, Any]:
    """Return the metadata that gives a Strawberry field its batch form.

    ``form`` gets the batch of parents, and the field's arguments by keyword. Where it raises, the
    stock executor takes over and reports the error at each place it belongs to.
    """
    return {BATCH: form}
