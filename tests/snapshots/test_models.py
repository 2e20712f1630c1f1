"""The records of the domain, and the declarations of their facts."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Annotated, get_type_hints

import msgspec
import pyarrow as pa
import pytest
from msgspec.structs import replace

from snapshots.frames.frame import Frame
from snapshots.models import (
    ARCHITECTURE,
    OWN_COLUMNS,
    OWN_FACTS,
    SPEC_FACTS,
    ConcreteSpec,
    Encoding,
    Fact,
    Source,
    Spec,
    StackInfo,
    content_of_stack,
    facts_of,
    is_revision,
    revision_facts,
    stack_of_content,
    stack_of_key,
    utc,
)
from snapshots.tables import SPECS
from tests.snapshots.factories import a_revision, a_spec, day, digest_of


def test_short_form() -> None:
    """A spec has a short form."""
    assert a_spec().short == "hdf5@1.14.5+mpi~cxx arch=linux-ubuntu22.04-x86_64_v3 %gcc@13.2.0"


@pytest.mark.parametrize(
    "moment",
    [
        datetime(2025, 3, 30, 12),
        datetime(2025, 3, 30, 12, tzinfo=UTC),
        datetime(2025, 3, 30, 14, tzinfo=timezone(timedelta(hours=2))),
    ],
)
def test_utc(moment: datetime) -> None:
    """A moment is converted to UTC; one without a zone is in UTC already."""
    assert utc(moment).isoformat() == "2025-03-30T12:00:00+00:00"


def test_keys_of_revisions() -> None:
    """A key depends on tag, time and content alone, not on the import."""
    line = a_revision("develop", 1, "a")
    assert replace(line, published_at=day(9), num_specs=7).key == line.key
    others = [
        replace(line, tag="main"),
        replace(line, taken_at=day(2)),
        replace(line, digest=digest_of("b")),
    ]
    assert len({line.key, *(other.key for other in others)}) == 4
    assert line.key == "aa7d17f726b42812fe"


# -- facts


class Record(msgspec.Struct, kw_only=True):
    """A record with a fact of each kind.

    - name: A name.
    - flags: Flags.
    - count: A number.
    """

    name: Annotated[str, Fact(encoding=Encoding.PLAIN)]
    flags: Annotated[tuple[bool, ...] | None, Fact()]
    count: Annotated[int | None, Fact(sort_key=abs, is_compared=False)] = None


def test_facts_describe_their_fields() -> None:
    """Name, type and whether None is allowed are those of the field; the rest is as declared."""
    assert list(facts_of(Record).values()) == [
        Fact(encoding=Encoding.PLAIN, name="name", description="A name.", value_type=str),
        Fact(name="flags", description="Flags.", value_type=tuple[bool, ...], is_optional=True),
        Fact(
            sort_key=abs,
            is_compared=False,
            name="count",
            description="A number.",
            value_type=int,
            is_optional=True,
            may_be_unknown=True,
        ),
    ]


def test_every_field_of_a_spec_is_a_fact() -> None:
    """Each has a description that is a sentence, and their order is that of the record."""
    assert tuple(SPEC_FACTS) == Spec.__struct_fields__
    assert all(fact.description.endswith((".", "...")) for fact in SPEC_FACTS.values())


def test_facts_that_may_be_unknown_come_last() -> None:
    """The digest includes the names of these facts alone: a new unknown fact changes no digest."""
    unknown = [fact.may_be_unknown for fact in SPEC_FACTS.values()]
    assert unknown == sorted(unknown)


def test_own_facts_are_distinct_in_rank() -> None:
    """Each but the dependencies is a kind of cause, a column, and a fact of required specs."""
    ranks = [fact.rank for fact in SPEC_FACTS.values() if fact.rank]
    assert len(ranks) == len(set(ranks)) == len(OWN_FACTS)
    assert [name for name, fact in OWN_FACTS.items() if fact.cause is None] == ["dependencies"]
    assert all(OWN_FACTS[name].encoding is Encoding.CODES for name in OWN_COLUMNS)
    assert set(OWN_COLUMNS) <= set(ConcreteSpec.__struct_fields__)
    assert ARCHITECTURE == ("platform", "operating_system", "target")


def test_columns_of_the_store() -> None:
    """Texts, numbers, lists and records have the corresponding types of Arrow."""
    texts = pa.list_(pa.string())
    edge = [("name", pa.string()), ("hash", pa.string()), ("types", texts), ("virtuals", texts)]
    assert SPECS.field("compiler").type == pa.string()
    assert SPECS.field("size").type == pa.int64()
    assert SPECS.field("variants").type == texts
    assert SPECS.field("dependencies").type == pa.list_(pa.struct(edge))
    assert SPECS.field("in_cache").type == pa.bool_()


def test_declared_columns_of_a_frame_exist() -> None:
    """The columns that a frame declares for type checkers are those of the facts."""
    table = SPECS.empty_table()
    frame = Frame(table, "")
    for name, declared in get_type_hints(Frame).items():
        assert type(getattr(frame, name)) is getattr(declared, "__origin__", declared)
    assert set(frame.columns) == set(SPEC_FACTS) - {"dependencies"}


def test_stack_of_a_revision() -> None:
    """Its content and key name the revision and the stack; the revision is unchanged."""
    revision = a_revision("develop", 1)
    stack = StackInfo.uncounted(revision, "e4s")
    assert (stack.name, revision.name) == ("develop:e4s", "develop")
    assert stack.revision == revision
    assert is_revision(revision)
    assert not is_revision(stack)
    assert stack_of_content(stack.content) == (revision.digest, "e4s")
    assert stack_of_content(revision.content) == (revision.digest, None)
    assert stack_of_content(content_of_stack(revision.digest, "")) == (revision.digest, "")
    assert stack_of_key(stack.key) == (revision.key, "e4s")
    assert stack_of_key(revision.key) == (revision.key, None)
    assert revision_facts(stack) == revision_facts(revision) | {"stack": "e4s"}


@pytest.mark.parametrize(
    ("location", "public"),
    [
        ("/home/operator/mirror/build_cache", "build_cache"),
        ("/srv/mirror/", "mirror"),
        ("../caches/e4s", "e4s"),
        ("file:///home/operator/mirror", "mirror"),
        ("folder", "folder"),
        ("https://cache.example/e4s", "https://cache.example/e4s"),
        ("s3://bucket/develop", "s3://bucket/develop"),
        ("git@forge.example:org/pages", "git@forge.example:org/pages"),
        ("demo: 100 packages, seed 0", "demo: 100 packages, seed 0"),
        ("/", "/"),
        ("", ""),
    ],
)
def test_local_paths_are_not_public(location: str, public: str) -> None:
    """Only the last part of a local path is public; URLs are public."""
    assert Source(kind="index", location=location, importer="x").public_location == public
