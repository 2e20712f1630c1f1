"""Numbers, sizes and days as release notes write them."""

from datetime import datetime

_UNITS = ("KiB", "MiB", "GiB", "TiB")


def number(count: int) -> str:
    """Return a number with commas between its thousands."""
    return f"{count:,}"


def size(num_bytes: int | None) -> str:
    """Return a size in the largest unit that it has at least one of."""
    if num_bytes is None:
        return "unknown"
    if num_bytes < 1024:
        return f"{num_bytes} B"
    amount = num_bytes / 1024
    for unit in _UNITS[:-1]:
        if round(amount, 1) < 1024:
            return f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:,.1f} {_UNITS[-1]}"


def size_delta(num_bytes: int | None) -> str:
    """Return by how much a size rose, with its sign; nothing where that is not known."""
    if num_bytes is None:
        return ""
    return f"{'-' if num_bytes < 0 else '+'}{size(abs(num_bytes))}"


def long_day(moment: datetime) -> str:
    """Return the date of a moment: 20 January 2025."""
    return f"{moment.day} {moment:%B %Y}"


def fact_name(name: str) -> str:
    """Return the name of a fact or a reason in words."""
    return name.replace("_", " ")
