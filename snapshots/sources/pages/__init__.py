"""Cache pages: one Markdown file per package and tag, as the build-cache site keeps them.

``_cache/TAG/PACKAGE/specs.md``: front matter with a ``meta`` summary and ``spec_details``, a list
with one object per spec. Pages of every year can be read except those of 2022, which hold no
hashes.
"""

from snapshots.sources.pages.files import MAX_PAGE_BYTES
from snapshots.sources.pages.page import Page, parse_page, tag_in_path
from snapshots.sources.pages.reading import read, read_apart

__all__ = ["MAX_PAGE_BYTES", "Page", "parse_page", "read", "read_apart", "tag_in_path"]
