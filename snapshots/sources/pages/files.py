"""The files that hold cache pages: which they are, and their bytes."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from stat import S_ISDIR

from snapshots.errors import SourceError
from snapshots.sources.files import read_regular, unreadable
from snapshots.sources.reports import Report

MAX_PAGE_BYTES = 64 << 20
"""How large a page may be; those of the public build cache have less than a hundredth of it."""


def page_files(paths: Sequence[Path], report: Report) -> Iterator[Path]:
    """Yield the files among the paths, and every page below the folders among them.

    A file that is reached in several ways is yielded once. Raises SourceError for a path that does
    not exist or a folder without a page; a folder that cannot be read goes to ``report.bad``.
    """
    seen: set[str] = set()
    for path in paths:
        try:
            mode = path.stat().st_mode
            real_path = os.path.realpath(path)
        except (FileNotFoundError, ValueError):  # ValueError: a NUL in it
            raise SourceError(str(path), "does not exist") from None
        except OSError as error:
            raise unreadable(str(path), error) from None
        if S_ISDIR(mode):
            num_skipped = len(report.skipped)
            found = sorted(_pages_below(str(path), real_path, report))
            if not found and len(report.skipped) == num_skipped:
                raise SourceError(str(path), "holds no cache pages (files named *.md)")
        else:
            found = [([], str(path), real_path)]
        for _, file, real in found:
            if real not in seen:
                seen.add(real)
                yield Path(file)


def read_bytes(file: Path) -> bytes:
    """Return the content of a page. Raises SourceError where it cannot be read, or is too large."""
    return read_regular(str(file), MAX_PAGE_BYTES)


def _pages_below(
    folder: str, real_folder: str, report: Report
) -> Iterator[tuple[list[str], str, str]]:
    """Yield the parts of each page's path, which pages are sorted by, the path and the real path.

    Links to folders are not followed. Hidden files and folders and READMEs are no pages.
    """
    # pathlib takes several times as long for this.
    pending = [(folder, real_folder)]
    while pending:
        folder, real_folder = pending.pop()
        try:
            with os.scandir(folder) as entries:
                visible = [entry for entry in entries if not entry.name.startswith(".")]
        except OSError as error:
            report.bad(unreadable(folder, error))
            continue
        for entry in visible:
            real = os.path.join(real_folder, entry.name)  # noqa: PTH118
            try:
                if entry.is_dir(follow_symlinks=False):
                    pending.append((entry.path, real))
                elif _is_page(entry):
                    if entry.is_symlink():
                        real = os.path.realpath(real)
                    yield entry.path.split(os.sep), entry.path, real  # noqa: PTH206
            except OSError as error:
                report.bad(unreadable(entry.path, error))


def _is_page(entry: os.DirEntry[str]) -> bool:
    """Tell whether an entry has a page's name; a link to a folder is none.

    Whether it can be read shows where it is read.
    """
    if not entry.name.endswith(".md") or entry.name.lower() == "readme.md":
        return False
    return not (entry.is_symlink() and entry.is_dir())
