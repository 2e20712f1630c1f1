"""The tables of a run: one line an attack, and one for each group of them."""

import re
from collections.abc import Sequence

from tests.hostile.runner import Bounds, Result

HEAD = (
    "| attack | what it tries | status | slowest | victim p50 | victim p99 | memory | |\n"
    "|---|---|---|---:|---:|---:|---:|---|"
)


def line(result: Result) -> str:
    """Return the line of one attack, in Markdown."""
    cells = (
        result.attack.name,
        result.attack.tries,
        result.statuses or "held open",
        f"{result.slowest:.2f} s",
        f"{1_000 * result.victim.p50:.0f} ms",
        f"{1_000 * result.victim.p99:.0f} ms",
        f"{result.peak_bytes >> 20:,} MB",
        "; ".join(result.hurts),
    )
    return f"| {' | '.join(cells)} |"


def by_group(results: Sequence[Result]) -> str:
    """Return a short table: of each group of attacks, the worst of everything."""
    # What draws attacks takes half a second to import; other tables do without.
    from tests.hostile.table import GROUPS

    rows: list[tuple[str, ...]] = [
        ("Attacks", "Number", "Hurt", "Slowest", "Victim's p99", "Memory")
    ]
    for name, attacks in GROUPS.items():
        names = {attack.name for attack in attacks}
        if found := [it for it in results if it.attack.name in names]:
            rows.append(_row(name, found))
    rows.append(_row("all", results))
    return aligned(rows)


def _row(name: str, found: Sequence[Result]) -> tuple[str, ...]:
    return (
        name,
        str(len(found)),
        str(sum(bool(it.hurts) for it in found)),
        f"{max(it.slowest for it in found):.1f} s",
        f"{1_000 * max(it.victim.p99 for it in found):.0f} ms",
        f"{max(it.peak_bytes for it in found) >> 20:,} MB",
    )


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown: the first row is its head, all columns but one are numbers."""
    first, *others = (max(map(len, column)) for column in zip(*rows, strict=True))
    lines = [[name.ljust(first), *map(str.rjust, numbers, others)] for name, *numbers in rows]
    rule = ["-" * first, *("-" * (width - 1) + ":" for width in others)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [lines[0], rule, *lines[1:]])


def replace_table(text: str, table: str, commit: str = "") -> str:
    """Return a text with a table in the place of the one whose head begins with the same cell.

    ``commit`` takes the place of the one that is named next. Raises ValueError where there is no
    such table.
    """
    first = re.escape(table.partition(" | ")[0].rstrip())
    found = re.search(rf"^{first} +\|.*\n(?:\|.*\n)*", text, re.MULTILINE)
    if found is None:
        raise ValueError(f"there is no table that begins with {table.partition(' | ')[0]}")
    after = text[found.end() :]
    if commit:
        after = re.sub(r"\bat commit [0-9a-f]{8}(?:-dirty)?", f"at commit {commit}", after, count=1)
    return f"{text[: found.start()]}{table}\n{after}"


def summary(results: Sequence[Result], bounds: Bounds) -> str:
    """Return what a run found, in one sentence."""
    hurt = sum(bool(result.hurts) for result in results)
    return (
        f"{len(results)} attacks, {hurt} of them hurt. Asked: answers within "
        f"{bounds.answer_seconds:g} s, a p99 of the victim below "
        f"{1_000 * bounds.victim_p99:.0f} ms, memory below {bounds.memory >> 20:,} MB."
    )
