"""The number of examples of expensive tests, and of those that need many."""

from hypothesis import settings

_OF_ALL = 100
"""The number of examples in ``HYPOTHESIS_PROFILE=default``."""

FEWER_EXAMPLES = settings(max_examples=settings().max_examples // 2, deadline=None)
"""Half of the examples of the profile: 6, or 50 in ``HYPOTHESIS_PROFILE=default``."""

IS_QUICK = settings().max_examples < _OF_ALL
"""Whether this is a run of the suite, which omits examples of little additional value."""


def cases(number: int) -> int:
    """Return a quarter of a number of cases in a run of the suite, else all of them."""
    return number // 4 if IS_QUICK else number


def examples(number: int, in_suite: int | None = None) -> settings:
    """Return settings for a number of examples, of which the suite runs a fifth.

    ``in_suite`` overrides the number in the suite, for examples of half a second.
    """
    if IS_QUICK:
        number = in_suite or number // 5
    return settings(max_examples=number, deadline=None)
