"""The table of a run, one line an attack."""

from collections.abc import Sequence

from tests.hostile.runner import Bounds, Result
from tests.hostile.table import GROUPS

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
    lines = [
        "| attacks | number | hurt | slowest | victim p99 | memory |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for name, attacks in GROUPS.items():
        names = {attack.name for attack in attacks}
        if found := [it for it in results if it.attack.name in names]:
            cells = (
                name,
                str(len(found)),
                str(sum(bool(it.hurts) for it in found)),
                f"{max(it.slowest for it in found):.1f} s",
                f"{1_000 * max(it.victim.p99 for it in found):.0f} ms",
                f"{max(it.peak_bytes for it in found) >> 20:,} MB",
            )
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def summary(results: Sequence[Result], bounds: Bounds) -> str:
    """Return what a run found, in one sentence."""
    hurt = sum(bool(result.hurts) for result in results)
    return (
        f"{len(results)} attacks, {hurt} of them hurt. Asked: answers within "
        f"{bounds.answer_seconds:g} s, a p99 of the victim below "
        f"{1_000 * bounds.victim_p99:.0f} ms, memory below {bounds.memory >> 20:,} MB."
    )
