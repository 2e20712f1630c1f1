"""What a query asks of a spec and of its dependencies, as records.

``str`` of a record is text that parses to an equal record.
"""

import msgspec

from snapshots.spack.predicates import VariantConstraint
from snapshots.spack.targets import TargetSet
from snapshots.spack.version_sets import VersionList
from snapshots.spack.virtuals import package_of_compiler

ANYTHING = "*"
"""A platform or an operating system, whichever it is; also how a query without a name begins."""


class SpecConstraint(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is asked of a spec; what is None or empty sets no condition.

    ``direct`` are asked of its own dependencies (``%``), ``transitive`` of all those that it links
    or runs with and of its own for the build (``^``): each of at least one of them.
    """

    name: str | None = None
    namespace: str | None = None
    versions: VersionList | None = None
    variants: tuple[VariantConstraint, ...] = ()
    platform: str | None = None
    operating_system: str | None = None
    targets: TargetSet | None = None
    hash_prefix: str | None = None
    direct: "tuple[DependencyConstraint, ...]" = ()
    transitive: "tuple[DependencyConstraint, ...]" = ()

    @property
    def is_about_dependencies(self) -> bool:
        """Whether the answer takes more than the spec's own facts."""
        return bool(self.direct or self.transitive) or any(it.propagate for it in self.variants)

    @property
    def num_dependencies(self) -> int:
        """How many ``%`` and ``^`` there are."""
        below = (*self.direct, *self.transitive)
        return len(below) + sum(it.spec.num_dependencies for it in below)

    def is_compiler(self, compiler: str) -> bool:
        """Tell whether ``gcc@13.2.0``, of which nothing else is known, meets every condition."""
        name, _, version = compiler.partition("@")
        if self.name is not None and package_of_compiler(name) != package_of_compiler(self.name):
            return False
        other = msgspec.structs.replace(self, name=None, versions=None)
        if other != SpecConstraint():
            return False
        return self.versions is None or (bool(version) and self.versions.includes(version))

    def __str__(self) -> str:
        version = "" if self.versions is None else f"@{self.versions}"
        parts = [f"{self.name or ANYTHING}{version}", *map(str, self.variants)]
        facts = {
            "namespace": self.namespace,
            "platform": self.platform,
            "os": self.operating_system,
            "target": self.targets,
        }
        parts += [f"{key}={value}" for key, value in facts.items() if value is not None]
        if self.hash_prefix is not None:
            parts.append(f"/{self.hash_prefix}")
        parts += [f"%{dependency}" for dependency in self.direct]
        parts += [f"^{dependency}" for dependency in self.transitive]
        return " ".join(parts)


class DependencyConstraint(msgspec.Struct, frozen=True):
    """A dependency that there must be: what it is like, and what the edge to it is like.

    ``types`` and ``virtuals`` are asked of the edge: its types, and the virtual packages that it
    provides. ``snapshots.frames.matching`` says which of them it needs to have.
    """

    spec: SpecConstraint
    types: tuple[str, ...] = ()
    virtuals: tuple[str, ...] = ()

    def __str__(self) -> str:
        properties = {"deptypes": self.types, "virtuals": self.virtuals}
        texts = [f"{key}={','.join(values)}" for key, values in properties.items() if values]
        return f"[{' '.join(texts)}] {self.spec}" if texts else str(self.spec)
