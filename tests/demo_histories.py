"""The demo's history with one tag per revision, and as cache pages."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from snapshots.contents import PackageContent, Snapshot
from snapshots.demo import develop_history
from snapshots.models import Spec

_MULTI_VALUED = ("amdgpu_target", "cuda_arch", "patches")
"""The variants that newer cache pages write with ``:=``."""


def history(*, revisions: int = 8, packages: int = 300, specs: int = 6000) -> Iterator[Snapshot]:
    """Yield the revisions of the demo, oldest first, the last as ``develop``.

    The others have their second tags: a release's for the third and every fourth after it, and a
    date's for the others.
    """
    states = develop_history(revisions=revisions, packages=packages, specs=specs)
    for number, (second, develop) in enumerate(zip(states, states, strict=True), 1):
        yield develop if number == revisions else second


def write_pages(snapshot: Snapshot, folder: Path) -> int:
    """Write a revision as cache pages, FOLDER/TAG/PACKAGE/specs.md; return their number.

    In addition to that of real pages, the front matter has ``synthetic: true``. Like real pages, it
    has no sizes, namespaces or dependencies.
    """
    packages = snapshot.content.packages
    for name, package in packages.items():
        page = folder / snapshot.tag / name / "specs.md"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_bytes(_page(name, snapshot.tag, package))
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
    return f"{name}:={value}" if equals and name in _MULTI_VALUED else variant
