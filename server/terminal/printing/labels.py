"""Facts under each other, each behind its label; lists that go on below themselves."""

from collections.abc import Iterable, Iterator

from server.terminal.printing import styles
from server.terminal.printing.layout import wrapped

_GAP = 2


def labelled(facts: Iterable[tuple[str, str]], width: int | None) -> Iterator[str]:
    """Yield a line for each label and its text, the texts aligned; long ones take more lines."""
    shown = [(f"{label}:", text) for label, text in facts if text]
    widest = max((len(label) for label, _ in shown), default=0) + _GAP
    for label, text in shown:
        first, *others = wrapped(label.ljust(widest) + text, width, " " * widest)
        yield styles.quiet(first[:widest]) + first[widest:]
        yield from others
