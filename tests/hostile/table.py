"""All attacks."""

from tests.hostile.attack import Attack
from tests.hostile.attacks import (
    arguments,
    crowds,
    documents,
    lookups,
    pages,
    repeated,
    sockets,
    transfers,
)

ATTACKS: tuple[Attack, ...] = (
    *repeated.ATTACKS,
    *arguments.ATTACKS,
    *lookups.ATTACKS,
    *documents.ATTACKS,
    *sockets.ATTACKS,
    *pages.ATTACKS,
    *transfers.ATTACKS,
    *crowds.ATTACKS,
    *repeated.LARGEST,
)
