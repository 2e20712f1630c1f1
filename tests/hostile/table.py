"""All attacks, by group."""

from tests.hostile.attack import Attack
from tests.hostile.attacks import (
    arguments,
    crowds,
    documents,
    explained,
    histories,
    lists,
    lookups,
    pages,
    repeated,
    sockets,
    transfers,
)

GROUPS: dict[str, tuple[Attack, ...]] = {
    "large answers from small texts": lists.ATTACKS,
    "the same work many times": repeated.ATTACKS,
    "expensive arguments": arguments.ATTACKS,
    "causes, paths and coverage": explained.ATTACKS,
    "histories": histories.ATTACKS,
    "lookups and rules": lookups.ATTACKS,
    "documents and headers hard to read": documents.ATTACKS,
    "connections and framing": sockets.ATTACKS,
    "pages and feeds": pages.ATTACKS,
    "transfers": transfers.ATTACKS,
    "crowds": crowds.ATTACKS,
    "the largest that is accepted": repeated.LARGEST,
}

ATTACKS: tuple[Attack, ...] = tuple(attack for group in GROUPS.values() for attack in group)
