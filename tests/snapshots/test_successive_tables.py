"""The tables of contents that follow one another are those of each content alone."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from snapshots.contents import Content, PackageContent, SuccessiveTables
from snapshots.models import Dependency, Spec

_SPEC = Spec(
    hash="a" * 32,
    name="zlib",
    version="1.3",
    compiler=None,
    operating_system="ubuntu24.04",
    platform="linux",
    target="x86_64_v3",
    variants=("+pic", "~shared"),
    stacks=("root",),
    dependencies=(Dependency("gmake", "b" * 32, ("build",)),),
)


def _package(name: str, number: int) -> PackageContent:
    specs = [
        replace(_SPEC, name=name, hash=f"{name}{number}{place}", size=place or None)
        for place in range(number)
    ]
    return PackageContent(specs)


POOL = {name: [_package(name, number) for number in range(4)] for name in "abcdef"}

states = st.dictionaries(st.sampled_from(sorted(POOL)), st.integers(0, 3))


@given(st.lists(st.tuples(states, st.integers(0, 2)), max_size=6))
def test_successive_tables(
    history: Sequence[tuple[dict[str, int], int]],
) -> None:
    """Whatever packages come, stay, change and go, each table is that of its content alone."""
    tables = SuccessiveTables()
    for state, num_outside in history:
        packages = {name: POOL[name][number] for name, number in state.items()}
        outside = [replace(_SPEC, name="gcc", hash=f"gcc{place}") for place in range(num_outside)]
        content = Content(packages, outside)
        table = tables.table(content)
        assert table.equals(content.table())
        specs = [*content.specs(), *outside]
        assert table["hash"].to_pylist() == [spec.hash for spec in specs]
        assert table["in_cache"].to_pylist() == [spec not in outside for spec in specs]
        assert set(table["digest"].to_pylist()) <= {content.digest}
