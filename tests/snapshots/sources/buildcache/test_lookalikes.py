"""Documents that are no index are named, with what to import instead."""

import pytest
from msgspec import Raw

from snapshots.sources.buildcache.reader import explain


@pytest.mark.parametrize(
    ("document", "what"),
    [
        ({"spec": b'{"_meta": {"version": 4}, "nodes": []}', "buildinfo": b"{}"}, "spec.json"),
        ({"spec": b' [{"zlib": {"version": "1.2.11"}}]'}, "spec.json"),
        ({"_meta": b'{"file-type": "spack-lockfile"}', "roots": b"[]"}, "spack.lock"),
        ({"spec": b'[{"label": "e4s", "url": "https://example.org"}]'}, None),
        ({"develop": b"[]", "_meta": b"[]"}, None),
        ({"database": b'{"version": "8"}'}, None),
        ({}, None),
    ],
)
def test_what_a_document_is(document: dict[str, bytes], what: str | None) -> None:
    """A list of tags may have a tag of any name."""
    reason = explain({key: Raw(text) for key, text in document.items()})
    if what is None:
        assert reason is None
    else:
        assert reason is not None
        assert reason.startswith(f"is the {what} of one ") or "of an environment" in reason
        assert "import the index.json" in reason
