"""The image: its trimmed libraries (deploy/trim_libraries.py) and its base."""

import csv
import re
from base64 import urlsafe_b64encode
from hashlib import sha256
from pathlib import Path

import pytest

from deploy.trim_libraries import trim
from deploy.try_image import base_name
from tests.deploy.files import ROOT


def digest(content: bytes) -> str:
    """Return a checksum in the form of RECORD."""
    return "sha256=" + urlsafe_b64encode(sha256(content).digest()).decode().rstrip("=")


def rows_of(record: Path) -> dict[str, tuple[str, str]]:
    """Return the checksum and the size of each file that a RECORD lists."""
    with record.open(encoding="utf-8", newline="") as file:
        return {name: (checksum, size) for name, checksum, size in csv.reader(file)}


@pytest.mark.parametrize(
    ("name", "is_kept"),
    [
        ("pyarrow/lib.cpython-313-x86_64-linux-gnu.so", True),
        ("pyarrow/_fs.cpython-313-x86_64-linux-gnu.so", True),
        ("pyarrow/libarrow_substrait.so.2600", True),  # others are linked with it
        ("jinja2/tests.py", True),
        ("pyarrow/libarrow_python.so", False),
        ("pyarrow/libarrow_python.so.2600.1.0", False),
        ("pyarrow/libarrow_flight.so.2600", False),
        ("pyarrow/include/arrow/api.h", False),
        ("numpy/_core/tests/data/numbers.csv", False),
        ("numpy/__init__.pyi", False),
    ],
)
def test_unused_files_are_removed(name: str, is_kept: bool, tmp_path: Path) -> None:
    """RECORD lists the remaining files, so that pip can uninstall them."""
    file, record = tmp_path / name, tmp_path / "library-1.0.dist-info/RECORD"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"content")
    record.parent.mkdir()
    record.write_text(f"{name},{digest(b'content')},7\nlibrary-1.0.dist-info/RECORD,,\n", "utf-8")
    assert trim(tmp_path) == (0 if is_kept else 7)
    assert file.exists() is is_kept
    expected = {name: (digest(b"content"), "7")} if is_kept else {}
    assert rows_of(record) == expected | {"library-1.0.dist-info/RECORD": ("", "")}


def test_all_stages_have_the_same_base() -> None:
    """Files built in one stage run in another, and one argument replaces the base of all."""
    text = (ROOT / "Dockerfile").read_text("utf-8")
    stages = re.findall(r"^FROM (\S+)(?: AS (\S+))?$", text, re.MULTILINE)
    assert {base for base, _ in stages} - {name for _, name in stages} == {"${BASE}"}
    assert base_name() == "python:3.13-slim"
