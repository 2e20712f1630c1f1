"""The files that hold cache pages: which they are, and their bytes."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from snapshots.errors import SourceError
from snapshots.sources.reports import Report


def page_files(paths: Sequence[Path], report: Report) -> Iterator[Path]:
    """Yield the files among the paths, and every page below the folders among them.

    A file that is reached in several ways is yielded once. Raises SourceError for a path that does
    not exist or a folder without a page; a folder that cannot be read goes to ``report.bad``.
    """
    seen: set[str] = set()
    for path in paths:
        if path.is_dir():
            found = sorted(_pages_below(str(path), os.path.realpath(path), report))
            if not found and not report.skipped:
                raise SourceError(str(path), "holds no cache pages (files named *.md)")
        elif path.exists():
            found = [((), str(path), os.path.realpath(path))]
        else:
            raise SourceError(str(path), "does not exist")
        for _, file, real in found:
            if real not in seen:
                seen.add(real)
                yield Path(file)


def read_bytes(file: Path) -> bytes:
    """Return the content of a file. Raises SourceError where it cannot be read."""
    try:
        return file.read_bytes()
    except OSError as error:
        raise SourceError(str(file), f"cannot be read: {error.strerror}") from None


def _pages_below(
    folder: str, real_folder: str, report: Report
) -> Iterator[tuple[tuple[str, ...], str, str]]:
    """Yield the parts of each page's path, which pages are sorted by, the path and the real path.

    Links to folders are not followed. Hidden files and folders and READMEs are no pages.
    """
    # pathlib would take as long for this as reading all the pages.
    try:
        with os.scandir(folder) as entries:
            visible = [entry for entry in entries if not entry.name.startswith(".")]
    except OSError as error:
        report.bad(SourceError(folder, f"cannot be read: {error.strerror}"))
        return
    for entry in visible:
        real = os.path.join(real_folder, entry.name)  # noqa: PTH118
        if entry.is_dir(follow_symlinks=False):
            yield from _pages_below(entry.path, real, report)
        elif entry.name.endswith(".md") and entry.name.lower() != "readme.md" and entry.is_file():
            if entry.is_symlink():
                real = os.path.realpath(real)
            yield tuple(entry.path.split(os.sep)), entry.path, real  # noqa: PTH206
