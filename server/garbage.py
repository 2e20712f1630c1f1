"""The garbage collector, kept from stopping a server for long.

A full collection of Python's looks at all objects there are, with every thread waiting: 0.1 s and
more where caches are full, several times a second where many requests are new. Next to nothing of
what it sees has become garbage, because what is kept refers to itself nowhere and is freed at once.
So whatever survives a full collection is set aside, and the next one looks at what is new alone.
"""

import gc
from typing import Any

_FULL = 2
"""The generation of a full collection."""

_OF_EVERYTHING = 64
"""Every so many full collections one looks at what was set aside, too."""


class ShortCollections:
    """Sets aside what survives a full collection.

    What becomes garbage later waits until every ``of_everything``-th collection, which looks at all
    of it: few objects of requests that were under way.
    """

    def __init__(self, of_everything: int = _OF_EVERYTHING) -> None:
        self._of_everything = of_everything
        self._number = 0

    def begin(self) -> None:
        """Collect all garbage, and keep collections short from now on."""
        gc.collect()
        gc.freeze()
        gc.callbacks.append(self)

    def end(self) -> None:
        """Let the collector do as it always does."""
        gc.callbacks.remove(self)
        gc.unfreeze()

    def __call__(self, phase: str, info: dict[str, Any]) -> None:
        """Take note of a collection, as Python's ``gc.callbacks`` tell of it."""
        if phase == "stop" and info["generation"] == _FULL:
            self._number += 1
            if self._number % self._of_everything:
                gc.freeze()
            else:
                gc.unfreeze()  # the next one looks at everything
