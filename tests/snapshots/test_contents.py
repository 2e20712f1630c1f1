"""The digest of a content, and its rows."""

from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from snapshots.contents import Content, PackageContent
from snapshots.models import SHOWN_FACTS, SPEC_FACTS, Dependency, Fact, Spec
from snapshots.tables import SPEC_ROWS
from tests.snapshots.factories import SPECS, a_spec, full_spec, hash_of

FIRST_FACTS = ("size", "tarball", "namespace", "package_hash", "dependencies")
NEWER_FACTS = {
    name: None
    for name, fact in SPEC_FACTS.items()
    if fact.may_be_unknown and name not in FIRST_FACTS
}
"""The facts that the first release did not have, with unknown values."""


def digest(*specs: Spec) -> str:
    """Return the digest of the content of some specs."""
    return Content.of(specs).digest


@given(SPECS, st.randoms())
def test_digest_does_not_depend_on_order(specs: list[Spec], random: Random) -> None:
    """The order of the specs does not change the digest."""
    assert digest(*sorted(specs, key=lambda _: random.random())) == digest(*specs)


@pytest.mark.parametrize("fact", SHOWN_FACTS.values(), ids=SHOWN_FACTS)
def test_digest_changes_with_every_fact(fact: Fact) -> None:
    """The digest covers every fact of a spec that is shown."""
    assert digest(replace(full_spec(), **{fact.name: fact.value_type()})) != digest(full_spec())


@pytest.mark.parametrize(
    "edge",
    [
        Dependency("other", hash_of("zlib"), ("build",), ("c",)),
        Dependency("zlib", hash_of("other"), ("build",), ("c",)),
        Dependency("zlib", hash_of("zlib"), ("link",), ("c",)),
        Dependency("zlib", hash_of("zlib"), ("build",), ()),
    ],
)
def test_digest_changes_with_every_fact_of_a_dependency(edge: Dependency) -> None:
    """The digest covers the types and virtuals of edges."""
    zlib = Dependency("zlib", hash_of("zlib"), ("build",), ("c",))
    assert digest(a_spec(dependencies=(edge,))) != digest(a_spec(dependencies=(zlib,)))


@pytest.mark.parametrize("fact", [fact for fact in SHOWN_FACTS.values() if fact.may_be_unknown])
def test_digest_distinguishes_unknown_facts_from_empty_ones(fact: Fact) -> None:
    """An unknown fact differs from one that is zero or empty."""
    assert digest(a_spec(**{fact.name: fact.value_type()})) != digest(a_spec())


def test_digest_does_not_depend_on_spelling() -> None:
    """A content that Spack wrote in another way is the same content."""
    assert digest(a_spec(spelling=("target={}",))) == digest(a_spec())


def test_digests_are_stable() -> None:
    """Digests identify contents permanently: these are from the first release."""
    assert digest() == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert digest(a_spec()) == "63e8fdfd7262b9921851aa8d436d21a2d56394244c9e93a03589d2fc66e201e2"
    assert (
        digest(full_spec("a", **NEWER_FACTS), full_spec("b", name="zlib", **NEWER_FACTS))
        == "91e3a15bd2c1ab3e3e06da751a89c81bbea8510f4550e9c52312e0be4fc27c1f"
    )


@given(SPECS, SPECS)
def test_facts_of_a_content(specs: list[Spec], outside: list[Spec]) -> None:
    """Counts, stacks and sizes are those of the specs, sorted, without those outside the cache."""
    content = Content.of(specs, outside)
    assert len(content) == len(specs)
    assert list(content.specs()) == sorted(specs, key=lambda spec: (spec.name, spec.hash))
    assert list(content.packages) == sorted({spec.name for spec in specs})
    assert content.stacks == {stack for spec in specs for stack in spec.stacks}
    sizes = [spec.size for spec in specs if spec.size is not None]
    assert content.total_size() == (sum(sizes) if sizes else None)


def test_packages_without_specs_are_left_out() -> None:
    """A page without specs adds no package."""
    hdf5 = PackageContent([a_spec()])
    assert list(Content({"zlib": PackageContent([]), "hdf5": hdf5}).packages) == ["hdf5"]


@given(SPECS)
def test_table(specs: list[Spec]) -> None:
    """The table has every fact of every spec, sorted by package and hash."""
    content = Content.of(specs)
    table = content.table()
    assert table.schema == SPEC_ROWS
    rows = [msgspec.to_builtins(spec) for spec in content.specs()]
    fields = Dependency.__struct_fields__
    for row in rows:
        if row["dependencies"] is not None:
            row["dependencies"] = [dict(zip(fields, it, strict=True)) for it in row["dependencies"]]
    rows = msgspec.json.decode(msgspec.json.encode(rows))
    assert table.to_pylist() == [{**row, "in_cache": True} for row in rows]


OUTSIDE = [
    full_spec("gcc", name="gcc", stacks=(), size=None, **NEWER_FACTS),
    a_spec("glibc", name="glibc"),
]


def test_digest_covers_specs_outside_the_cache() -> None:
    """It covers their facts, not their order, and differs from that of the same specs inside."""
    digest_of_both = Content.of([a_spec()], OUTSIDE).digest
    assert Content.of([a_spec()], OUTSIDE[::-1]).digest == digest_of_both
    others = [
        Content.of([a_spec()]),
        Content.of([a_spec(), *OUTSIDE]),
        Content.of([a_spec()], OUTSIDE[:1]),
        Content.of([a_spec()], [OUTSIDE[0], replace(OUTSIDE[1], version="2")]),
    ]
    assert len({digest_of_both, *(content.digest for content in others)}) == 5
    assert digest_of_both == "52f7b78228fecd4c770c509324ebaf563fe6db279dcede18f2cffc2eac7b2194"
