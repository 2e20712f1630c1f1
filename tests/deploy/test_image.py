"""The image: its trimmed libraries (deploy/trim_libraries.py) and its base."""

import csv
import os
import re
import shutil
import subprocess
import sys
from base64 import urlsafe_b64encode
from hashlib import sha256
from importlib.metadata import distribution
from pathlib import Path
from sysconfig import get_path

import pytest

from deploy.trim_libraries import trim
from deploy.try_image import base_name
from tests.deploy.files import ROOT

HEAVY = ("arro3-core", "deltalake", "numpy", "pyarrow", "uvloop", "zstandard")
"""The libraries from which most bytes are removed."""


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


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """Return a copy of the libraries that are trimmed most, of hard links if possible."""
    copied, source = tmp_path / "packages", Path(get_path("platlib"))
    for name in HEAVY:
        for file in distribution(name).files or ():
            if ".." not in file.parts and (source / file).is_file():
                (copied / file).parent.mkdir(parents=True, exist_ok=True)
                try:
                    (copied / file).hardlink_to(source / file)
                except OSError:  # another file system
                    shutil.copy(source / file, copied / file)
    return copied


@pytest.mark.skipif(
    not shutil.which("strip") and "CI" not in os.environ, reason="strip is not installed"
)
def test_cachelog_runs_with_trimmed_libraries(packages: Path, tmp_path: Path) -> None:
    """It publishes and verifies; RECORD matches the files, and more than 80 MB are saved."""
    assert trim(packages) > 80e6
    for record in packages.glob("*/RECORD"):
        for name, (checksum, size) in rows_of(record).items():
            if checksum and ".." not in name:
                content = (packages / name).read_bytes()
                assert (digest(content), str(len(content))) == (checksum, size), name
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(packages), str(ROOT)])}
    catalog = str(tmp_path / "catalog")
    run = [sys.executable, "-m", "server"]
    demo = ["demo", "--revisions", "2", "--packages", "9", "--specs", "30", "--catalog", catalog]
    for words in (demo, ["verify", "--catalog", catalog]):
        subprocess.run([*run, *words], env=environ, cwd=tmp_path, check=True)
    imports = "import pyarrow.compute, pyarrow.dataset, pyarrow.fs, pyarrow.parquet, uvloop as it"
    script = [sys.executable, "-c", f"{imports}; print(pyarrow.__file__, it.__file__)"]
    done = subprocess.run(script, env=environ, check=True, capture_output=True, text=True)
    assert all(path.startswith(str(packages)) for path in done.stdout.split())


def test_all_stages_have_the_same_base() -> None:
    """Files built in one stage run in another, and one argument replaces the base of all."""
    text = (ROOT / "Dockerfile").read_text("utf-8")
    stages = re.findall(r"^FROM (\S+)(?: AS (\S+))?$", text, re.MULTILINE)
    assert {base for base, _ in stages} - {name for _, name in stages} == {"${BASE}"}
    assert base_name() == "python:3.13-slim"
