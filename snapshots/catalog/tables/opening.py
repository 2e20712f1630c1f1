"""Opening a Delta table whose log others may be tidying at the same moment."""

from collections.abc import Callable, Mapping
from typing import TypeVar

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError

_ATTEMPTS = 5

Answer = TypeVar("Answer")


def ask_anew(
    uri: str, question: Callable[[DeltaTable], Answer], options: Mapping[str, str] | None = None
) -> Answer:
    """Open a table, with the ``options`` of its store, and return what it answers.

    A commit may be removed between the listing of the log and the reading of it. There is a newer
    checkpoint then, so it is tried again; what is damaged stays so. Raises DeltaError.
    """

    def opened() -> DeltaTable:
        return DeltaTable(uri, storage_options=None if options is None else {**options})

    for _ in range(_ATTEMPTS - 1):
        try:
            return question(opened())
        except TableNotFoundError:
            raise
        except DeltaError:
            continue
    return question(opened())
