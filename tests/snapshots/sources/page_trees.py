"""Cache pages, and trees of pages as TAG/PACKAGE/specs.md, for imports."""

from pathlib import Path
from typing import Any

import orjson

from tests.snapshots.factories import hash_of
from tests.snapshots.sources.buildcache.folders import put

TAGS = ("develop-2025-01-05", "develop-2025-01-12", "develop-2025-01-19")


def detail(**facts: Any) -> dict[str, Any]:
    """Return a spec as a page states it; ``...`` leaves a key out."""
    keys = {
        "hash": hash_of("a"),
        "versions": ["1.0"],
        "compiler": "gcc@=11.4.0",
        "os": "ubuntu22.04",
        "platform": "linux",
        "target": "x86_64_v3",
        "variants": ["+shared"],
        "stacks": ["e4s", "root"],
        "size": "-",
    }
    return {key: value for key, value in (keys | facts).items() if value is not ...}


def page(name: str, *labels: str, tag: str | None = None, **keys: Any) -> bytes:
    """Return a page with one spec per label; without a tag it states none."""
    values: dict[str, Any] = {} if tag is None else {"categories": ["package", tag]}
    values |= {"title": name, "spec_details": [detail(hash=hash_of(label)) for label in labels]}
    return page_of(values | keys)


def page_of(values: dict[str, Any]) -> bytes:
    """Return a page whose front matter has these keys, one per line, except those of ``...``."""
    lines = (
        f"{key}: {orjson.dumps(value).decode()}\n"
        for key, value in values.items()
        if value is not ...
    )
    return f"---\n{''.join(lines)}---\n".encode()


def tree(folder: Path) -> Path:
    """Write the pages of three tags, which have some specs and packages in common."""
    for number, tag in enumerate(TAGS):
        for name, labels in {"hdf5": "ab", "zlib": f"c{number}", f"only-{number}": "z"}.items():
            own = [f"{name}-{label}" for label in labels]
            put(folder / tag / name / "specs.md", page(name, *own, tag=tag))
    return folder
