"""Pages of a server as pages of a site."""

import pytest

from server.site.linking import Page, linked
from server.site.places import MAX_PAGES, Places
from snapshots.history import History
from tests.snapshots.factories import a_revision, digest_of

PAST = History([a_revision("develop", 1, "a"), a_revision("develop", 2, "b")])
A, B = digest_of("a"), digest_of("b")
PAGE = Page(f"/r/{A}")
SERVER = "https://cache.example.org/"


def places(server_url: str = "") -> Places:
    """Return those of a site with both revisions, and what changed between them."""
    found = Places(PAST, server_url)
    for address in (f"/r/{A}", f"/r/{B}", f"/compare/{A}...{B}", "/"):
        found.add(address, f"{address}/index.html".lstrip("/"))
    return found


def written(text: str, page: Page = PAGE, server_url: str = "", base_url: str = "") -> str:
    """Return what becomes of a page's text."""
    return linked(text.encode(), page, places(server_url), base_url).body.decode()


@pytest.mark.parametrize(
    ("before", "bare", "with_server"),
    [
        ('<a href="../r/develop">x</a>', f'<a href="../{B}/index.html">x</a>', None),
        ('<a href="../r/develop~1#p">x</a>', '<a href="index.html#p">x</a>', None),
        (f'<a href="../r/{A[:12]}">x</a>', '<a href="index.html">x</a>', None),
        (
            f'<a href="../compare/{A[:12]}...develop">x</a>',
            f'<a href="../../compare/{A}...{B}/index.html">x</a>',
            None,
        ),
        ('<a href="#x">x</a>', '<a href="#x">x</a>', None),
        ('<a href="https://a.example/r/b">x</a>', '<a href="https://a.example/r/b">x</a>', None),
        (
            '<script src="../static/pages/x.js?v=1" defer></script>',
            '<script src="../../static/pages/x.js?v=1" defer></script>',
            None,
        ),
        (
            '<a class="k" rel="next" href="../search?q=a&amp;b=&quot;">x &lt; y</a>',
            '<a class="k">x &lt; y</a>',
            f'<a class="k" rel="next" href="{SERVER}search?q=a&amp;b=&quot;">x &lt; y</a>',
        ),
        ('<a href="?order=X">x</a>', "<a>x</a>", f'<a href="{SERVER}r/{A}?order=X">x</a>'),
        ('<p data-for="server">a <b>c</b></p>d', "d", '<p data-for="server">a <b>c</b></p>d'),
        ('<form action="?"><a href="?">f</a></form>é', "é", "é"),
        ('<div hx-get="../x" id="y">z</div>', '<div id="y">z</div>', None),
        ('<link rel="alternate" href="../feeds/a.atom">z', "z", None),
        ("<script>if (a < b) '<a href=\"x\">'</script>&amp", None, None),
    ],
)
def test_links_lead_to_files_or_to_a_server(
    before: str, bare: str | None, with_server: str | None
) -> None:
    """By the digests that names stand for; without either they are none. All else stays."""
    assert written(before) == (before if bare is None else bare)
    if with_server is not None:
        assert written(before, server_url=SERVER) == with_server


def test_the_menu_has_only_what_leads_somewhere() -> None:
    """Elsewhere the text of a link stays."""
    menu = '<nav aria-label="Main"><a href="../check">x</a><a href="../">y</a></nav>'
    text = f'{menu}<a href="../z">z</a>'
    shown = '<nav aria-label="Main"><a href="../../index.html">y</a></nav><a>z</a>'
    assert written(text) == shown


def test_lists_go_on() -> None:
    """From page to page, to a certain length; a page's own address is no further page."""
    text = '<a href="?before=a">b</a><a href="?after=z">n</a><a href="?after=y">s</a>'
    second = Page(PAGE.address, 2, "after=y")
    found = linked(text.encode(), second, places())
    assert second.file == f"r/{A}/page-2.html"
    assert found.next == f"{PAGE.address}?after=z"
    assert found.body.decode() == (
        '<a href="index.html">b</a><a href="page-3.html">n</a><a href="page-2.html">s</a>'
    )
    last = linked(text.encode(), Page(PAGE.address, MAX_PAGES, "after=y"), places())
    assert last.next is None
    assert b"<a>n</a>" in last.body


def test_pages_say_where_they_are_for_good() -> None:
    """Where somebody said where the site is going to be."""
    text = '<link rel="canonical" href="../r/x"><meta property="og:url" content="../r/x">'
    base = "https://example.org/"
    assert written(text) == ""
    assert written(text, base_url=base) == (
        f'<link rel="canonical" href="{base}r/{A}/"><meta property="og:url" content="{base}r/{A}/">'
    )
