"""Damage of a content that others are laid over is told once, with all revisions that need it."""

from collections.abc import Iterable, Sequence

from snapshots.catalog.contents.mending import how_to_mend
from snapshots.catalog.verifying.contents import DamagedBase, Read
from snapshots.catalog.verifying.findings import Finding
from snapshots.history import History
from snapshots.wording import counted, day, short_digest

_MOST_NAMED = 10


def with_damaged_bases(
    findings: Sequence[Finding], reads: Iterable[Read], history: History
) -> list[Finding]:
    """Return the findings of all contents, with those of the damaged bases among the reads."""
    over: dict[DamagedBase, list[str]] = {}
    for read in reads:
        if read.damaged_base is not None:
            over.setdefault(read.damaged_base, []).append(read.digest)
    told = [_told(base, digests, history) for base, digests in over.items()]
    places = {it.place for it in told}
    return [*(it for it in findings if it.place not in places), *told]


def _told(base: DamagedBase, over: Sequence[str], history: History) -> Finding:
    is_revision = base.digest in history.digests
    digests = [base.digest, *over] if is_revision else over
    needing = [it for it in history.revisions if it.digest in {*digests}]
    names = [f"{it.tag}@{day(it.taken_at)}" for it in needing]
    if len(names) > _MOST_NAMED:
        names[_MOST_NAMED:] = [f"{len(names) - _MOST_NAMED:,} others"]
    # Whoever imports the base mends all; else each of the others is made whole.
    advice = [how_to_mend(history, it) for it in (digests[:1] if is_revision else digests)]
    return Finding(
        place=f"content {short_digest(base.digest)}",
        reason=f"{base.damage}; {counted(len(needing), 'revision')} cannot be read without it: "
        + ", ".join(names),
        advice="; ".join(dict.fromkeys(advice)),
    )
