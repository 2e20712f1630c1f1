"""Made-up pasts: small contents that come, go and come back in several series."""

from collections.abc import Sequence
from random import Random
from typing import Any

from hypothesis import strategies as st
from msgspec.structs import replace

from snapshots.contents import Content
from snapshots.history import History
from snapshots.models import Spec
from tests.model.histories import Past
from tests.snapshots.factories import NAMES, a_revision, hash_of, random_facts, seeded

TAGS = ("develop", "develop-2025-01-05", "develop-2025-01-12", "v0.9", "v0.21", "v0.22", "main")

HASHES = [hash_of(str(number)) for number in range(14)]
"""The hashes that a made-up past can hold."""

_NAMES_BELOW = {hash_of(text): name for text, name in zip("abc", NAMES, strict=False)}


def a_past(*lines: tuple[str, int, Sequence[Spec]]) -> Past:
    """Return the past in which tags were seen, on days, in states."""
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
    by_digest = {it.digest: list(it.specs()) for it in contents}
    return Past(History(revisions), by_digest)


def _made_up(random: Random) -> Past:
    """Return some contents and some revisions of them; each hash is of one package for ever."""
    states: list[list[Spec]] = [[], _state(random, [])]
    for _ in range(random.randrange(5)):
        states.append(_state(random, random.choice(states)))
    tags = random.sample(TAGS, random.randrange(1, 4))
    lines = [
        (random.choice(tags), day, random.choice(states)) for day in range(random.randrange(1, 12))
    ]
    return a_past(*lines)


def _state(random: Random, before: Sequence[Spec]) -> list[Spec]:
    """Return a state that resembles another one."""
    specs = {spec.hash: spec for spec in before}
    for number, text in enumerate(HASHES):
        name = NAMES[number % 4]
        what = random.random()
        if what < 0.2:
            specs.pop(text, None)
        elif what < 0.5 and text not in specs:
            facts = _facts(random) | {"name": name}
            specs[text] = Spec(hash=text, **facts)
        elif what < 0.6 and text in specs:
            fact, value = random.choice(sorted(_facts(random).items(), key=lambda it: it[0]))
            if fact != "name":
                specs[text] = replace(specs[text], **{fact: value})
    return list(specs.values())


def _facts(random: Random) -> dict[str, Any]:
    """Return facts of a spec; dependencies of one hash have one name, as a hash covers names."""
    facts = random_facts(random)
    edges = facts["dependencies"] or ()
    if edges:
        named = (replace(edge, name=_NAMES_BELOW[edge.hash]) for edge in edges)
        facts["dependencies"] = tuple(sorted(named))
    return facts


PASTS: st.SearchStrategy[Past] = seeded(_made_up)
"""Any sequence of contents, several series, the same digests again and again."""
