"""Tables of changes: order, positions, records and memory."""

import tracemalloc
from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from snapshots.changes.diff import Comparison, SpecChangeKind
from snapshots.changes.package_changes import PackageChangeKind
from snapshots.changes.pairings import CommonNames
from snapshots.models import Spec
from snapshots.notes.changelog import summarize
from snapshots.spack.names import natural_key
from tests.expensive import FEWER_EXAMPLES
from tests.snapshots.changes.states import compare, fields_of, pairs
from tests.snapshots.factories import a_spec
from tests.snapshots.memory import measured
from tests.snapshots.records import frame_of

SLICES = st.slices(9)


def test_order_of_hashes_with_a_common_prefix() -> None:
    """Sorting compares the beginning of hashes first, then all of them."""
    specs = [a_spec(hash="a" * 30 + end) for end in ("bb", "ab", "ba", "aa")]
    changes = [change.hash for change in compare(specs[:2], specs[2:]).specs]
    assert changes == sorted(spec.hash for spec in specs)


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


def test_memory_of_many_stacks() -> None:
    """A matrix of specs by stacks would have a hundred million entries."""
    specs = [a_spec(f"{n}", stacks=(*(f"s{n}-{k}" for k in range(8)),)) for n in range(4_000)]
    base, head = frame_of(specs[:100]), frame_of(specs)
    tracemalloc.start()
    stacks = Comparison(base, head).stacks
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(stacks) == 8 * 3_900
    assert most < 70_000_000


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


def test_size_of_a_comparison() -> None:
    """The estimated size is about the memory that it takes, without that of the frames."""
    facts = [
        {"name": f"package{number % 700}", "version": f"1.{number % 13}", "size": number}
        for number in range(9_000)
    ]
    specs = [a_spec(str(number), **spec_facts) for number, spec_facts in enumerate(facts)]
    common = [
        replace(spec, target="m1" if number % 3 else spec.target)
        for number, spec in enumerate(specs[3_000:6_000])
    ]
    base, head = frame_of(specs[:6_000]), frame_of([*common, *specs[6_000:]])

    def use(comparison: Comparison) -> None:
        summarize(comparison)
        comparison.changed_facts()
        list(comparison.stacks)
        fields_of(comparison)
        comparison.specs.select([SpecChangeKind.ADDED])

    comparison, size = measured(lambda: Comparison(base, head), use)
    own_bytes = comparison.num_bytes - base.num_bytes - head.num_bytes
    assert 0.8 * size <= own_bytes <= 1.25 * size
