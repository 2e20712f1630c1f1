"""The tables of a run: of attacks, and of groups of attacks."""

from collections.abc import Sequence

import msgspec

from tests.benchmarks.documents import aligned
from tests.benchmarks.machine import Run
from tests.hostile.runner import Result

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


class Figures(msgspec.Struct, frozen=True):
    """The figures of an attack in documents, in seconds and bytes."""

    group: str
    attack: str
    slowest: float
    victim_p99: float
    peak_bytes: int
    hurts: tuple[str, ...]


class AttackRun(Run, frozen=True, kw_only=True):
    """All figures of a run of attacks."""

    attacks: list[Figures]


def figures(results: Sequence[Result]) -> list[Figures]:
    """Return the figures of each attack."""
    # The attacks take half a second to import; other tables do not need them.
    from tests.hostile.table import GROUPS

    groups = {attack.name: name for name, attacks in GROUPS.items() for attack in attacks}
    return [
        Figures(
            groups[it.attack.name],
            it.attack.name,
            it.slowest,
            it.victim.p99,
            it.peak_bytes,
            it.hurts,
        )
        for it in results
    ]


def by_group(attacks: Sequence[Figures]) -> str:
    """Return a table of groups of attacks, with the maximum of each figure."""
    head = ("Attacks", "Number", "Succeeded", "Slowest", "Victim's p99", "Memory")
    groups = {it.group: [other for other in attacks if other.group == it.group] for it in attacks}
    return aligned([head, *(_row(*group) for group in groups.items()), _row("all", attacks)])


def _row(name: str, attacks: Sequence[Figures]) -> tuple[str, ...]:
    return (
        name,
        str(len(attacks)),
        str(sum(bool(it.hurts) for it in attacks)),
        f"{max(it.slowest for it in attacks):.1f} s",
        f"{1_000 * max(it.victim_p99 for it in attacks):.0f} ms",
        f"{max(it.peak_bytes for it in attacks) >> 20:,} MB",
    )
