"""Concrete specs that somebody wants, as arguments: what a lock file says of them."""

from collections.abc import Mapping
from typing import Annotated, Any

import strawberry
from strawberry.utils.str_converters import to_camel_case

from schema.fields.cost import ArgumentCost
from schema.fields.scalars import none_if_omitted
from snapshots.errors import InvalidArgument
from snapshots.models import ConcreteSpec
from snapshots.spack.names import is_hash, is_name
from snapshots.spack.spelling import canonical_compiler, canonical_variants
from snapshots.wording import quoted

_NOT_TOLD = strawberry.UNSET


@strawberry.input(
    description="A concrete spec as a lock file has it; what is left out is not compared."
)
class ConcreteSpecInput:
    """A spec with a hash, and what is known of it."""

    hash: str = strawberry.field(description="The DAG hash, 32 characters.")
    name: str = strawberry.field(description="The package's name.")
    version: str | None = strawberry.field(default=_NOT_TOLD, description="The version.")
    compiler: str | None = strawberry.field(
        default=_NOT_TOLD, description="The compiler as name@version."
    )
    platform: str | None = strawberry.field(default=_NOT_TOLD, description="The platform.")
    operating_system: str | None = strawberry.field(
        default=_NOT_TOLD, description="The operating system."
    )
    target: str | None = strawberry.field(default=_NOT_TOLD, description="The microarchitecture.")
    variants: list[str] | None = strawberry.field(
        default=_NOT_TOLD, description="All variants: +mpi, ~cxx, build_type=Release."
    )
    namespace: str | None = strawberry.field(
        default=_NOT_TOLD, description="The package repository."
    )
    package_hash: str | None = strawberry.field(
        default=_NOT_TOLD, description="The hash of the package's recipe."
    )
    is_root: bool = strawberry.field(
        default=False, description="Whether it was asked for itself, not only depended on."
    )

    def to_domain(self) -> ConcreteSpec:
        """Return the spec as it is looked up. Raises ValueError for a hash or name that is none."""
        if not is_hash(self.hash):
            raise ValueError(f"hash: {quoted(self.hash)} is no hash: 32 characters of a-z and 2-7")
        if not is_name(self.name):
            raise ValueError(f"name: {quoted(self.name)} cannot name a package")
        variants = none_if_omitted(self.variants)
        return ConcreteSpec(
            hash=self.hash,
            name=self.name,
            version=none_if_omitted(self.version),
            compiler=canonical_compiler(none_if_omitted(self.compiler) or ""),
            platform=none_if_omitted(self.platform),
            operating_system=none_if_omitted(self.operating_system),
            target=none_if_omitted(self.target),
            variants=None if variants is None else canonical_variants(variants),
            namespace=none_if_omitted(self.namespace),
            package_hash=none_if_omitted(self.package_hash),
            is_root=self.is_root,
        )


def _from_input(kind: type[ConcreteSpecInput], value: Mapping[str, Any], _: object) -> Any:
    """Make an input of what GraphQL has checked: ten times as fast as field by field."""
    return kind(**{_PYTHON_NAMES[name]: it for name, it in value.items()})


_DEFINITION: Any = ConcreteSpecInput.__strawberry_definition__  # type: ignore[attr-defined]
_DEFINITION.from_input = _from_input
_PYTHON_NAMES = {to_camel_case(it.python_name): it.python_name for it in _DEFINITION.fields}

ConcreteSpecsArgument = Annotated[
    list[ConcreteSpecInput],
    strawberry.argument(
        description="The specs that are looked for. A hash that is there twice counts once; it is "
        "a root where it is one anywhere."
    ),
]

CONCRETE_SPECS = ArgumentCost(each=120)
"""What each of the specs costs that are looked for: to read it, and to look it up."""


def concrete_specs(given: list[ConcreteSpecInput]) -> list[ConcreteSpec]:
    """Return the specs as they are looked up.

    Raises InvalidArgument with the place of one that has no good hash or name.
    """
    found = []
    for number, spec in enumerate(given):
        try:
            found.append(spec.to_domain())
        except ValueError as error:
            raise InvalidArgument(f"specs[{number}]", str(error)) from None
    return found
