"""The values that specs have, with how many specs have each, for people and for programs."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from snapshots.frames.columns import Rows
from snapshots.frames.frame import Frame
from snapshots.wording import in_words

Counts = Sequence[tuple[str, int]]
"""Values with how many specs have each."""

_FACETS = ("target", "platform", "operating_system", "compiler")


def facets_of(frame: Frame, rows: Rows | slice) -> dict[str, Counts]:
    """Return the counts of each fact that specs are told apart by, for some rows of a frame."""
    return {name: frame.facet(name, rows) for name in _FACETS}


def with_counts(counts: Counts) -> str:
    """Return values with how many specs have each: 1.14.6 (12), 1.14.5 (3)."""
    return ", ".join(f"{value} ({count:,})" for value, count in counts)


def facet_labels(facets: Mapping[str, Counts]) -> Iterator[tuple[str, str]]:
    """Yield a label and a text for each fact."""
    for name, counts in facets.items():
        yield f"{in_words(name).capitalize()}s", with_counts(counts)


def counts_facts(counts: Counts) -> list[dict[str, Any]]:
    """Return values with how many specs have each, for programs."""
    return [{"value": value, "num_specs": count} for value, count in counts]


def facet_facts(facets: Mapping[str, Counts]) -> dict[str, Any]:
    """Return the counts of each fact, for programs."""
    return {f"{name}s": counts_facts(counts) for name, counts in facets.items()}
