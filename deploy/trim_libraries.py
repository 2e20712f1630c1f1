"""Makes an image smaller: ``python trim_libraries.py VENV`` removes what cachelog never loads.

That is what compilers, type checkers and the tests of libraries read, what pyarrow has for stores
and services that it is not used with, and what extension modules tell debuggers. The file RECORD of
each distribution follows, so that pip knows what is there. The program ``strip`` must be installed.
"""

import csv
import subprocess
import sys
from base64 import urlsafe_b64encode
from fnmatch import fnmatch
from hashlib import sha256
from pathlib import Path

NEEDLESS = (
    "*/tests/*",
    "*.pyi",
    "*.pxd",
    "*.pxi",
    "*.pyx",
    "pyarrow/include/*",
    "pyarrow/src/*",
    "pyarrow/_pyarrow_cpp_tests.*",
    # Object storage is deltalake's part, and remote services are nobody's.
    "pyarrow/*flight*",
    "pyarrow/libarrow_s3.*",
    "pyarrow/_s3fs.*",
    "pyarrow/_gcsfs.*",
    "pyarrow/_azurefs.*",
    "pyarrow/_hdfs.*",
    # Copies under the names that linkers look for; the loader looks for .so.2600, say.
    "pyarrow/libarrow_python*.so",
    "pyarrow/libarrow_python*.so.*.*.*",
)
"""Which files are removed: patterns of paths below site-packages. Their stars match slashes too."""


def trim(packages: Path) -> int:
    """Trim all distributions in a folder ``site-packages``, and return how many bytes are saved.

    Raises CalledProcessError where ``strip`` refuses a file, OSError where one cannot be written.
    """
    return sum(_trim_distribution(packages, record) for record in packages.glob("*/RECORD"))


def _trim_distribution(packages: Path, record: Path) -> int:
    """Trim what a RECORD lists; its format is that of "Recording installed projects" (PEP 376)."""
    with record.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    saved, kept = 0, []
    for name, digest, size in rows:
        path = packages / name
        before = path.stat().st_size if path.is_file() else 0
        if any(fnmatch(name, pattern) for pattern in NEEDLESS):
            path.unlink(missing_ok=True)
            saved += before
        elif _has_debug_sections(path):
            _strip(path)
            content = path.read_bytes()
            checksum = urlsafe_b64encode(sha256(content).digest()).decode().rstrip("=")
            kept.append((name, f"sha256={checksum}", len(content)))
            saved += before - len(content)
        else:
            kept.append((name, digest, size))
    # Written beside its place: a copy by hard links has the original left.
    written = record.with_suffix(".new")
    with written.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(kept)
    written.replace(record)
    return saved


def _has_debug_sections(path: Path) -> bool:
    # What stands in a folder NAME.libs was rewritten when the wheel was made, and is left alone.
    is_library = path.suffix == ".so" and path.parent.suffix != ".libs"
    return is_library and b"\0.debug_info\0" in path.read_bytes()


def _strip(path: Path) -> None:
    stripped = path.with_suffix(".new")
    command = ["strip", "--strip-debug", "-o", stripped, path]
    subprocess.run(command, check=True)  # noqa: S603
    stripped.replace(path)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    (site_packages,) = Path(sys.argv[1]).glob("lib/python*/site-packages")
    print(f"{trim(site_packages):,} bytes of {site_packages} were not needed")
