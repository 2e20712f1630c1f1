"""Plain ways over records to what the frames of ``snapshots`` answer by columns."""

from collections.abc import Sequence

from snapshots.contents import Content
from snapshots.frames.frame import Frame
from snapshots.models import Spec
from snapshots.spack.predicates import SpecConstraint


def frame_of(specs: Sequence[Spec]) -> Frame:
    """Build a frame of records that no catalog holds."""
    content = Content.of(specs)
    return Frame(content.table(), content.digest)


def matches(constraint: SpecConstraint, spec: Spec) -> bool:
    """Tell whether a spec meets all conditions on itconstraint.

    Those of ``dependencies`` are left out: a record does not hold the specs it depends on.
    """
    return (
        (constraint.name is None or spec.name == constraint.name)
        and (constraint.namespace is None or spec.namespace == constraint.namespace)
        and (constraint.hash_prefix is None or spec.hash.startswith(constraint.hash_prefix))
        and (constraint.versions is None or constraint.versions.includes(spec.version))
        and (constraint.compiler is None or constraint.compiler.matches(spec.compiler))
        and (not constraint.platforms or spec.platform in constraint.platforms)
        and (
            not constraint.operating_systems
            or spec.operating_system in constraint.operating_systems
        )
        and (not constraint.targets or spec.target in constraint.targets)
        and all(variant.matches(spec.variants) for variant in constraint.variants)
    )
