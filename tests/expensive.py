"""How many examples hypothesis tries where a single one takes more than 20 ms."""

from hypothesis import settings

FEWER_EXAMPLES = settings(max_examples=settings().max_examples // 2, deadline=None)
"""Half of what the profile says: 10, or 50 by ``HYPOTHESIS_PROFILE=default``."""
