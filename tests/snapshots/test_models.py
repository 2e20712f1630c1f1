"""The records of the domain, and the declarations of their facts."""

from datetime import UTC, datetime, timedelta, timezone
from typing import get_type_hints

import pytest
from msgspec.structs import replace

from snapshots import models
from snapshots.frames.frame import Frame
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
    assert models.utc(moment).isoformat() == "2025-03-30T12:00:00+00:00"


def test_refs_of_revisions() -> None:
    """A ref says tag, time and content, and depends on nothing else, not even on the import."""
    line = a_revision("develop", 1, "a")
    assert line.ref == f"develop@{line.taken_at.date()}.{line.digest[:8]}"
    assert replace(line, published_at=day(9), num_specs=7).ref == line.ref
    others = [
        replace(line, tag="main"),
        replace(line, taken_at=day(2)),
        replace(line, digest=digest_of("b")),
    ]
    assert len({line.ref, *(other.ref for other in others)}) == 4


@pytest.mark.parametrize(
    ("clock", "shown"),
    [
        ({}, ""),
        ({"hours": 10}, "T1000"),
        ({"minutes": 5}, "T0005"),
        ({"seconds": 9}, "T000009"),
        ({"hours": 12, "minutes": 5, "seconds": 59}, "T120559"),
        ({"microseconds": 123_400}, "T000000123400"),
    ],
)
def test_time_of_day_in_a_ref(clock: dict[str, int], shown: str) -> None:
    """It is as exact as the time of the revision, and omitted at midnight."""
    moment = datetime(2025, 3, 30, tzinfo=UTC) + timedelta(**clock)
    assert models.exact_ref("a", moment, "0123456789") == f"a@2025-03-30{shown}.01234567"


# -- facts


def test_own_facts_are_distinct_in_rank() -> None:
    """Each but the dependencies is a kind of cause, and a fact of required specs."""
    ranks = [fact.rank for fact in models.SPEC_FACTS.values() if fact.rank]
    assert len(ranks) == len(set(ranks)) == len(models.OWN_FACTS)
    causeless = [name for name, fact in models.OWN_FACTS.items() if fact.cause is None]
    assert causeless == ["dependencies"]
    assert set(models.OWN_COLUMNS) <= set(models.ConcreteSpec.__struct_fields__)


def test_declared_columns_of_a_frame_exist() -> None:
    """The columns that a frame declares for type checkers are those of the facts."""
    table = SPECS.empty_table()
    frame = Frame(table, "")
    for name, declared in get_type_hints(Frame).items():
        assert type(getattr(frame, name)) is getattr(declared, "__origin__", declared)
    assert set(frame.columns) == set(models.SPEC_FACTS) - {"dependencies"}


def test_stack_of_a_revision() -> None:
    """Its content and ref name the revision and the stack; the revision is unchanged."""
    revision = a_revision("develop", 1)
    stack = models.StackInfo.uncounted(revision, "e4s")
    assert (stack.name, revision.name) == ("develop:e4s", "develop")
    assert stack.revision == revision
    assert models.is_revision(revision)
    assert not models.is_revision(stack)
    assert models.stack_of_content(stack.content) == (revision.digest, "e4s")
    assert models.stack_of_content(revision.content) == (revision.digest, None)
    assert models.stack_of_content(models.content_of_stack(revision.digest, "")) == (
        revision.digest,
        "",
    )
    assert stack.ref == f"{revision.ref}:e4s"
    own = {"ref": stack.ref, "stack": "e4s"}
    assert models.revision_facts(stack) == models.revision_facts(revision) | own


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
    assert models.Source(kind="index", location=location, importer="x").public_location == public
