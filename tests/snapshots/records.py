"""Naive equivalents, over records, of what the frames of ``snapshots`` compute by columns."""

from collections.abc import Sequence

import pyarrow as pa

from snapshots.contents import Content
from snapshots.frames.frame import Frame
from snapshots.models import Spec
from snapshots.spack.query import SpecConstraint
from snapshots.tables import SPECS


def frame_of(specs: Sequence[Spec]) -> Frame:
    """Return a frame of records that no catalog contains."""
    content = Content.of(specs)
    return Frame(content.table(), content.digest)


def with_digest(content: Content) -> pa.Table:
    """Return the rows of a content with the column ``digest``, as other tools write them."""
    rows = content.table()
    return rows.append_column(SPECS.field("digest"), pa.repeat(content.digest, len(rows)))


def has_facts(constraint: SpecConstraint, spec: Spec) -> bool:
    """Return whether a spec meets all conditions on its own facts, without dependencies."""
    return (
        constraint.name in (None, spec.name)
        and constraint.namespace in (None, spec.namespace)
        and spec.hash.startswith(constraint.hash_prefix or "")
        and (constraint.versions is None or constraint.versions.includes(spec.version))
        and constraint.platform in (None, "*", spec.platform)
        and constraint.operating_system in (None, "*", spec.operating_system)
        and (constraint.targets is None or constraint.targets.includes(spec.target))
        and all(each.propagate or each.matches(spec.variants) for each in constraint.variants)
    )
