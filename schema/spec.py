"""Specs: one built configuration each, as rows of a revision's frame."""

from typing import TYPE_CHECKING, Annotated, Any

import strawberry

from schema.batches import Batch, Children, Coded, batched, json_texts
from schema.connections import After, Before, First, Last, PageArguments
from schema.context import LoadedRevision
from schema.dependency import (
    DependencyConnection,
    TransitiveArgument,
    TypesArgument,
    dependencies_of,
    dependents_of,
)
from schema.node import Node, node_id
from schema.scalars import ByteCount
from snapshots.frames.columns import Rows

if TYPE_CHECKING:
    from schema.package import Package

LazyPackage = Annotated["Package", strawberry.lazy("schema.package")]


def column(name: str, description: str) -> Any:
    """Declare a field that is a column of the frame."""

    def value(root: Any) -> Any:
        return getattr(root.loaded.frame, name).at(root.row)

    def coded(specs: "SpecRows") -> Coded:
        return Coded(specs.loaded.frame, name, specs.rows)

    return strawberry.field(resolver=value, description=description, metadata=batched(coded))


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

    @strawberry.field(description="Opaque and stable.", metadata=batched(lambda specs: specs.ids()))
    def id(self) -> strawberry.ID:
        return node_id("Spec", self.loaded.info.key, self.loaded.frame.hashes.at(self.row))

    @strawberry.field(
        description="The version that was built, as a list of one.",
        metadata=batched(lambda specs: specs.versions()),
    )
    def versions(self) -> list[str]:
        return [self.loaded.frame.version.at(self.row)]

    @strawberry.field(
        description="Spack's short form: hdf5@1.14.5%gcc@13.2.0+mpi~cxx build_type=Release "
        "arch=linux-ubuntu24.04-x86_64_v3.",
        metadata=batched(lambda specs: specs.shorts()),
    )
    def short(self) -> str:
        return self.loaded.frame.spec(self.row).short

    @strawberry.field(
        description="The package in the same revision.",
        metadata=batched(lambda specs: Children(specs.packages())),
    )
    def package(self) -> LazyPackage:
        from schema.package import Package

        return Package(loaded=self.loaded, code=int(self.loaded.frame.package.codes[self.row]))

    @strawberry.field(
        description="What it depends on. Null where the revision's source did not tell the spec's "
        "dependencies. A transitive list ends where dependencies are not known."
    )
    def dependencies(
        self,
        types: TypesArgument = strawberry.UNSET,
        transitive: TransitiveArgument = False,
        first: First = strawberry.UNSET,
        after: After = strawberry.UNSET,
        last: Last = strawberry.UNSET,
        before: Before = strawberry.UNSET,
    ) -> DependencyConnection | None:
        arguments = PageArguments.of(first, after, last, before)
        return dependencies_of(self.loaded, self.row, types, transitive, arguments)

    @strawberry.field(
        description="What depends on it: specs of the same revision, and others that they depend "
        "on. Null where the revision's source told no dependencies at all."
    )
    def dependents(
        self,
        types: TypesArgument = strawberry.UNSET,
        transitive: TransitiveArgument = False,
        first: First = strawberry.UNSET,
        after: After = strawberry.UNSET,
        last: Last = strawberry.UNSET,
        before: Before = strawberry.UNSET,
    ) -> DependencyConnection | None:
        arguments = PageArguments.of(first, after, last, before)
        return dependents_of(self.loaded, self.row, types, transitive, arguments)


class SpecRows(Batch[Spec]):
    """Specs as rows of a frame; each becomes an object only where somebody asks for it."""

    def __init__(self, loaded: LoadedRevision, rows: Rows) -> None:
        self.loaded = loaded
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, place: Any) -> Any:
        return Spec(loaded=self.loaded, row=int(self.rows[place]))

    def ids(self) -> list[str]:
        """Return the JSON texts of the specs' ids."""
        key, hashes = self.loaded.info.key, self.loaded.frame.hashes
        return [f'"{node_id("Spec", key, hashes.at(row))}"' for row in self.rows.tolist()]

    def versions(self) -> list[str]:
        """Return the JSON texts of the specs' versions, as lists of one."""
        return [f"[{text}]" for text in self.loaded.frame.version.texts_at(self.rows)]

    def shorts(self) -> list[str]:
        """Return the JSON texts of the specs' short forms."""
        spec = self.loaded.frame.spec
        return json_texts(spec(row).short for row in self.rows.tolist())

    def packages(self) -> Any:
        """Return the package of each spec."""
        from schema.package import PackageRows

        return PackageRows(self.loaded, self.loaded.frame.package.codes[self.rows])
