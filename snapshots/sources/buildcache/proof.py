"""Proof that a node is what its hash says: Spack's hash of a spec, computed anew.

Source: how Spack computes DAG hashes since its spec format 3. The hash is the base32 of the sha1 of
the node as JSON: without white space, its keys in the order in which they stand, without ``hash``.
"""

import base64
import hashlib
import json

from snapshots.errors import SourceError
from snapshots.models import UnprovenReason
from snapshots.sources.buildcache.databases import NEWEST_FORMAT


def dag_hash(text: bytes) -> str:
    """Return the hash of a node whose JSON text is written as Spack hashes it."""
    digest = hashlib.sha1(text, usedforsecurity=False).digest()
    return base64.b32encode(digest).decode().lower()


def record_proof(
    unproven: dict[str, UnprovenReason | None], digest: str, reason: UnprovenReason | None
) -> None:
    """Enter what ``unproven_reason`` returned for a hash; once proven, it stays so."""
    unproven[digest] = reason and unproven.get(digest, reason)


def unproven_reason(
    text: bytes, digest: str, written_format: int | None, location: str, key: str
) -> UnprovenReason | None:
    """Return None for a node that hashes to ``digest``, or why that cannot be told.

    ``text`` is the node as JSON, which has been decoded before; ``location`` and ``key`` say where
    it stands. ``written_format`` is the spec format of the document, None where it has none.

    What a newer Spack converted keeps the hash of the older text, a spliced spec keeps a part of
    another hash, and an external is hashed with details that an index leaves out. Raises
    SourceError where none of that applies and the hash is another one.
    """
    end = b',"hash":"%s"}' % digest.encode()
    if text.endswith(end) and dag_hash(text[: -len(end)] + b"}") == digest:
        return None
    try:
        node = json.loads(text)
    except (ValueError, RecursionError) as error:  # in a key that no decoder has looked at
        raise SourceError(location, f"is no good JSON: {error}", key=key) from None
    node.pop("hash", None)
    computed = dag_hash(json.dumps(node, separators=(",", ":")).encode())
    if computed == digest:
        return None
    if node.get("build_spec") is not None:
        return UnprovenReason.SPLICED
    if node.get("external") is not None:
        return UnprovenReason.EXTERNAL
    original = (node.get("annotations") or {}).get("original_specfile_version")
    if written_format is None or not isinstance(original, int) or original > NEWEST_FORMAT:
        return UnprovenReason.FORMAT_UNKNOWN  # who reads the node refuses a format that is newer
    if original < written_format:
        return UnprovenReason.CONVERTED
    reason = f"its content has another hash, {computed}: it is damaged or forged"
    raise SourceError(location, f"{reason}; --skip-bad leaves it out", key=key)
