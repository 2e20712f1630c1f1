"""Naive equivalents, over records, of what the frames of ``snapshots`` compute by columns."""

from collections.abc import Callable, Sequence

from snapshots.contents import Content
from snapshots.errors import ConstraintSyntaxError
from snapshots.frames.frame import Frame
from snapshots.models import SPEC_FACTS, Dependency, Spec
from snapshots.spack.names import checked_hash, checked_items, checked_name
from snapshots.spack.query import SpecConstraint


def frame_of(specs: Sequence[Spec]) -> Frame:
    """Return a frame of records that no catalog contains."""
    content = Content.of(specs)
    return Frame(content.table(), content.digest)


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


# -- checks of whole records: the rules that the facts of a spec declare


def check_facts(spec: Spec) -> None:
    """Raise ValueError, with the name of the fact, if a spec contains an invalid text."""
    for name, fact in SPEC_FACTS.items():
        value = getattr(spec, name)
        if fact.check is None or value is None:
            continue
        texts = value if isinstance(value, tuple) else (value,)
        try:
            checked_items(texts, fact.check)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    for edge in spec.dependencies or ():
        check_dependency(edge)


def error_of(parse: Callable[[str], object], text: str) -> ConstraintSyntaxError | None:
    """Return the error that a parser raises for a text, None if the text is well formed."""
    try:
        parse(text)
    except ConstraintSyntaxError as error:
        return error
    return None


def check_dependency(edge: Dependency) -> None:
    """Raise ValueError if an edge contains an invalid text."""
    checked_name(edge.name)
    checked_hash(edge.hash)
    checked_items(edge.types, checked_name)
    checked_items(edge.virtuals, checked_name)
