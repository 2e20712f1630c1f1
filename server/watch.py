"""Regular checks of a catalog for new revisions, and the result of the last one."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from math import inf
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse

from schema.errors import incident
from snapshots.catalog.catalog import Catalog
from snapshots.catalog.history_queries import prepare
from snapshots.catalog.runs import Regular, regular
from snapshots.errors import CatalogError
from snapshots.texts import counted

_log = logging.getLogger("cachelog.server")

SILENT_SECONDS = 10.0
"""After this time, a check that has not ended is a problem; most take less than 0.1 seconds."""


@asynccontextmanager
async def in_background(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Run work that never ends in a task of its own until the context ends."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


STORE_SECONDS = 5.0
"""The shortest pause of checks on object storage, where each takes several requests."""

_RUNS_SECONDS = 30.0
"""The time after which the records of runs are read again."""


class CatalogWatch:
    """Checks a catalog for new revisions, with a pause of some ``seconds``.

    ``problem`` is the reason why the last check failed; None while the catalog can be read. It is
    also set when a store has not answered for a while, before the check fails.

    An outage is logged when it begins and when it ends. Errors in between are not logged, because
    their texts contain request ids and times and so differ each time.
    """

    def __init__(self, catalog: Catalog, seconds: float) -> None:
        self.catalog = catalog
        self._problem: str | None = "the catalog has not been read yet"
        self._began: float | None = None
        is_folder = catalog.storage.location.is_folder
        self._seconds = seconds if is_folder else max(seconds, STORE_SECONDS)
        self._last_read = time.monotonic()
        self._is_out = False
        self._runs_read = -inf
        self.runs: Sequence[Regular] = ()
        """What runs again and again, as of less than a minute ago."""

    @property
    def problem(self) -> str | None:
        """The reason why the catalog cannot be read; None while it can."""
        began = self._began
        if self._problem is None and began is not None:
            seconds = time.monotonic() - began
            if seconds > SILENT_SECONDS:
                return f"the store has not answered for {seconds:.0f} s"
        return self._problem

    @property
    def age(self) -> float:
        """Number of seconds since the catalog was last read."""
        return time.monotonic() - self._last_read

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Check once immediately, and then regularly until the context ends."""
        await asyncio.to_thread(self.look)
        async with in_background(self._look_again()):
            yield

    def look(self) -> None:
        """Check for new revisions; on failure, set ``problem``."""
        self._began = time.monotonic()
        try:
            is_new = self.catalog.refresh()
        except CatalogError as error:
            if not self._is_out:
                _log.warning("%s", error)
            self._is_out, self._problem = True, error.reason
        except Exception as error:  # noqa: BLE001 - the next check may succeed
            if not self._is_out:
                self._problem = incident(error)["message"]
            self._is_out = True
        else:
            self._last_read = time.monotonic()
            revisions = counted(len(self.catalog.history.revisions), "revision")
            if self._is_out:
                _log.info("the catalog can be read again; it has %s", revisions)
            elif is_new:
                _log.info("the catalog has %s", revisions)
            self._is_out, self._problem = False, None
        finally:
            self._began = None
        if time.monotonic() - self._runs_read > _RUNS_SECONDS:
            self._runs_read = time.monotonic()
            with suppress(CatalogError):  # a check that fails has said so
                self.runs = regular(self.catalog.runs.all(), datetime.now(UTC))

    def _prepare(self) -> None:
        # The first comparison of two specs would otherwise block other requests during this import.
        import deepdiff  # noqa: F401

        try:
            prepare(self.catalog)
        except Exception as error:  # noqa: BLE001 - this is an optimization; checks must continue
            incident(error)

    async def _look_again(self) -> None:
        await asyncio.to_thread(self._prepare)
        while True:
            await asyncio.sleep(self._seconds)
            await asyncio.to_thread(self.look)


async def ready(watch: CatalogWatch, _request: Request) -> JSONResponse:
    """Answer 200 if the server has read the catalog, with the reason if it cannot any more.

    A server that has not read it yet answers 503.
    """
    revisions, problem = len(watch.catalog.history.revisions), watch.problem
    if problem is not None and not revisions:
        return JSONResponse({"status": "not ready", "reason": problem}, status_code=503)
    body: dict[str, Any] = {"status": "ready", "revisions": revisions}
    if problem is not None:
        body |= {"status": "stale", "reason": problem, "seconds": round(watch.age)}
    if failing := [it.last for it in watch.runs if not it.last.result.is_success]:
        body["failing"] = [f"{run.kind} {run.subject}".strip() for run in failing]
    return JSONResponse(body)


async def live(_request: Request) -> JSONResponse:
    """Answer 200 as long as the process serves requests."""
    return JSONResponse({"status": "live"})
