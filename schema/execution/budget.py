"""The budget of a running request: its time, the bytes of its response, and the values it may wait
for.
"""

from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager
from time import monotonic, thread_time
from typing import Any, Protocol, TypeVar

import msgspec

from schema.limits import Limits
from snapshots.errors import CachelogError

Item = TypeVar("Item")


class BudgetExceeded(BaseException):
    """A request has used up its budget, or its client has disconnected.

    ``code`` is the error code in the response. It is not an Exception, so that it leaves the
    executor immediately instead of becoming a field's error, and all memory of the request is
    freed.
    """

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        super().__init__(message)


TIMEOUT = "QUERY_TIMEOUT"
TOO_MANY_BYTES = "ANSWER_TOO_LARGE"
CANCELLED = "REQUEST_CANCELLED"
QUERY_TOO_LARGE = "QUERY_TOO_LARGE"

MAX_LEVELS = 50_000
"""Maximum number of levels of dependencies that a request may walk through; a level takes some 15
µs.

Dependencies in real caches have some 40 levels, on which the costs of fields are based.
"""


BRIEF_SECONDS = 0.005
"""The processor time that a request may take in the event loop."""

BRIEF_BYTES = 2_500_000
"""The size of a response that the event loop may make."""


class Budget:
    """The resources that one request has used, and their limits.

    The clock starts when the budget is created, and stops while the request waits for values that
    requests share. ``cancel`` may be called from any thread; the request ends at its next check, at
    the latest after one field of a list. A brief budget is that of an attempt in the event loop: it
    raises NotLoaded after BRIEF_SECONDS or BRIEF_BYTES. ``num_values`` counts the values of the
    response, objects and lists of them included.
    """

    def __init__(
        self,
        limits: Limits = Limits(),  # noqa: B008 - a frozen record
        *,
        is_brief: bool = False,
    ) -> None:
        self.limits = limits
        self.num_bytes = 0
        self.num_values = 0
        self._num_levels = 0
        self._max_bytes = BRIEF_BYTES if is_brief else limits.max_answer_bytes
        self._ends = monotonic() + (BRIEF_SECONDS if is_brief else limits.max_seconds)
        self._brief_ends = thread_time() + BRIEF_SECONDS if is_brief else None
        self._is_cancelled = False

    def cancel(self) -> None:
        """End the request at its next check."""
        self._is_cancelled = True
        self._ends = float("-inf")

    def check(self) -> None:
        """Raise BudgetExceeded if the time is over, or the request was cancelled."""
        if monotonic() > self._ends:
            self._end()

    def each(self, items: Iterable[Item]) -> Iterator[Item]:
        """Yield items, with a check before each of them."""
        for item in items:
            self.check()
            yield item

    def levels(self, levels: Iterable[Item]) -> Iterator[Item]:
        """Yield the levels of a walk; raises BudgetExceeded after too many levels in all walks."""
        for level in self.each(levels):
            self._num_levels += 1
            if self._num_levels > MAX_LEVELS:
                message = (
                    f"The request walks through more than {MAX_LEVELS:,} levels of dependencies, "
                    "the limit. Request smaller pages, or no transitive lists."
                )
                raise BudgetExceeded(QUERY_TOO_LARGE, message)
            yield level

    def spend(self, num_bytes: int) -> None:
        """Count a value of the response and its bytes, and check the time; raises BudgetExceeded if
        either is exceeded.
        """
        self.num_values += 1
        self.num_bytes += num_bytes
        if self.num_bytes > self._max_bytes:
            self.reach(self.num_bytes)
        if monotonic() > self._ends:
            self._end()

    def reach(self, num_bytes: int) -> None:
        """Set the number of bytes of the response so far; raises BudgetExceeded like ``spend``."""
        self.num_bytes = num_bytes
        if num_bytes > self._max_bytes:
            if self._brief_ends is not None:
                raise NotLoaded
            message = (
                f"The answer has more than {self._max_bytes:,} bytes, the limit. "
                "Request smaller pages, or select fewer fields."
            )
            raise BudgetExceeded(TOO_MANY_BYTES, message)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Stop the clock during work that is done for all requests, such as loading a revision."""
        began = monotonic()
        try:
            yield
        finally:
            self._ends += monotonic() - began
            if self._is_cancelled:  # cancel() may run within the addition above
                self._ends = float("-inf")

    def _end(self) -> None:
        """Raise the error of a request whose time is over.

        Other threads may have used the time of a brief one, which then has the rest.
        """
        if self._is_cancelled:
            raise BudgetExceeded(CANCELLED, "The request was cancelled.")
        if self._brief_ends is not None:
            rest = self._brief_ends - thread_time()
            if rest <= 0:
                raise NotLoaded
            self._ends = monotonic() + rest
            return
        seconds = f"{self.limits.max_seconds:g}"
        message = (
            f"The request takes longer than {seconds} seconds, the limit. "
            "Request smaller pages, or request less at a time."
        )
        raise BudgetExceeded(TIMEOUT, message)


KeyIn = TypeVar("KeyIn", contravariant=True)
ValueOut = TypeVar("ValueOut", covariant=True)


class Cache(Protocol[KeyIn, ValueOut]):
    """Values that requests share, computed on first use."""

    def peek(self, key: KeyIn) -> ValueOut | None:
        """Return the value if it is in memory."""
        ...

    def get(self, key: KeyIn) -> ValueOut:
        """Return the value; compute it if it is not in memory."""
        ...


class Failed(msgspec.Struct, frozen=True):
    """The failure to load something, in place of its value."""

    error: CachelogError


class NotLoaded(BaseException):
    """Raised if a value has to be loaded, or work takes long, and the request may not wait for it.

    ``cache`` and ``key`` identify the missing value; ``cache`` is None if the work itself takes
    long. It is not an Exception, so that it leaves the executor immediately instead of becoming a
    field's error.
    """

    def __init__(self, cache: Cache[Any, Any] | None = None, key: Hashable = None) -> None:
        self.cache = cache
        self.key = key
        super().__init__()

    def load(self) -> Any:
        """Load the missing value into memory and return it; raises the errors of its cache."""
        return None if self.cache is None else self.cache.get(self.key)
