"""Clients that hang up: what they asked for is not worked on any longer."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.types import Receive

Result = TypeVar("Result")


GONE = 499
"""The status, as nginx has it, of a request whose client hung up."""


async def unless_gone(receive: Receive, work: Coroutine[Any, Any, Result]) -> Result | None:
    """Return what the work returns; None where the client hangs up first, which cancels it.

    ``receive`` is that of a request whose body has been read to its end.
    """
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_gone(receive))
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        working.cancel()
        leaving.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
