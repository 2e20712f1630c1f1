"""Numbers, sizes and days as release notes write them."""

from datetime import datetime

from snapshots.wording import size


def number(count: int) -> str:
    """Return a number with commas between its thousands."""
    return f"{count:,}"


def size_delta(num_bytes: int | None) -> str:
    """Return by how much a size rose, with its sign; nothing where that is not known."""
    if num_bytes is None:
        return ""
    return f"{'-' if num_bytes < 0 else '+'}{size(abs(num_bytes))}"


def long_day(moment: datetime) -> str:
    """Return the date of a moment: 20 January 2025."""
    return f"{moment.day} {moment:%B %Y}"
