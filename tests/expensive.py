"""How much a test tries where one example takes more than 20 ms, or where many are needed."""

from hypothesis import settings

_OF_ALL = 100
"""How many examples there are by ``HYPOTHESIS_PROFILE=default``."""

FEWER_EXAMPLES = settings(max_examples=settings().max_examples // 2, deadline=None)
"""Half of what the profile says: 10, or 50 by ``HYPOTHESIS_PROFILE=default``."""


IS_QUICK = settings().max_examples < _OF_ALL
"""Whether this is a run of the suite, which does without what shows little more."""


def cases(number: int) -> int:
    """Return how many of so many cases a run of the suite tries: two fifths."""
    return number * 2 // 5 if IS_QUICK else number


def examples(number: int, in_suite: int | None = None) -> settings:
    """Return settings of so many examples, of which a run of the suite tries two fifths.

    ``in_suite`` is how many it tries instead, where an example takes half a second.
    """
    number = in_suite if in_suite and IS_QUICK else cases(number)
    return settings(max_examples=number, deadline=None)
