"""Specs: one built configuration each, as rows of a revision's frame."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Self

import numpy as np
import strawberry

from schema.connections import connection_field
from schema.context import Context, LoadedRevision
from schema.cost import VALUE
from schema.dependency import (
    WALK,
    DependencyConnection,
    TransitiveArgument,
    TypesArgument,
    dependencies_of,
    dependents_of,
)
from schema.many import LazyList, column, for_many
from schema.node import Node, in_revision, node_id
from schema.paging import PageArguments
from schema.scalars import ByteCount
from snapshots.frames.columns import Rows

if TYPE_CHECKING:
    from schema.package import Package

LazyPackage = Annotated["Package", strawberry.lazy("schema.package")]


def _ids(specs: "SpecRows") -> list[strawberry.ID]:
    key, texts = specs.loaded.info.key, specs.loaded.frame.hashes.texts
    return [node_id("Spec", key, texts[row]) for row in specs.rows.tolist()]


def _versions(specs: "SpecRows") -> list[list[str]]:
    return specs.loaded.frame.version.mapped_at(_list_of_one, specs.rows)


def _list_of_one(value: str) -> list[str]:
    return [value]


def _short_forms(specs: "SpecRows") -> list[str]:
    spec = specs.loaded.frame.spec
    return [spec(row).short for row in specs.rows.tolist()]


def _packages(specs: "SpecRows") -> Sequence["Package"]:
    from schema.package import PackageRows

    return PackageRows(specs.loaded, specs.loaded.frame.package.codes[specs.rows])


@strawberry.type(description="One built configuration of a package.")
class Spec(Node):
    """A row of a revision's frame."""

    loaded: strawberry.Private[LoadedRevision]
    row: strawberry.Private[int]

    hash: str = column("hashes", "The DAG hash: 32 characters of a-z2-7.")
    name: str = column("package", "The package's name.")
    version: str = column("version", "The version that was built.")
    compiler: str | None = column(
        "compiler",
        "name@version, canonical (gcc@13.2.0, never gcc@=13.2.0); null where the spec has none.",
    )
    operating_system: str = column("operating_system", "The operating system it was built for.")
    platform: str = column("platform", "The platform it was built for: linux, darwin ...")
    target: str = column("target", "The microarchitecture it was built for.")
    variants: list[str] = column(
        "variants",
        "Canonical Spack spelling: +shared, ~mpi, build_type=Release, patches=26090f4,b231fcc.",
    )
    stacks: list[str] = column("stacks", "The stacks that it was built in, sorted.")
    size: ByteCount | None = column("size", "The binary package's size, where it is known.")
    tarball: str | None = column("tarball", "The binary package's URL, where it is known.")
    namespace: str | None = column("namespace", "The package repository: builtin ...")
    package_hash: str | None = column("package_hash", "The hash of the package's recipe.")

    id: strawberry.ID = for_many(_ids, "Opaque and stable.")
    versions: list[str] = for_many(
        _versions, "The version that was built, as a list of one.", cost=VALUE
    )
    short: str = for_many(
        _short_forms,
        "Spack's short form: hdf5@1.14.5%gcc@13.2.0+mpi~cxx build_type=Release "
        "arch=linux-ubuntu24.04-x86_64_v3.",
    )
    package: LazyPackage = for_many(_packages, "The package in the same revision.")

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
        "dependencies. A transitive list ends where dependencies are not in the revision or not "
        "known.",
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
        "What depends on it in the same revision. Null where the revision's source told no "
        "dependencies at all.",
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
