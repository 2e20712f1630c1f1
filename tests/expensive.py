"""How many examples hypothesis tries where one takes more than 20 ms, or where many are needed."""

from hypothesis import settings

_OF_ALL = 100
"""How many examples there are by ``HYPOTHESIS_PROFILE=default``."""

FEWER_EXAMPLES = settings(max_examples=settings().max_examples // 2, deadline=None)
"""Half of what the profile says: 10, or 50 by ``HYPOTHESIS_PROFILE=default``."""


def examples(number: int) -> settings:
    """Return settings of so many examples, of which a run of the suite tries two fifths."""
    is_quick = settings().max_examples < _OF_ALL
    return settings(max_examples=number * 2 // 5 if is_quick else number, deadline=None)
