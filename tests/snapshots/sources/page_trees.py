"""Trees of cache pages, TAG/PACKAGE/specs.md, for imports."""

from pathlib import Path
from typing import Any

import orjson

from tests.snapshots.factories import hash_of
from tests.snapshots.sources.buildcache.folders import put

TAGS = ("develop-2025-01-05", "develop-2025-01-12", "develop-2025-01-19")


def page(name: str, *labels: str, tag: str | None = None, **keys: Any) -> bytes:
    """Return a page with one spec a label; without a tag it states none."""
    details = [
        {
            "hash": hash_of(label),
            "versions": ["1.0"],
            "os": "ubuntu22.04",
            "platform": "linux",
            "target": "x86_64",
            "variants": ["+shared"],
            "stacks": ["root"],
        }
        for label in labels
    ]
    values: dict[str, Any] = {"title": name, "spec_details": details}
    if tag is not None:
        values["categories"] = ["package", tag]
    lines = (f"{key}: {orjson.dumps(it).decode()}\n" for key, it in (values | keys).items())
    return f"---\n{''.join(lines)}---\n".encode()


def tree(folder: Path) -> Path:
    """Write the pages of three tags, which share some specs and packages."""
    for number, tag in enumerate(TAGS):
        for name, labels in {"hdf5": "ab", "zlib": f"c{number}", f"only-{number}": "z"}.items():
            own = [f"{name}-{label}" for label in labels]
            put(folder / tag / name / "specs.md", page(name, *own, tag=tag))
    return folder
