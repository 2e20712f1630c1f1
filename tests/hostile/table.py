"""The collection: every named attack, by what it is about."""

from tests.hostile.attack import Attack
from tests.hostile.attacks import (
    adapted,
    arguments,
    bodies,
    cop,
    crowds,
    documents,
    explained,
    feeds,
    gates,
    histories,
    lists,
    lookups,
    one_revision,
    pages,
    sockets,
    subscriptions,
    transfers,
)
from tests.hostile.generated import generated_attacks

GROUPS: dict[str, tuple[Attack, ...]] = {
    "large answers from small texts": lists.ATTACKS,
    "expensive arguments": arguments.ATTACKS,
    "causes, paths and coverage": explained.ATTACKS,
    "histories": histories.ATTACKS,
    "lock files": lookups.ATTACKS,
    "lookups and rules": gates.ATTACKS,
    "questions of one revision": one_revision.ATTACKS,
    "documents hard to read": documents.ATTACKS,
    "odd bodies and floods": bodies.ATTACKS,
    "connections and framing": sockets.ATTACKS,
    "feeds": feeds.ATTACKS,
    "pages": pages.ATTACKS,
    "subscriptions": subscriptions.ATTACKS,
    "transfers": transfers.ATTACKS,
    "crowds": crowds.ATTACKS,
    "the largest that is accepted": adapted.ATTACKS,
    "graphql-cop's checks": cop.ATTACKS,
    "drawn from the schema": tuple(generated_attacks()),
}

ATTACKS: tuple[Attack, ...] = tuple(it for attacks in GROUPS.values() for it in attacks)
