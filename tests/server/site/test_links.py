"""URLs of pages in a site, and the files that they lead to."""

from collections.abc import Callable

import pytest

from server.pages.addresses import Address, path_of
from server.site.links import MAX_PAGES, SiteLinks, SitePage, page_file, relative
from snapshots.history import History
from tests.snapshots.factories import a_revision, digest_of

PAST = History([a_revision("develop", 1, "a"), a_revision("develop", 2, "b")])
A, B = digest_of("a"), digest_of("b")
SERVER = "https://cache.example.org/"


def site_links(page: SitePage = SitePage(f"/r/{A}"), **urls: str) -> SiteLinks:  # noqa: B008
    """Return the links of a site with both revisions and their comparison."""
    links = SiteLinks(PAST, **urls)
    for address in (f"/r/{A}", f"/r/{B}", f"/compare/{A}...{B}", "/"):
        links.add(address, page_file(address))
    links.begin(page)
    return links


def address_of(links: SiteLinks) -> Address:
    """Return the address of the page that is rendered."""
    return links.address(links.page.address, {"q": ["x"]})


@pytest.mark.parametrize(
    ("link", "bare", "with_server"),
    [
        (lambda page: page.to("r", "develop"), f"../{B}/index.html", None),
        (lambda page: page.to("r", "develop~1"), "index.html", None),
        (lambda page: page.to("r", A[:12]), "index.html", None),
        (lambda page: page.to("r", "nowhere"), "", f"{SERVER}r/nowhere"),
        (
            lambda page: page.to("compare", f"{A[:12]}...develop"),
            f"../../compare/{A}...{B}/index.html",
            None,
        ),
        (lambda page: page.to("r", "develop", q="x"), f"../{B}/index.html", None),
        (lambda page: page.to(), "../../index.html", None),
        (lambda page: page.to("search", q="a&b"), "", f"{SERVER}search?q=a%26b"),
        (lambda page: page.here(order="X"), "", f"{SERVER}r/{A}?q=x&order=X"),
        (lambda page: page.here(q=None), "index.html", None),
        (lambda page: page.same_at("r", B, q=None), f"../{B}/index.html", None),
        (lambda page: page.root, "../../", None),
    ],
)
def test_links_lead_to_files_or_to_a_server(
    link: Callable[[Address], str], bare: str, with_server: str | None
) -> None:
    """By the digests of names; without a file or a server, they are empty."""
    assert link(address_of(site_links())) == bare
    assert link(address_of(site_links(server_url=SERVER))) == (with_server or bare)


def test_targets_of_a_page_are_recorded() -> None:
    """They record which targets the site has; static files are no targets."""
    links = site_links()
    address = address_of(links)
    assert (address.is_live, address.has_server) == (False, False)
    assert address_of(site_links(server_url=SERVER)).has_server
    address.to("r", "develop")
    address.to("series", "develop")
    assert links.targets == {f"/r/{B}": True, "/series/develop": False}
    assert links.still_lead(links.targets)
    links.add("/series/develop", "series/develop/index.html")
    assert not links.still_lead(links.targets)


def test_pages_of_a_list_are_linked() -> None:
    """Up to a maximum; the URL of a page itself is no further page."""
    links = site_links(SitePage(f"/r/{A}", 2, "after=y"))
    assert links.page.file == f"r/{A}/page-2.html"
    address = links.address(f"/r/{A}", {"after": ["y"]})
    assert [address.here(before="a"), address.here(after="z"), address.here(after="y")] == [
        "index.html",
        "page-3.html",
        "page-2.html",
    ]
    assert links.next == f"/r/{A}?after=z"
    last = site_links(SitePage(f"/r/{A}", MAX_PAGES, "after=y"))
    assert last.address(f"/r/{A}", {"after": ["y"]}).here(after="z") == ""
    assert last.next == ""


def test_canonical_url_needs_a_base_url() -> None:
    """Only if the URL of the site is configured."""
    base = "https://example.org/"
    assert address_of(site_links()).absolute("../r/x", "") == ""
    assert address_of(site_links(base_url=base)).absolute("../r/x", "") == f"{base}r/{A}/"


def test_links_are_escaped() -> None:
    """Reserved characters are escaped in links, but not in file names."""
    links = SiteLinks(History([]))
    address = path_of("series", "a+b")
    links.add(address, page_file(address))
    assert links.link(address, "") == "series/a%2Bb/index.html"
    assert relative("r/x/index.html", "r/y/page-2.html") == "../y/page-2.html"
    assert relative("a.html", "b.html") == "b.html"
