"""Generated pasts: small contents that are added, removed and return in several series."""

from collections.abc import Sequence
from random import Random
from typing import Any

from hypothesis import strategies as st
from msgspec.structs import replace

from snapshots.contents import Content
from snapshots.history import History
from snapshots.models import Spec
from tests.model.histories import HistoryQueries
from tests.snapshots.factories import NAMES, a_revision, hash_of, random_facts, seeded

TAGS = ("develop", "develop-2025-01-05", "develop-2025-01-12", "v0.9", "v0.21", "v0.22", "main")

HASHES = [hash_of(str(number)) for number in range(14)]
"""The hashes that a generated past can contain."""

_NAMES_BELOW = {hash_of(text): name for text, name in zip("abc", NAMES, strict=False)}


def a_past(*lines: tuple[str, int, Sequence[Spec]]) -> HistoryQueries:
    """Return the past of tags, days and their specs."""
    contents = [Content.of(specs) for _, _, specs in lines]
    revisions = [
        replace(
            a_revision(tag, taken),
            digest=content.digest,
            num_specs=len(content),
            num_stacks=content.summary().num_stacks,
        )
        for (tag, taken, _), content in zip(lines, contents, strict=True)
    ]
    by_digest = {content.digest: list(content.specs()) for content in contents}
    return HistoryQueries(History(revisions), by_digest)


def _random_past(random: Random) -> HistoryQueries:
    """Return a few contents and their revisions; each hash belongs to one package."""
    states: list[list[Spec]] = [[], _state(random, [])]
    for _ in range(random.randrange(5)):
        states.append(_state(random, random.choice(states)))
    tags = random.sample(TAGS, random.randrange(1, 4))
    lines = [
        (random.choice(tags), day, random.choice(states)) for day in range(random.randrange(1, 12))
    ]
    return a_past(*lines)


def _state(random: Random, before: Sequence[Spec]) -> list[Spec]:
    """Return the specs of a state that resembles another one."""
    specs = {spec.hash: spec for spec in before}
    for number, text in enumerate(HASHES):
        name = NAMES[number % 4]
        draw = random.random()
        if draw < 0.2:
            specs.pop(text, None)
        elif draw < 0.5 and text not in specs:
            facts = _facts(random) | {"name": name}
            specs[text] = Spec(hash=text, **facts)
        elif draw < 0.6 and text in specs:
            fact, value = random.choice(sorted(_facts(random).items(), key=lambda item: item[0]))
            if fact != "name":
                specs[text] = replace(specs[text], **{fact: value})
    return list(specs.values())


def _facts(random: Random) -> dict[str, Any]:
    """Return facts of a spec; dependencies with one hash have one name, as hashes cover names."""
    facts = random_facts(random)
    edges = facts["dependencies"] or ()
    if edges:
        named = (replace(edge, name=_NAMES_BELOW[edge.hash]) for edge in edges)
        facts["dependencies"] = tuple(sorted(named))
    return facts


PASTS: st.SearchStrategy[HistoryQueries] = seeded(_random_past)
"""Any sequence of contents in several series, with repeated digests."""
