"""Where pages are in a site."""

import pytest

from server.pages.addresses import path_of
from server.site.places import Places, page_file, relative
from snapshots.history import History


@pytest.mark.parametrize(
    ("address", "number", "file"),
    [
        ("/", 1, "index.html"),
        ("/series/develop", 1, "series/develop/index.html"),
        ("/series/develop", 3, "series/develop/page-3.html"),
        ("/series/a%2Bb", 1, "series/a+b/index.html"),
        ("/compare/a...b/notes", 1, "compare/a...b/notes/index.html"),
        ("/compare/a...b/notes.md", 1, "compare/a...b/notes.md"),
    ],
)
def test_pages_are_in_folders(address: str, number: int, file: str) -> None:
    """So that their addresses hold where a host answers for a folder with its index."""
    assert page_file(address, number) == file


def test_links_name_files_as_browsers_ask_for_them() -> None:
    """What a name has of signs with a meaning in addresses is escaped there, and not on a disk."""
    address = path_of("series", "a+b")
    places = Places(History([]))
    places.add(address, page_file(address))
    assert places.link("index.html", address) == "series/a%2Bb/index.html"
    assert relative("r/x/index.html", "r/y/page-2.html") == "../y/page-2.html"
    assert relative("a.html", "b.html") == "b.html"
