"""Keep lists and the specs that are not on them, compared with sets of specs."""

from collections.abc import Collection, Sequence
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from hypothesis import given

from snapshots.catalog.catalog import Catalog
from snapshots.catalog.keep_lists import keep_list, rest_of
from snapshots.catalog.library import Library
from snapshots.contents import Content, Snapshot
from snapshots.models import Spec
from tests.expensive import examples
from tests.model import questions
from tests.model.builds import Build, Need, state_of
from tests.model.states import State, stacks_of
from tests.snapshots.factories import SOURCE, day, hash_of, seeded


def _states(random: Random) -> list[State]:
    """Return a few states that share specs."""
    builds = [
        Build(
            name=random.choice("abc"),
            recipe=f"r{number}",
            machine=("ubuntu22.04", random.choice(("zen3", "zen4"))),
            stacks=random.choice((("e4s", "root"), ("e4s", "hep"), ("root",), ())),
            needs=tuple(Need(number - random.randint(1, 3)) for _ in range(random.randrange(3)))
            if number
            else (),
        )
        for number in range(random.randrange(1, 8))
    ]
    places = ("cache", "cache", "stated", "named")
    return [
        state_of([build._replace(place=random.choice(places)) for build in builds])
        for _ in range(random.randrange(1, 4))
    ]


class Cache:
    """A catalog of states, by digest."""

    def __init__(self, folder: Path, states: Sequence[State]) -> None:
        catalog = Catalog(str(folder))
        contents = []
        for state in states:
            outside = [spec for digest, spec in state.nodes.items() if digest not in state.specs]
            contents.append(Content.of(state.specs.values(), outside))
        catalog.publish(
            Snapshot(tag="develop", content=content, source=SOURCE, taken_at=day(number))
            for number, content in enumerate(contents)
        )
        catalog.refresh()
        self.library = Library(catalog)
        self.digests = [content.digest for content in contents]


def cells(specs: Collection[Spec]) -> set[tuple[str, str, str]]:
    """Return the package, stack and target of each spec."""
    return {(spec.name, stack, spec.target) for spec in specs for stack in stacks_of(spec) or {""}}


@examples(50, in_suite=5)
@given(seeded(_states))
def test_keep_list_agrees_with_sets(states: list[State]) -> None:
    """The hashes of the first state, and the specs of all states that remain."""
    first = states[0]
    locked = {hash_of("locked"), *sorted(states[-1].specs)[:1]}
    with TemporaryDirectory() as folder:
        cache = Cache(Path(folder), states)
        shallow = keep_list(cache.library, cache.digests[:1], locked).hashes
        assert shallow == {*first.specs, *locked}
        listed = keep_list(cache.library, cache.digests[:1], whole=True)
        whole = listed.hashes
        below = (questions.reached(first, digest) for digest in first.specs)
        assert whole == {*first.specs}.union(*below)
        silent = [spec for spec in first.specs.values() if spec.dependencies is None]
        assert listed.num_unknown == len(silent)
        for hashes in (shallow, whole, set()):
            rest = rest_of(cache.library, cache.digests, hashes)
            every = [spec for state in states for spec in state.specs.values()]
            dropped = [spec for spec in every if spec.hash not in hashes]
            remaining = [spec for spec in every if spec.hash in hashes]
            assert set(rest.hashes) == {spec.hash for spec in dropped}
            assert rest.cells == sorted(cells(dropped) - cells(remaining))
            assert (rest.size, rest.num_unknown) == (None, len(rest.hashes))
