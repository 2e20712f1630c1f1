"""The files that hold cache pages: which they are, and their bytes."""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from stat import S_ISDIR

from snapshots.errors import SourceError
from snapshots.sources.files import open_regular, read_regular, unreadable
from snapshots.sources.reports import Report

MAX_PAGE_BYTES = 64 << 20
"""How large a page may be; those of the public build cache have less than a hundredth of it."""

_PAGE = "specs.md"
"""What the site's generator calls every page: one that is damaged is no other file."""

_HEAD_BYTES = 4096
_HEAD = re.compile(
    rb"(?:\xef\xbb\xbf)?---[ \t]*\r?\n"
    rb"(?:.*\n)*?(?:meta:[ \t]*\{|spec_(?:details|names|files):|layout:[ \t]*[\"']?cache\b)"
)
"""How a cache page begins: front matter, and below one of the keys that only such pages have."""


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
                reason = "holds no cache pages, and is no build cache and no installation's folder"
                raise SourceError(str(path), reason)
        else:
            found = [([], str(path), real_path)]
        for _, file, real in found:
            if real not in seen:
                seen.add(real)
                yield Path(file)


def read_bytes(file: Path) -> bytes:
    """Return the content of a page. Raises SourceError where it cannot be read, or is too large."""
    return read_regular(str(file), MAX_PAGE_BYTES)


def absolute(file: Path) -> Path:
    """Return the whole path of a file. Raises SourceError where the working directory is gone."""
    try:
        return file.absolute()
    except OSError as error:
        raise unreadable(str(file), error) from None


def _pages_below(
    folder: str, real_folder: str, report: Report
) -> Iterator[tuple[list[str], str, str]]:
    """Yield the parts of each page's path, which pages are sorted by, the path and the real path.

    How a file begins tells whether it is a page. Links to folders are not followed; hidden files
    and folders are passed over. ``report.warn`` has the Markdown files that are no pages.
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
                elif _is_page(entry, report):
                    if entry.is_symlink():
                        real = os.path.realpath(real)
                    yield entry.path.split(os.sep), entry.path, real  # noqa: PTH206
            except OSError as error:
                report.bad(unreadable(entry.path, error))


def _is_page(entry: os.DirEntry[str], report: Report) -> bool:
    """Tell whether an entry is a page by its name or, under any other name, by its content.

    Whether it can be read as one shows where it is read. Raises OSError.
    """
    if entry.name == _PAGE:
        return not (entry.is_symlink() and entry.is_dir())
    is_markdown = entry.name.endswith(".md") and entry.name.lower() != "readme.md"
    if not entry.is_file():
        return is_markdown and not entry.is_dir()
    try:
        file, _ = open_regular(entry.path)
        with file:
            head = file.read(_HEAD_BYTES)
    except SourceError as error:
        report.bad(error)
        return False
    # What a crash leaves of a page, nothing or zeros, must not pass for another file.
    if _HEAD.match(head) or (is_markdown and (not head or b"\0" in head)):
        return True
    if is_markdown:
        report.warn(f"{entry.path}: is no cache page, and is passed over")
    return False
