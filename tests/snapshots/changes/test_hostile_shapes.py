"""Explanations of extreme graphs, which Spack does not create."""

from collections.abc import Sequence

from snapshots.changes.diff import SpecChangeKind
from snapshots.models import Dependency, Spec
from tests.model.changes import Cause, Kind
from tests.model.explained import Explained
from tests.model.states import State
from tests.snapshots.factories import a_spec, hash_of

ADDED = SpecChangeKind.ADDED

MANY = 2_000
DEEP = 1_500


class Week:
    """The two sides of a comparison, filled node by node; no hash is on both sides."""

    def __init__(self) -> None:
        self._specs: tuple[list[Spec], list[Spec]] = [], []

    def add(
        self, name: str, needs: Sequence[str] = (), label: str = "", recipes: Sequence[str] = "rr"
    ) -> None:
        """Add a node to both sides, with a name, a label and the recipe of each side.

        ``needs`` are the names and labels of its dependencies, which may be absent.
        """
        for side, specs in enumerate(self._specs):
            edges = [self._edge(need, side) for need in needs]
            specs.append(
                a_spec(
                    f"{name} {label} {side}",
                    name=name,
                    compiler=None,
                    package_hash=recipes[side],
                    dependencies=tuple(sorted(edges)),
                )
            )

    @staticmethod
    def _edge(need: str, side: int) -> Dependency:
        name, _, label = need.partition(" ")
        return Dependency(name, hash_of(f"{name} {label} {side}"), ("build",))

    def explained(self) -> Explained:
        """Return the explanation of the two sides."""
        base, head = self._specs
        return Explained(State(base), State(head))


def test_deep_chain() -> None:
    """A chain of thousands of dependencies is followed to its end."""
    week = Week()
    week.add("p0", recipes="rs")
    for number in range(1, DEEP):
        week.add(f"p{number}", [f"p{number - 1}"])
    explained = week.explained()
    assert explained.num_specs == {Cause(Kind.RECIPE, "p0"): DEEP}
    top = hash_of(f"p{DEEP - 1}  1")
    assert len(explained.path(top)) == DEEP


def test_exponential_number_of_paths() -> None:
    """Two to the power of hundreds of paths to one cause are not walked one by one."""
    week = Week()
    week.add("left0", recipes="rs")
    week.add("right0", recipes="rs")
    for number in range(1, 300):
        below = [f"left{number - 1}", f"right{number - 1}"]
        week.add(f"left{number}", below)
        week.add(f"right{number}", below)
    explained = week.explained()
    assert set(explained.num_involved.values()) == {599}
    assert sum(explained.num_specs.values()) == 600
    assert len(explained.path(hash_of("left299  1"))) == 300


def test_thousands_of_equal_specs() -> None:
    """Equal specs of one package are paired by their hashes."""
    week = Week()
    for number in range(MANY):
        week.add("hdf5", ["zlib"], label=str(number))
    week.add("zlib", recipes="rs")
    explained = week.explained()
    base, head = (
        sorted(hash_of(f"hdf5 {number} {side}") for number in range(MANY)) for side in (0, 1)
    )
    zlib = {hash_of("zlib  1"): hash_of("zlib  0")}
    assert explained.counterparts(ADDED) == dict(zip(head, base, strict=True)) | zlib
    assert explained.num_specs == {Cause(Kind.RECIPE, "zlib"): MANY + 1}


def test_thousands_of_equal_dependencies() -> None:
    """A spec with thousands of dependencies of one name has the causes of each of them."""
    week = Week()
    labels = [str(number) for number in range(2_000)]
    week.add("top", [f"zlib {label}" for label in labels])
    for label in labels:
        week.add("zlib", label=label, recipes="rs")
    explained = week.explained()
    assert explained.num_specs == {Cause(Kind.RECIPE, "zlib"): 2_001}


def test_thousands_of_connected_causes() -> None:
    """Each of thousands of connected causes is counted for all specs above it."""
    week = Week()
    week.add("p0", recipes="rs")
    for number in range(1, DEEP):
        week.add(f"p{number}", [f"p{number - 1}"], recipes="rs")
    explained = week.explained()
    assert set(explained.num_specs.values()) == {1}
    assert sum(explained.num_involved.values()) == DEEP * (DEEP + 1) // 2
