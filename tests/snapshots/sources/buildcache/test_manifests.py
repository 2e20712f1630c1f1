"""Manifests: parsing, and signed documents."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots.errors import SourceError
from snapshots.sources.buildcache.layouts import cleartext, parse_manifest
from tests.snapshots.sources.buildcache.folders import CHECKSUM, blob, manifest, signed, text


@pytest.mark.parametrize("is_signed", [False, True])
def test_a_manifest(is_signed: bool) -> None:
    """A manifest, signed or not, lists blobs, which lie below the cache by their checksum."""
    document = json.dumps(manifest(blob()), indent=0)
    parsed = parse_manifest(signed(document) if is_signed else document.encode(), "m.json")
    assert [entry.path for entry in parsed.data] == [f"blobs/sha256/ab/{CHECKSUM}"]
    assert parsed.data[0].content_length == 1234
    assert parsed.signed is is_signed


@given(st.text(st.characters(codec="ascii", exclude_characters="\r")))
def test_cleartext_is_what_was_signed(document: str) -> None:
    """Signing and reading gives back the text, lines that begin with a dash too.

    Lines may end in either way, and there may be no Hash header.
    """
    assert cleartext(signed(document), "m.json") == document.encode()
    bare = b"-----BEGIN PGP SIGNED MESSAGE-----\n\n{}\n-----BEGIN PGP SIGNATURE-----\n"
    for end in (b"\n", b"\r\n"):
        assert cleartext(bare.replace(b"\n", end), "m.json") == b"{}"


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"version": 2, "data": []}, "m.json, version: invalid enum value 2"),
        ({"version": 3}, "m.json, data: is missing"),
        ([], "m.json: expected `object`"),
        (manifest(blob(contentLength=-1)), r"data\[0\].contentLength: expected `int` >= 0"),
        (manifest(blob(contentLength=1 << 63)), r"data\[0\].contentLength: expected `int` <= 1"),
        (manifest(blob(), blob(checksum="../" * 20)), r"data\[1\]: '.*' is no sha256"),
        (manifest(blob(checksum=CHECKSUM.upper())), r"data\[0\]: '.*' is no sha256"),
        (
            manifest(blob(checksumAlgorithm="md5")),
            "checksumAlgorithm: invalid enum value 'md5'",
        ),
        (manifest(blob(compression="zstd")), "compression: invalid enum value 'zstd'"),
    ],
)
def test_bad_manifests(value: Any, reason: str) -> None:
    """What is no manifest, or names a blob that cannot be read or lies elsewhere, is an error."""
    with pytest.raises(SourceError, match=reason):
        parse_manifest(text(value), "m.json")


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (b"<html>", "is no good JSON: JSON is malformed"),
        (text(manifest(blob("?"))).replace(b"?", b"\xff"), "is no good JSON: .*codec can't decode"),
        (b'{"more": ' + b"[" * 1_000_000, "is nested too deeply"),
        (signed("{}")[:60], "breaks off in the middle of its signed text"),
        (signed("{}")[:-80], "breaks off in the middle of its signed text"),
    ],
)
def test_documents_that_are_no_manifests(document: bytes, reason: str) -> None:
    """Text that is no JSON, or that was cut, is an error."""
    with pytest.raises(SourceError, match=reason):
        parse_manifest(document, "m.json")
