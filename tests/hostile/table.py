"""The collection: every named attack."""

from tests.hostile.attack import Attack
from tests.hostile.attacks import adapted, arguments, bodies, cop, crowds, documents, lists, sockets
from tests.hostile.generated import generated_attacks

ATTACKS: tuple[Attack, ...] = (
    *lists.ATTACKS,
    *arguments.ATTACKS,
    *documents.ATTACKS,
    *bodies.ATTACKS,
    *sockets.ATTACKS,
    *crowds.ATTACKS,
    *adapted.ATTACKS,
    *cop.ATTACKS,
    *generated_attacks(),
)
