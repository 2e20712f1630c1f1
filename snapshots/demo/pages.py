"""The demo as cache pages, the way the newest pages of the public build cache are spelled."""

from collections import Counter
from pathlib import Path
from typing import Any

import orjson

from snapshots.contents import PackageContent, Snapshot
from snapshots.demo.recipes import MULTI_VALUED
from snapshots.errors import InvalidArgument
from snapshots.models import Spec


def write_pages(snapshot: Snapshot, folder: Path) -> int:
    """Write a revision of the demo as cache pages, FOLDER/TAG/PACKAGE/specs.md each.

    Beside what real pages have, the front matter says ``synthetic: true``; as on those, sizes,
    namespaces and dependencies are not told. Returns the number of pages. Raises InvalidArgument
    where the folder cannot be written.
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
    lines = (
        b"---",
        b"title: " + _json(name),
        b"layout: cache",
        f"categories: [package, {tag}]".encode(),
        b"synthetic: true",
        b"meta: " + _json(_meta(details)),
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
        "variants": [_spell(variant) for variant in spec.variants],
        "stacks": spec.stacks,
        "size": "-",
    }


def _spell(variant: str) -> str:
    name, equals, value = variant.partition("=")
    return f"{name}:={value}" if equals and name in MULTI_VALUED else variant


def _meta(details: list[dict[str, Any]]) -> dict[str, Any]:
    by_stack = Counter(stack for spec in details for stack in spec["stacks"])
    meta: dict[str, Any] = {
        f"{key}s": sorted({spec[key] for spec in details})
        for key in ("compiler", "os", "platform", "target")
    }
    return meta | {
        "versions": sorted({spec["versions"][0] for spec in details}),
        "stacks": sorted(by_stack),
        "num_specs": len(details),
        "num_specs_by_stack": dict(by_stack),
    }
