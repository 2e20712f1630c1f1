"""The history itself: which revisions there are, their tags and their dates."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from snapshots.contents import Snapshot
from snapshots.demo.cache import DemoCache
from snapshots.demo.draws import Draw
from snapshots.errors import InvalidArgument
from snapshots.models import Source
from snapshots.program import importer_name

_FIRST_WEEK = datetime(2025, 1, 5, tzinfo=UTC)
_FIRST_RELEASE = 22


def history(
    *, revisions: int = 8, packages: int = 300, specs: int = 6000, seed: int = 0
) -> Iterator[Snapshot]:
    """Return that many revisions of a made-up cache, oldest first, a week apart.

    The first holds exactly ``packages`` packages and ``specs`` specs, the others a few more each.
    Each has a tag of its own: the last ``develop``, the third and every fourth from there that of
    a release, the rest their dates'. Asking for more revisions changes nothing in the earlier ones
    but that tag. Raises InvalidArgument for a number below 1, and for fewer specs than packages.
    """
    weeks = _weeks(revisions, packages, specs, seed)
    last = revisions - 1
    return (week if number == last else _beside(number, week) for number, week in enumerate(weeks))


def develop_history(
    *, revisions: int = 30, packages: int = 100, specs: int = 1500, seed: int = 0
) -> Iterator[Snapshot]:
    """Return that many revisions of ``develop``, and before each the same under a second tag.

    The contents and second tags are those of ``history``, but for the last: it has a second, too.
    """
    weeks = _weeks(revisions, packages, specs, seed)
    return (
        snapshot for number, week in enumerate(weeks) for snapshot in (_beside(number, week), week)
    )


def _weeks(revisions: int, packages: int, specs: int, seed: int) -> Iterator[Snapshot]:
    for name, value in (("revisions", revisions), ("packages", packages), ("specs", specs)):
        if value < 1:
            raise InvalidArgument(name, f"must be at least 1, not {value}")
    if specs < packages:
        raise InvalidArgument("specs", f"{specs} are too few for {packages} packages")
    source = Source(
        kind="demo",
        location=f"demo: {packages} packages, {specs} specs, seed {seed}",
        importer=importer_name(),
        synthetic=True,
    )
    cache = DemoCache(Draw(seed), source.location)
    moments = (_FIRST_WEEK + timedelta(weeks=number) for number in range(revisions))
    contents = cache.weeks(packages, specs)
    return (
        Snapshot(tag="develop", content=content, source=source, taken_at=taken_at)
        for taken_at, content in zip(moments, contents, strict=False)
    )


def _beside(number: int, week: Snapshot) -> Snapshot:
    """Return a week's content under the tag that is not ``develop``: a release's or its date."""
    if number % 4 == 2:
        return replace(week, tag=f"v0.{_FIRST_RELEASE + number // 4}.0")
    return replace(week, tag=f"develop-{week.taken_at:%Y-%m-%d}")
