"""Which files of pages are read together: those that are likely to be of one tag."""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from snapshots.errors import SourceError
from snapshots.sources.pages.files import absolute, read_bytes
from snapshots.sources.pages.page import date_in_path, parse_page
from snapshots.sources.parts import State
from snapshots.sources.reports import Report


def folders_of_tags(files: Sequence[Path]) -> list[list[str]]:
    """Return the files in groups, both in their order.

    A group has the pages below one folder, ``TAG/PACKAGE/specs.md``, and below others whose first
    pages state the same tag, of the same date where their folders have one. Each group is likely to
    hold all pages of its tags on that date.
    """
    folders: defaultdict[Path, list[str]] = defaultdict(list)
    for file in files:
        folders[file.parent.parent].append(str(file))
    if len(folders) == 1:
        return [*folders.values()]
    groups: defaultdict[Path | State, list[str]] = defaultdict(list)
    for folder, found in folders.items():
        tag = _stated_tag(found[0])
        date = None if tag is None else date_in_path(absolute(Path(found[0])), tag)
        groups[folder if tag is None else (tag, date)] += found
    return [*groups.values()]


def _stated_tag(file: str) -> str | None:
    """Return the tag that a page states; None where it does not, or cannot be read."""
    try:
        return parse_page(read_bytes(Path(file)), file, Report(skip_bad=True)).tag
    except SourceError:
        return None
