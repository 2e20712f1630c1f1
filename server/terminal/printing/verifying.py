"""What a verification found, in words and as JSON."""

from collections.abc import Iterator
from typing import Any

from server.terminal.printing import styles
from snapshots.catalog.verifying.verify import Verified
from snapshots.wording import counted


def verified_lines(verified: Verified) -> Iterator[str]:
    """Yield a line a finding, what is damaged first, and what was read."""
    for finding in verified.findings:
        kind = styles.removed("damaged") if finding.is_damage else styles.quiet("note")
        yield f"{kind}: {finding}"
    read = (
        f"{counted(verified.num_contents, 'content')} of "
        f"{counted(verified.num_revisions, 'revision')} read, "
        f"{counted(verified.num_specs, 'spec')}"
    )
    damaged = sum(it.is_damage for it in verified.findings)
    yield f"{read}: {counted(damaged, 'damage')} found" if damaged else f"{read}: all is sound"


def verified_facts(verified: Verified) -> dict[str, Any]:
    """Return what was found, for programs."""
    return {
        "sound": verified.is_sound,
        "num_revisions": verified.num_revisions,
        "num_contents": verified.num_contents,
        "num_specs": verified.num_specs,
        "num_pairs": verified.num_pairs,
        "findings": [
            {
                "damaged": it.is_damage,
                "place": it.place,
                "reason": it.reason,
                "advice": it.advice,
            }
            for it in verified.findings
        ],
    }
