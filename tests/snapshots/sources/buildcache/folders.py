"""Build caches on disk, in layouts 2 and 3, and the manifests of layout 3."""

import gzip
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from snapshots.sources.buildcache.layouts import LAYOUT_2_INDEX, LAYOUT_3_INDEX
from tests.snapshots.sources.buildcache.indexes import documents_of

CHECKSUM = "ab" * 32
PACKAGE = "application/vnd.spack.install.v2.tar+gzip"
EMPTY_INDEX = b'{"database": {"version": "8", "installs": {}}}'


def text(value: Any) -> bytes:
    """Return a value as JSON."""
    return json.dumps(value).encode()


def put(file: Path, data: bytes) -> Path:
    """Write a file and its parent folders."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    return file


def put_layout_2(folder: Path, index: bytes = EMPTY_INDEX, *, checked: bool = True) -> Path:
    """Write the index of a build cache of layout 2."""
    if checked:
        checksum = hashlib.sha256(index).hexdigest()
        put(folder / f"{LAYOUT_2_INDEX}.hash", f"{checksum}\n".encode())
    return put(folder / LAYOUT_2_INDEX, index)


def put_layout_3(folder: Path, index: bytes = EMPTY_INDEX, *, version: int = 8) -> Path:
    """Write the compressed index of a build cache of layout 3."""
    return put_indexes(folder, {version: index})


def put_indexes(folder: Path, indexes: Mapping[int, bytes]) -> Path:
    """Write the compressed indexes of a build cache of layout 3 by their versions."""
    entries = [
        put_blob(folder, gzip.compress(index), f"application/vnd.spack.db.v{version}+json")
        for version, index in indexes.items()
    ]
    put(folder / "v3" / "layout.json", b'{"signing": "gpg"}')
    return put(folder / LAYOUT_3_INDEX, text(manifest(*entries)))


def put_specs(folder: Path, index: dict[str, Any]) -> dict[str, Path]:
    """Write a build cache without an index; each size is a position; return manifests by hash."""
    put(folder / "v3" / "layout.json", b'{"signing": "unsigned"}')
    manifests = {}
    for size, (digest, document) in enumerate(documents_of(index).items()):
        spec = document["spec"]["nodes"][0]
        packed = gzip.compress(text(document), 1, mtime=0)
        version = document["spec"]["_meta"]["version"]
        entry = put_blob(folder, packed, f"application/vnd.spack.spec.v{version}+json")
        name = f"{spec['name']}-{spec['version']}-{digest}.spec.manifest.json"
        file = folder / "v3" / "manifests" / "spec" / spec["name"] / name
        manifests[digest] = put(file, text(manifest(blob(contentLength=size), entry)))
    return manifests


def put_documents(folder: Path, index: dict[str, Any], *, is_signed: bool = False) -> list[Path]:
    """Write a build cache of layout 2 without an index; each checksum is that of its document."""
    files = []
    for digest, document in documents_of(index).items():
        checksum = {"hash_algorithm": "sha256", "hash": hashlib.sha256(text(document)).hexdigest()}
        published = json.dumps(document | {"binary_cache_checksum": checksum})
        spec = document["spec"]["nodes"][0]
        name = f"linux-any-any-none-none-{spec['name']}-{spec['version']}-{digest}.spec.json"
        file = folder / "build_cache" / (f"{name}.sig" if is_signed else name)
        files.append(put(file, signed(published) if is_signed else published.encode()))
    return files


def put_blob_index(folder: Path, index: Any) -> str:
    """Write an index as a blob of a build cache; return the path below the folder."""
    data = gzip.compress(text(index), mtime=0)
    checksum = hashlib.sha256(data).hexdigest()
    path = f"blobs/sha256/{checksum[:2]}/{checksum}"
    put(folder / path, data)
    return path


def put_blob(folder: Path, data: bytes, media_type: str, **more: Any) -> dict[str, Any]:
    """Write a blob of layout 3 and return its entry in a manifest."""
    checksum = hashlib.sha256(data).hexdigest()
    put(folder / "blobs" / "sha256" / checksum[:2] / checksum, data)
    return blob(media_type, checksum=checksum, contentLength=len(data), **more)


def blob(media_type: str = PACKAGE, **more: Any) -> dict[str, Any]:
    """Return an entry of a manifest."""
    return {
        "contentLength": 1234,
        "mediaType": media_type,
        "compression": "gzip",
        "checksumAlgorithm": "sha256",
        "checksum": CHECKSUM,
    } | more


def manifest(*blobs: dict[str, Any]) -> dict[str, Any]:
    """Return a manifest as a JSON value."""
    return {"version": 3, "data": list(blobs)}


def signed(document: str) -> bytes:
    """Return the text as a clear-signed document."""
    lines = document.split("\n")
    escaped = "\n".join(f"- {line}" if line.startswith("-") else line for line in lines)
    return (
        f"-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA512\n\n{escaped}\n"
        f"-----BEGIN PGP SIGNATURE-----\n\niQGzBAEBCgAdFiEE\n-----END PGP SIGNATURE-----\n"
    ).encode()


def put_installation(tree: Path, database: dict[str, Any]) -> Path:
    """Write a database below an install tree; return the tree."""
    put(tree / ".spack-db" / "index.json", text(database))
    return tree
