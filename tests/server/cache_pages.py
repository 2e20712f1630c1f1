"""Cache pages to import, and the history that a catalog has afterwards."""

from pathlib import Path
from typing import Any

import orjson

from snapshots.catalog.catalog import Catalog
from snapshots.contents import Snapshot
from snapshots.history import History
from tests.demo_histories import history, write_pages

HASHES = ["a" * 32, "b" * 32]


def demo_pages(folder: Path) -> list[Snapshot]:
    """Write three revisions of a small history as pages; return the revisions."""
    snapshots = list(history(revisions=3, packages=4, specs=12))
    for snapshot in snapshots:
        write_pages(snapshot, folder)
    return snapshots


def history_of(catalog: Path) -> History:
    """Return the history of a catalog."""
    opened = Catalog(str(catalog))
    opened.refresh(missing_ok=True)
    return opened.history


def page(name: str = "zlib", **facts: Any) -> bytes:
    """Return a cache page with two specs; ``facts`` replace or extend its front matter."""
    matter = {
        "title": name,
        "layout": "cache",
        "categories": ["package", "develop"],
        "spec_details": [detail(hash_) for hash_ in HASHES],
    } | facts
    lines = [f"{key}: {orjson.dumps(value).decode()}" for key, value in matter.items()]
    return "\n".join(("---", *lines, "---", "")).encode()


def detail(hash_: str, **facts: Any) -> dict[str, Any]:
    """Return a spec in the form that it has in a page."""
    spec = {
        "hash": hash_,
        "compiler": "gcc@=13.2.0",
        "versions": ["1.3.1"],
        "os": "ubuntu24.04",
        "platform": "linux",
        "target": "x86_64_v3",
        "variants": ["+shared"],
        "stacks": ["root", "e4s"],
        "size": "-",
    }
    return spec | facts


def write_page(folder: Path, content: bytes, path: str = "develop/zlib/specs.md") -> Path:
    """Write a page into a folder of pages; return the file."""
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    return file
