"""URLs of pages in a site with the files that they lead to."""

from collections.abc import Callable

import pytest

from server.pages.addresses import Address, path_of
from server.site import MAX_PAGES, Site, SitePage, choose, relative
from snapshots.history import History
from tests.snapshots.factories import a_revision, day, digest_of

PAST = History([a_revision("develop", 1, "a"), a_revision("develop", 2, "b")])
B, A = (revision.ref for revision in PAST.of_tag("develop"))
PAIR = f"compare/{A}...{B}"
SERVER = "https://cache.example.org/"


def a_site(page: SitePage = SitePage(f"/r/{A}"), *, limit: int = 9, **urls: str) -> Site:  # noqa: B008
    """Return a site with both revisions and their comparison, of which a page is rendered."""
    site = Site(PAST, choose(PAST), limit=limit, **urls)
    site.page = page
    return site


def address_of(site: Site) -> Address:
    """Return the address of the page that is rendered."""
    return site.address(site.page.path, {"q": ["x"]})


@pytest.mark.parametrize(
    ("link", "bare", "with_server"),
    [
        (lambda page: page.to("r", "develop"), f"../{B}/index.html", None),
        (lambda page: page.to("r", "develop~1"), "index.html", None),
        (lambda page: page.to("r", digest_of("a")[:12]), "index.html", None),
        (lambda page: page.to("r", "nowhere"), "", f"{SERVER}r/nowhere"),
        (lambda page: page.to("compare", f"{A}...develop"), f"../../{PAIR}/index.html", None),
        (lambda page: page.to("r", "develop", q="x"), f"../{B}/index.html", None),
        (lambda page: page.to(), "../../index.html", None),
        (lambda page: page.to("search", q="a&b"), "", f"{SERVER}search?q=a%26b"),
        (lambda page: page.here(order="X"), "", f"{SERVER}r/{A}?q=x&order=X"),
        (lambda page: page.here(q=None), "index.html", None),
        (lambda page: page.same_at("r", B, q=None), f"../{B}/index.html", None),
        (lambda page: page.to("r", A, "specs", "h"), "../../hash/h/index.html", None),
        (lambda page: page.root, "../../", None),
    ],
)
def test_links_lead_to_files_or_to_a_server(
    link: Callable[[Address], str], bare: str, with_server: str | None
) -> None:
    """By the refs of names; without a file or a server, they are empty."""
    assert link(address_of(a_site())) == bare
    assert link(address_of(a_site(server_url=SERVER))) == (with_server or bare)


def test_pages_of_a_list_are_linked() -> None:
    """Up to a maximum; the URL of a page itself is no further page."""
    site = a_site(SitePage(f"/r/{A}", 2, "after=y"))
    assert site.page.file == f"r/{A}/page-2.html"
    address = site.address(f"/r/{A}", {"after": ["y"]})
    assert [address.here(before="a"), address.here(after="z"), address.here(after="y")] == [
        "index.html",
        "page-3.html",
        "page-2.html",
    ]
    assert [page.number for page in site.waiting if page.path == f"/r/{A}"] == [3]
    site.page = SitePage(f"/r/{A}", MAX_PAGES, "after=y")
    assert address.here(after="z") == ""


def test_canonical_and_escaped_urls() -> None:
    """The one needs the URL of the site; the others have files with unescaped names."""
    base = "https://example.org/"
    assert address_of(a_site()).absolute("../r/x", "") == ""
    assert address_of(a_site(base_url=base)).absolute("../r/x", "") == f"{base}r/{A}/"
    site = a_site(SitePage("/"))
    assert site.link(path_of("packages", "a+b"), "") == "packages/a%2Bb/index.html"
    assert relative("r/x/index.html", "r/y/page-2.html") == "../y/page-2.html"
    assert relative("a.html", "b.html") == "b.html"


def test_limit_applies_to_each_kind() -> None:
    """Pages of revisions are not limited; names that are no file names have no pages."""
    site = a_site(limit=1)
    paths = [path_of("hash", "a"), path_of("hash", "b"), path_of("commits", "c")]
    assert [site.require(path) is not None for path in paths] == [True, False, True]
    assert site.require(paths[0]) == "hash/a/index.html"
    for name in ("..", "a/b", "x" * 300, "\x1b"):
        assert site.require(path_of("packages", name)) is None
    tabs = [f"/{PAIR}/{tab}" for tab in ("packages", "notes", "notes.md")]
    assert all(map(site.require, tabs))
    assert [page.path for page in site.waiting][-3:] == tabs


def test_other_revisions_have_no_pages() -> None:
    """Nor have details of others than the newest, other comparisons, and pages of forms."""
    site = Site(PAST, choose(PAST, last=1), limit=9)
    for path in (f"/r/{A}", f"/compare/{B}...{A}", "/search", "/specs", "/badge/a/b.svg"):
        assert site.require(path) is None
    for path in (f"/r/{B}", f"/r/{B}/specs/x", f"/{PAIR}/notes"):
        assert site.require(path) is not None
    assert Site(PAST, choose(PAST), limit=9).require(f"/r/{A}/holes") is None


def test_series_are_chosen_by_name_and_time() -> None:
    """Those without revisions are omitted; there are the newest revisions of the others."""
    assert choose(PAST) == {"develop": [*PAST.of_series("develop")]}
    assert choose(PAST, last=1) == {"develop": [PAST.revisions[0]]}
    assert choose(PAST, since=PAST.revisions[0].taken_at) == {"develop": [PAST.revisions[0]]}
    assert choose(PAST, since=day(9)) == {}
