"""The names that resemble one that nothing has: what somebody may have meant."""

from collections.abc import Iterable, Sequence

_NUM_NEAREST = 3
_LIKENESS = 0.5
_LONGEST_NAME = 200


def nearest_names(name: str, known: Iterable[str], *, most: int = _NUM_NEAREST) -> list[str]:
    """Return the known names that resemble a name, best first; of a long one its beginning.

    Upper and lower case are alike.
    """
    # Imported late: every command imports the errors, few have to look for names.
    from difflib import get_close_matches

    spellings: dict[str, list[str]] = {}
    for other in {*known}:
        spellings.setdefault(other.lower(), []).append(other)
    alike = get_close_matches(name[:_LONGEST_NAME].lower(), spellings, most, _LIKENESS)
    return [other for lower in alike for other in sorted(spellings[lower])][:most]


def nearest_hint(nearest: Sequence[str]) -> str:
    """Return how a message ends that tells what is nearest; nothing where nothing is."""
    return f"; nearest: {', '.join(nearest)}" if nearest else ""
