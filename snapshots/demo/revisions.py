"""The demo's history: its revisions with their tags and dates, and their cache pages."""

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import orjson
from msgspec.structs import replace

from snapshots.contents import PackageContent, Snapshot
from snapshots.demo.cache import DemoCache
from snapshots.demo.draws import Draw
from snapshots.demo.packages import MULTI_VALUED
from snapshots.errors import InvalidArgument
from snapshots.models import DEMO, Source, Spec
from snapshots.program import importer_name

_FIRST_WEEK = datetime(2025, 1, 5, tzinfo=UTC)
_FIRST_RELEASE = 22


def history(
    *, revisions: int = 8, packages: int = 300, specs: int = 6000, seed: int = 0
) -> Iterator[Snapshot]:
    """Return ``revisions`` revisions of a synthetic cache, oldest first, one week apart.

    The first has exactly ``packages`` packages and ``specs`` specs, the others slightly more. Each
    has its own tag: ``develop`` for the last, a release's for the third and every fourth after it,
    and a date's for the others. With more revisions, the earlier ones are the same except for the
    tag ``develop``. Raises InvalidArgument for a number below 1, and for fewer specs than packages.
    """
    weeks = _weeks(revisions, packages, specs, seed)
    last = revisions - 1
    return (
        week if number == last else _under_second_tag(number, week)
        for number, week in enumerate(weeks)
    )


def develop_history(
    *,
    revisions: int = 30,
    skipped: int = 0,
    packages: int = 100,
    specs: int = 1500,
    seed: int = 0,
) -> Iterator[Snapshot]:
    """Return ``revisions`` revisions of ``develop``, each preceded by the same under a second tag.

    The contents and second tags are those of ``history``; here, the last one has a second tag, too.
    The first ones are ``skipped``.
    """
    weeks = enumerate(_weeks(revisions, packages, specs, seed))
    return (
        snapshot
        for number, week in islice(weeks, skipped, None)
        for snapshot in (_under_second_tag(number, week), week)
    )


def _weeks(revisions: int, packages: int, specs: int, seed: int) -> Iterator[Snapshot]:
    for name, value in (("revisions", revisions), ("packages", packages), ("specs", specs)):
        if value < 1:
            raise InvalidArgument(name, f"must be at least 1, not {value}")
    if specs < packages:
        raise InvalidArgument("specs", f"{specs} are too few for {packages} packages")
    source = Source(
        kind=DEMO.name,
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


def _under_second_tag(number: int, week: Snapshot) -> Snapshot:
    """Return a week's content under the second tag: that of a release or of its date."""
    if number % 4 == 2:
        return replace(week, tag=f"v0.{_FIRST_RELEASE + number // 4}.0")
    return replace(week, tag=f"develop-{week.taken_at:%Y-%m-%d}")


# -- cache pages


def write_pages(snapshot: Snapshot, folder: Path) -> int:
    """Write a revision of the demo as cache pages, one FOLDER/TAG/PACKAGE/specs.md per package.

    In addition to that of real pages, the front matter has ``synthetic: true``. Like real pages, it
    has no sizes, namespaces or dependencies. Returns the number of pages. Raises InvalidArgument if
    the folder cannot be written.
    """
    packages = snapshot.content.packages
    try:
        for name, package in packages.items():
            page = folder / snapshot.tag / name / "specs.md"
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_bytes(_page(name, snapshot.tag, package))
    except OSError as error:
        reason = f"cannot write {error.filename}: {error.strerror}"
        raise InvalidArgument("folder", reason) from None
    return len(packages)


def _page(name: str, tag: str, package: PackageContent) -> bytes:
    details = [_details(spec) for spec in package.specs]
    by_stack = Counter(stack for spec in package.specs for stack in spec.stacks)
    lines = (
        b"---",
        b"title: " + _json(name),
        b"layout: cache",
        f"categories: [package, {tag}]".encode(),
        b"synthetic: true",
        b"meta: " + _json({"num_specs": len(details), "num_specs_by_stack": by_stack}),
        b"spec_details: " + _json(details),
        b"---",
    )
    return b"\n".join(lines)


def _json(value: object) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def _details(spec: Spec) -> dict[str, Any]:
    return {
        "hash": spec.hash,
        "versions": [spec.version],
        "compiler": spec.compiler or "none",
        "os": spec.operating_system,
        "platform": spec.platform,
        "target": spec.target,
        "variants": [_page_notation(variant) for variant in spec.variants],
        "stacks": spec.stacks,
        "size": "-",
    }


def _page_notation(variant: str) -> str:
    name, equals, value = variant.partition("=")
    return f"{name}:={value}" if equals and name in MULTI_VALUED else variant
