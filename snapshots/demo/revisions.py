"""The history itself: which revisions there are, their tags and their dates."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

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

    The first holds exactly ``packages`` packages and ``specs`` specs, the others about as many.
    The last is tagged ``develop``, the third and every fourth from there as a release, the rest
    by their dates. Asking for more revisions changes nothing in the earlier ones but that tag.
    Raises InvalidArgument for a number below 1, and for fewer specs than packages.
    """
    for name, value in (("revisions", revisions), ("packages", packages), ("specs", specs)):
        if value < 1:
            raise InvalidArgument(name, f"must be at least 1, not {value}")
    if specs < packages:
        raise InvalidArgument("specs", f"{specs} are too few for {packages} packages")
    return _snapshots(revisions, packages, specs, seed)


def _snapshots(revisions: int, packages: int, specs: int, seed: int) -> Iterator[Snapshot]:
    source = Source(
        kind="demo",
        location=f"demo: {packages} packages, {specs} specs, seed {seed}",
        importer=importer_name(),
        synthetic=True,
    )
    cache = DemoCache(Draw(seed), source.location)
    cache.fill(packages, specs)
    for number in range(revisions):
        if number:
            cache.evolve(number)
        taken_at = _FIRST_WEEK + timedelta(weeks=number)
        tag = "develop" if number == revisions - 1 else _tag(number, taken_at)
        yield Snapshot(tag=tag, content=cache.content(), source=source, taken_at=taken_at)


def _tag(number: int, taken_at: datetime) -> str:
    if number % 4 == 2:
        return f"v0.{_FIRST_RELEASE + number // 4}.0"
    return f"develop-{taken_at.date().isoformat()}"
