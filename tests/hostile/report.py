"""The table of a run, one line an attack."""

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


def summary(results: list[Result], bounds: Bounds) -> str:
    """Return what a run found, in one sentence."""
    hurt = sum(bool(result.hurts) for result in results)
    return (
        f"{len(results)} attacks, {hurt} of them hurt. Asked: answers within "
        f"{bounds.answer_seconds:g} s, a p99 of the victim below "
        f"{1_000 * bounds.victim_p99:.0f} ms, memory below {bounds.memory >> 20:,} MB."
    )
