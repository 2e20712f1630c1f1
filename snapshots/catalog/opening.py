"""Opening a Delta table whose log others may be tidying at the same moment."""

from collections.abc import Callable
from typing import TypeVar

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError

_ATTEMPTS = 5

Answer = TypeVar("Answer")


def ask_anew(uri: str, question: Callable[[DeltaTable], Answer]) -> Answer:
    """Open a table and return what it answers.

    A commit may be removed between the listing of the log and the reading of it. There is a newer
    checkpoint then, so it is tried again; what is damaged stays so. Raises DeltaError.
    """
    for _ in range(_ATTEMPTS - 1):
        try:
            return question(DeltaTable(uri))
        except TableNotFoundError:
            raise
        except DeltaError:
            continue
    return question(DeltaTable(uri))
