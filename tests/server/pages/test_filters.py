"""What templates show of values."""

import pytest

from server.pages.renderer import number, package_kind, size_delta, words


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (number(None), "unknown"),
        (number(1234567), "1,234,567"),
        (size_delta(None), "unknown"),
        (size_delta("-2048"), "−2.0 KiB"),  # noqa: RUF001
        (words("NEW_PACKAGE"), "new package"),
        (words("FACTS"), "other facts"),
        (package_kind("CHANGED"), "other facts"),
        (package_kind("VERSIONS_CHANGED"), "other versions"),
    ],
)
def test_values_are_shown_to_people(shown: str, text: str) -> None:
    """Thousands apart, signs that are told apart, and what is not known is said."""
    assert shown == text
