"""How numbers are put into words, wherever people read them."""


def counted(count: int, noun: str) -> str:
    """Return a number with its noun: 1 spec, 2,000 specs."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
