"""What a file is, in the forms that people have it, and what each reader says of another one."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapshots.errors import SourceError
from snapshots.sources import lock_files, side_files
from snapshots.sources.file_kinds import FileKind, cleartext, is_json, is_page, kind_of, text_of
from snapshots.sources.reports import Report
from snapshots.sources.settings import ReadSettings
from tests.snapshots.sources.buildcache.folders import blob, manifest, put, signed
from tests.snapshots.sources.buildcache.indexes import documents_of, small_database
from tests.snapshots.sources.git.repositories import page
from tests.snapshots.sources.lockfiles.locks import small_lock_file
from tests.snapshots.sources.readings import QUICK, read_locations

LIMIT = 1 << 20
SPEC = next(iter(documents_of(small_database()).values()))
PAGE = page("hdf5", "hdf5")
YAML = b"# An environment\nspack:\n  specs: [hdf5]\n"
TEXTS: dict[FileKind, list[bytes]] = {
    FileKind.INDEX: [json.dumps(small_database()).encode()],
    FileKind.TAG_LIST: [b'{"develop": [{"label": "e4s", "url": "e4s"}]}', b'{"develop": []}'],
    FileKind.MANIFEST: [json.dumps(manifest(blob())).encode()],
    FileKind.SPEC: [
        json.dumps(SPEC).encode(),
        b'{"spec": [{"zlib": {}}]}',
    ],
    FileKind.SPEC_LIST: [json.dumps(SPEC["spec"]["nodes"]).encode()],
    FileKind.LOCK_FILE: [json.dumps(small_lock_file()).encode(), b'{"concrete_specs": {}}'],
    FileKind.PAGE: [PAGE],
    FileKind.ENVIRONMENT: [YAML, b"---\n" + YAML],
    FileKind.EMPTY: [b"", b" \n"],
}
SPECS = (FileKind.SPEC, FileKind.SPEC_LIST)
FORMS: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "byte order mark": b"\xef\xbb\xbf".__add__,
    "UTF-16": lambda text: text.decode().encode("utf-16"),
    "UTF-16, big-endian": lambda text: b"\xfe\xff" + text.decode().encode("utf-16-be"),
    "gzip": gzip.compress,
    "gzip of UTF-16": lambda text: gzip.compress(text.decode().encode("utf-16")),
    "signed": lambda text: signed(text.decode()),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", FileKind)
def test_kinds(kind: FileKind, form: str) -> None:
    """A file is of the same kind in each form, also according to its beginning."""
    for text in TEXTS[kind]:
        data = FORMS[form](text)
        plain = text_of(data, "file", LIMIT)
        assert bytes(plain).strip() == text.strip()
        assert kind_of(plain) is kind
        assert is_json(data[:4096]) == text.startswith((b"{", b"["))
        assert is_page(data[:4096]) == (kind is FileKind.PAGE)


@pytest.mark.parametrize(
    "text", [b"zlib 1.3\n", b"\0" * 100, b"{}", b'{"database":', b'{"a": 1}', b"--- a\n"]
)
def test_other_files(text: bytes) -> None:
    """Other files, also half of one, are of no kind."""
    assert kind_of(text) is None


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\xff\xfea", "is not valid UTF-16"),
        (gzip.compress(b"{}", mtime=0)[:-9], "breaks off in the middle of its gzip data"),
        (gzip.compress(bytes(LIMIT + 1), mtime=0), "contains more than 1,048,576 bytes"),
        (signed("{}")[:60], "breaks off in the middle of its signed text"),
    ],
)
def test_damaged_files(data: bytes, reason: str) -> None:
    """The error names the file and what is wrong with its form."""
    with pytest.raises(SourceError, match=f"^file: {reason}"):
        text_of(data, "file", LIMIT)


@given(st.text(st.characters(codec="ascii", exclude_characters="\r")))
def test_cleartext_is_what_was_signed(document: str) -> None:
    """The cleartext is the signed text, with any line endings, and dash-escaped lines restored."""
    assert cleartext(signed(document), "m.json") == document.encode()
    bare = b"-----BEGIN PGP SIGNED MESSAGE-----\n\n{}\n-----BEGIN PGP SIGNATURE-----\n"
    for end in (b"\n", b"\r\n"):
        assert cleartext(bare.replace(b"\n", end), "m.json") == b"{}"


def imported(path: Path) -> int:
    """Return the number of specs that an import of a file reads."""
    (snapshot,) = read_locations([str(path)], tags=["mine"], settings=QUICK, report=Report())
    return snapshot.summary().num_specs


@pytest.mark.parametrize("form", FORMS)
def test_each_form_is_read(form: str, tmp_path: Path) -> None:
    """Indexes, pages, lock files and documents of specs are read in each form."""
    files = {
        kind: put(tmp_path / f"{kind.name}.json", FORMS[form](TEXTS[kind][0]))
        for kind in (FileKind.INDEX, FileKind.PAGE, FileKind.LOCK_FILE, *SPECS)
    }
    settings = ReadSettings(proof=False)
    counts = {
        kind: side_files.read(str(file), settings).content.summary().num_specs
        for kind, file in files.items()
    }
    assert counts[FileKind.INDEX] == imported(files[FileKind.INDEX]) == 3
    assert counts[FileKind.PAGE] == imported(files[FileKind.PAGE]) == 1
    assert counts[FileKind.LOCK_FILE] == len(lock_files.read(str(files[FileKind.LOCK_FILE])).specs)
    for kind in SPECS:
        assert counts[kind] == len(lock_files.read(str(files[kind])).specs) > 0


def locked(path: Path) -> int:
    """Return the number of specs of a lock file."""
    return len(lock_files.read(str(path)).specs)


REFUSALS: list[tuple[Callable[[Path], Any], FileKind, str]] = [
    (imported, FileKind.LOCK_FILE, "is the spack.lock of an environment, not the index of a"),
    (imported, FileKind.SPEC, "is the spec.json of one spec, not the index of a build cache"),
    (imported, FileKind.ENVIRONMENT, "is a spack.yaml, .*, not a cache page"),
    (imported, FileKind.EMPTY, "is empty$"),
    (locked, FileKind.INDEX, "but the index of .*; 'cachelog import' reads it"),
    (locked, FileKind.TAG_LIST, "but a list of tags and stacks$"),
    (locked, FileKind.MANIFEST, "but a manifest of a build cache$"),
    (locked, FileKind.PAGE, "is a cache page, not a lock file"),
    (locked, FileKind.ENVIRONMENT, "is a spack.yaml, .*, not a lock file"),
    (locked, FileKind.EMPTY, "is empty$"),
]


@pytest.mark.parametrize(("read", "kind", "reason"), REFUSALS)
def test_other_kinds_are_named(
    read: Callable[[Path], Any], kind: FileKind, reason: str, tmp_path: Path
) -> None:
    """A reader that does not read a kind says which one the file is, whatever its name."""
    for form in FORMS.values():
        path = put(tmp_path / "spack.lock", form(TEXTS[kind][0]))
        with pytest.raises(SourceError, match=reason):
            read(path)
