"""Checks of whole records: the rules that the facts of a spec declare."""

from collections.abc import Callable

from snapshots.errors import ConstraintSyntaxError
from snapshots.models import SPEC_FACTS, Dependency, Spec
from snapshots.spack.names import checked_hash, checked_items, checked_name


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
