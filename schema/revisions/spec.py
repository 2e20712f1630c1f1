"""Specs: one built configuration each, as rows of a revision's frame."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeVar

import numpy as np
import strawberry

from schema.context import Context, LoadedRevision
from schema.fields.connections import connection_field
from schema.fields.cost import SPANS_OF_EACH, Cost, texts
from schema.fields.many import LazyList, WhereKnown, column, for_many
from schema.fields.paging import PageArguments
from schema.fields.scalars import ByteCount
from schema.node import Node, in_revision, node_id
from schema.revisions.dependency import (
    WALK,
    DependencyConnection,
    TransitiveArgument,
    TypesArgument,
    dependencies_of,
    dependents_of,
)
from snapshots.catalog.asking.history_questions import ContentAsked
from snapshots.frames.columns import Rows
from snapshots.models import SPEC_FACTS, Fact, Kept, Unit

if TYPE_CHECKING:
    from schema.histories.hash_history import HashHistory
    from schema.revisions.package import Package

LazyHistory = Annotated["HashHistory", strawberry.lazy("schema.histories.hash_history")]

LazyPackage = Annotated["Package", strawberry.lazy("schema.revisions.package")]


def _ids(specs: "SpecRows") -> list[strawberry.ID]:
    key, texts = specs.loaded.info.key, specs.loaded.frame.hashes.texts_at(specs.rows)
    return [node_id("Spec", key, text) for text in texts]


def _versions(specs: "SpecRows") -> list[list[str]]:
    return specs.loaded.frame.version.mapped_at(_list_of_one, specs.rows)


def _list_of_one(value: str) -> list[str]:
    return [value]


def _short_forms(specs: "SpecRows") -> list[str]:
    spec = specs.loaded.frame.spec
    return [spec(row).short for row in specs.rows.tolist()]


def _packages(specs: "SpecRows") -> Sequence["Package"]:
    from schema.revisions.package import PackageRows

    return PackageRows(specs.loaded, specs.loaded.frame.package.codes[specs.rows])


def _histories(specs: "SpecRows") -> WhereKnown:
    from schema.histories.hash_history import HashHistory

    frame, context = specs.loaded.frame, specs.loaded.context
    names = [frame.packages[code] for code in frame.package.codes[specs.rows].tolist()]
    # By packages, whose changes lie together, however few of their specs are asked for.
    told = context.of_each(names, lambda some: ContentAsked(frame.digest, some))
    texts = map(frame.hashes.at, specs.rows.tolist())
    known = [told[name].get(text) for name, text in zip(names, texts, strict=True)]
    found = [HashHistory(known=it) for it in known if it is not None]
    return WhereKnown(found, [it is not None for it in known])


_UNITS = {Unit.BYTES: ByteCount}

Kind = TypeVar("Kind", bound=type)


def _with_fact_fields(cls: Kind) -> Kind:
    """Give a class a field for each fact of a spec but the dependencies, which have arguments."""
    for fact in SPEC_FACTS.values():
        if fact.kept is not Kept.EDGES:
            setattr(
                cls,
                fact.name,
                column(fact.name, fact.description, _graphql_type(fact), _cost(fact)),
            )
    return cls


_LENGTHS = {
    "variants": 600,
    "stacks": 400,
    "patches": 300,
    "tarball": 200,
    "package_hash": 64,
    "provided_virtuals": 100,
    "external_path": 100,
    "external_modules": 100,
    "build_spec": 64,
    "installed_at": 22,
}
"""The bytes of the JSON of long facts, as the largest packages of real caches have them."""


def _cost(fact: Fact) -> Cost:
    return Cost(
        num_bytes=_LENGTHS.get(fact.name, 500 if fact.value_type == tuple[str, ...] else None)
    )


def _graphql_type(fact: Fact) -> Any:
    kind = list[str] if fact.value_type == tuple[str, ...] else fact.value_type
    if fact.unit is not None:
        kind = _UNITS[fact.unit]
    return kind | None if fact.is_optional else kind


@strawberry.type
@_with_fact_fields
class SpecFacts(Node):
    """A row of a revision's frame, with the fields that are a column of it."""

    loaded: strawberry.Private[LoadedRevision]
    row: strawberry.Private[int]


@strawberry.type(description="One built configuration of a package.")
class Spec(SpecFacts):
    """A row of a revision's frame."""

    id: strawberry.ID = for_many(_ids, "Opaque and stable.", cost=Cost(weight=2))
    versions: list[str] = for_many(
        _versions, "The version that was built, as a list of one.", cost=texts(14)
    )
    short: str = for_many(
        _short_forms,
        "Spack's short form: hdf5@1.14.5+mpi~cxx build_type=Release "
        "arch=linux-ubuntu24.04-x86_64_v3 %gcc@13.2.0. As a query (matching) it finds the spec.",
        cost=Cost(weight=30, num_bytes=500),
    )
    package: LazyPackage = for_many(_packages, "The package in the same revision.")
    history: LazyHistory | None = for_many(
        _histories,
        "In which revisions of all series its hash was, since when, and why it came.",
        cost=Cost(weight=SPANS_OF_EACH),
    )

    @classmethod
    def of_id(cls, context: Context, parts: list[str]) -> Self | None:
        """Return the spec of a revision's key and a hash."""
        if (found := in_revision(context, parts)) is None:
            return None
        loaded, hash = found
        row = loaded.frame.hashes.find(hash)
        return None if row is None else cls(loaded=loaded, row=row)

    def alone(self) -> "SpecRows":
        """Return the list of this spec alone."""
        return SpecRows(self.loaded, np.array([self.row], np.int32))

    @connection_field(
        "What it depends on. Null where the revision's source did not tell the spec's "
        "dependencies. A transitive list ends where dependencies are not known.",
        cost=WALK,
    )
    def dependencies(
        self,
        *,
        page: PageArguments,
        types: TypesArgument = strawberry.UNSET,
        transitive: TransitiveArgument = False,
    ) -> DependencyConnection | None:
        return dependencies_of(self.loaded, self.row, types, transitive, page)

    @connection_field(
        "What depends on it: specs of the same revision, and others that they depend on. Null "
        "where the revision's source told no dependencies at all.",
        cost=WALK,
    )
    def dependents(
        self,
        *,
        page: PageArguments,
        types: TypesArgument = strawberry.UNSET,
        transitive: TransitiveArgument = False,
    ) -> DependencyConnection | None:
        return dependents_of(self.loaded, self.row, types, transitive, page)


class SpecRows(LazyList[Spec]):
    """Specs as rows of a frame; each becomes an object only where somebody asks for it."""

    def __init__(self, loaded: LoadedRevision, rows: Rows) -> None:
        self.loaded = loaded
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, place: Any) -> Any:
        return Spec(loaded=self.loaded, row=int(self.rows[place]))
