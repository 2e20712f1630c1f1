"""What to do about a content that the store has damaged, by where it came from."""

from snapshots.history import History

_SAME = "import the same again to replace it"


def how_to_mend(history: History, digest: str) -> str:
    """Return how the content of a revision is replaced.

    The same import does it, but for one of a history in git: that goes on behind the commits that
    the catalog knows. The pages of the commit do it then.
    """
    rows = [row for row in history.by_key.values() if row.digest == digest]
    if not rows or any(row.source.kind != "git" for row in rows):
        return _SAME
    row = rows[-1]
    taken_at = row.taken_at.isoformat().replace("+00:00", "Z")
    return (
        f"to replace it, check out the commit {row.source.version} of {row.source.location}, and "
        f"import its folder of pages with --tag {row.tag} --taken-at {taken_at}"
    )
