"""The demo's history: its revisions with their tags and dates."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice

from snapshots.contents import Snapshot
from snapshots.demo.cache import DemoCache
from snapshots.demo.draws import Draw
from snapshots.errors import InvalidArgument
from snapshots.models import DEMO, Source
from snapshots.program import importer_name

_FIRST_WEEK = datetime(2025, 1, 5, tzinfo=UTC)
_FIRST_RELEASE = 22
_SEED = 0


def develop_history(
    *, revisions: int = 30, packages: int = 100, specs: int = 1500
) -> Iterator[Snapshot]:
    """Return ``revisions`` revisions of ``develop`` in a synthetic cache, oldest first.

    They are one week apart, and each is preceded by the same under a second tag: a release's for
    the third and every fourth after it, and its date's for the others. The first has exactly
    ``packages`` packages and ``specs`` specs, the others slightly more. Raises InvalidArgument for
    a number below 1, and for fewer specs than packages.
    """
    for name, value in (("revisions", revisions), ("packages", packages), ("specs", specs)):
        if value < 1:
            raise InvalidArgument(name, f"must be at least 1, not {value}")
    if specs < packages:
        raise InvalidArgument("specs", f"{specs} are too few for {packages} packages")
    source = Source(
        kind=DEMO.name,
        location=f"demo: {packages} packages, {specs} specs, seed {_SEED}",
        importer=importer_name(),
        synthetic=True,
    )
    contents = DemoCache(Draw(_SEED), source.location).weeks(packages, specs)
    return (
        Snapshot(
            tag=tag,
            content=content,
            source=source,
            taken_at=_FIRST_WEEK + timedelta(weeks=number),
        )
        for number, content in enumerate(islice(contents, revisions))
        for tag in (_second_tag(number), "develop")
    )


def _second_tag(number: int) -> str:
    if number % 4 == 2:
        return f"v0.{_FIRST_RELEASE + number // 4}.0"
    return f"develop-{_FIRST_WEEK + timedelta(weeks=number):%Y-%m-%d}"
