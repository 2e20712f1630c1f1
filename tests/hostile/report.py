"""The table of a run of attacks, in Markdown."""

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
