"""Draws of two states, the later one made of the earlier one by edits as a week brings them."""

from typing import Any, NamedTuple

from hypothesis import strategies as st

from tests.snapshots.changes.oracle.builds import Build, Need, as_pages_tell, state_of
from tests.snapshots.changes.oracle.states import State

_FACTS: dict[str, st.SearchStrategy[Any]] = {
    "name": st.sampled_from(("a", "b", "c", "gcc", "mpich")),
    "version": st.sampled_from(("1.0", "1.1", "1.10", "2rc1", "develop")),
    "recipe": st.sampled_from(("r1", "r1", "r2", "r2", None)),
    "namespace": st.sampled_from((*["builtin"] * 6, "mine", None)),
    "variants": st.sampled_from(
        ((), ("+shared",), ("~shared",), ("+mpi", "+shared"), ("+shared", "build_type=Release"))
    ),
    "machine": st.sampled_from(
        (("ubuntu22.04", "zen4"), ("ubuntu22.04", "neoverse_v2"), ("rhel8", "zen4"))
    ),
    "stacks": st.sampled_from(
        (("e4s", "root"), ("hep", "root"), ("e4s", "hep", "root"), ("root",), ())
    ),
    "compiler": st.sampled_from((None, "gcc@12.3.0", "gcc@13.2.0", "clang@16.0.6")),
    "place": st.sampled_from((*["cache"] * 6, "stated", "named")),
    "is_told": st.sampled_from((*[True] * 7, False)),
}

_NUMBERS = st.integers(0, 7)
_NEEDS = st.lists(
    st.builds(
        Need,
        _NUMBERS,
        st.sampled_from((("build", "link"), ("build",), ("run",))),
        st.sampled_from(((), (), ("mpi",), ("c",), ("c", "mpi"))),
    ),
    max_size=3,
).map(tuple)
_BUILDS = st.builds(Build, **_FACTS, needs=_NEEDS)
_ALIKE = st.builds(
    Build,
    **{**_FACTS, "name": st.sampled_from(("a", "a", "b")), "place": st.just("cache")},
    needs=_NEEDS,
)


class Edit(NamedTuple):
    """A new value of one fact of the build of a number, around the list, or of all of them."""

    fact: str
    value: Any
    number: int | None


_VALUES = st.one_of(
    *(st.tuples(st.just(name), values) for name, values in _FACTS.items()),
    st.tuples(st.just("needs"), _NEEDS),
    st.tuples(st.just("place"), st.just("gone")),
    st.tuples(st.just("provider"), _NUMBERS),
)
_EDITS = st.builds(
    lambda value, number: Edit(value[0], value[1], number),
    _VALUES,
    st.sampled_from((0, 0, *range(7), None)),
)


def edited(builds: list[Build], edit: Edit) -> list[Build]:
    """Return the builds with an edit made; ``provider`` is what the first need is met by."""
    chosen = None if edit.number is None else edit.number % len(builds)
    return [
        _changed(build, edit) if chosen in (None, number) else build
        for number, build in enumerate(builds)
    ]


def _changed(build: Build, edit: Edit) -> Build:
    if edit.fact != "provider":
        return build._replace(**{edit.fact: edit.value})
    first = [it._replace(number=edit.value) for it in build.needs[:1]]
    return build._replace(needs=(*first, *build.needs[1:]))


@st.composite
def weeks(draw: st.DrawFn) -> tuple[State, State]:
    """Draw the states of a cache before and after a week."""
    builds = draw(st.lists(_BUILDS, min_size=1, max_size=7))
    later = builds
    for edit in draw(st.lists(_EDITS, max_size=4)):
        later = edited(later, edit)
    later = later + draw(st.lists(_BUILDS, max_size=1))
    cycles = draw(st.sampled_from((False, False, True)))
    base, head = (state_of(it, cycles=cycles) for it in (builds, later))
    of_pages = draw(st.sampled_from((*[""] * 7, "both", "base", "head")))
    if of_pages in ("both", "base"):
        base = as_pages_tell(base)
    if of_pages in ("both", "head"):
        head = as_pages_tell(head)
    return base, head


@st.composite
def crowds(draw: st.DrawFn) -> tuple[State, State]:
    """Draw two states of few packages with many specs each, none of which is in both."""
    base = draw(st.lists(_ALIKE, max_size=9))
    head = draw(st.lists(_ALIKE, max_size=9))
    return state_of([it._replace(recipe="r1") for it in base]), state_of(
        [it._replace(recipe="r2") for it in head]
    )
