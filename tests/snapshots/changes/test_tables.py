"""Tables of changes: order, positions, records and memory."""

from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from snapshots.changes.diff import SpecChangeKind
from snapshots.changes.package_changes import PackageChangeKind
from snapshots.changes.pairings import CommonNames
from snapshots.models import Spec
from snapshots.spack.names import natural_key
from tests.expensive import FEWER_EXAMPLES
from tests.snapshots.changes.states import compare, pairs

SLICES = st.slices(9)


@FEWER_EXAMPLES
@given(pairs(), st.sampled_from([None, "added", "changed", "rebuilt"]), SLICES)
def test_table_as_a_sequence(
    states: tuple[list[Spec], list[Spec]], kind: str | None, rows: slice
) -> None:
    """Selections, slices, negative indices, counts and positions of names are those of a list."""
    comparison = compare(*states)
    tables: list[tuple[Any, Any, str]] = [
        (comparison.specs, SpecChangeKind, "hash"),
        (comparison.packages, PackageChangeKind, "name"),
        (comparison.stacks, (), "name"),
    ]
    for full_table, kinds, name in tables:
        chosen = [kind_ for kind_ in kinds if kind_.value == kind]
        is_part = bool(kinds) and kind is not None
        table = full_table.select(chosen) if is_part else full_table
        records = list(table)
        assert records == [record for record in full_table if not is_part or record.kind in chosen]
        assert len(table) == len(records)
        assert list(table[rows]) == records[rows]
        assert [table[-1 - index] for index in range(len(records))] == records[::-1]
        numbers = Counter(record.kind for record in records)
        assert [table.count(kind_) for kind_ in kinds] == [numbers[kind_] for kind_ in kinds]
        indices = {getattr(record, name): index for index, record in enumerate(records)}
        for key in {"nope", *(getattr(record, name) for record in full_table)}:
            assert table.find(key) == indices.get(key)


@given(
    st.lists(st.sampled_from(["lib2", "lib10", "lib010", "Zlib", "a-b", "a2"]), unique=True),
    st.lists(st.sampled_from(["lib2", "lib10", "lib010", "Zlib", "root", "b"]), unique=True),
)
def test_common_names(base: list[str], head: list[str]) -> None:
    """Each name of both sides has one position, and the maps are inverse."""
    common = CommonNames(base, head, frozenset({"root"}))
    expected = sorted({*base, *head} - {"root"}, key=lambda name: (natural_key(name), name))
    assert common.names == expected
    sides = ((base, common.from_base, common.in_base), (head, common.from_head, common.in_head))
    for names, indices, inverse in sides:
        assert [expected[index] if index >= 0 else "root" for index in indices.tolist()] == names
        assert [names[index] if index >= 0 else None for index in inverse.tolist()] == [
            name if name in names else None for name in expected
        ]
    assert common.by_text().tolist() == [sorted(expected).index(name) for name in expected]
    assert [common.place_of(name) for name in ("root", *expected)] == [-1, *range(len(expected))]
