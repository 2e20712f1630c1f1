"""URLs of pages in a site with the files that they lead to, and the documents of a site."""

from collections.abc import Callable

import pytest

from server.pages.addresses import Address, path_of
from server.site.links import MAX_PAGES, SiteLinks, SitePage, page_file, relative
from server.site.queries import Role, built_in_documents, choose, documents_of
from snapshots.errors import InvalidArgument
from snapshots.history import History
from tests.snapshots.factories import a_revision, digest_of

PAST = History([a_revision("develop", 1, "a"), a_revision("develop", 2, "b")])
B, A = (revision.ref for revision in PAST.of_tag("develop"))
PAIR = f"compare/{A}...{B}"
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
        (lambda page: page.to("r", digest_of("a")[:12]), "index.html", None),
        (lambda page: page.to("r", "nowhere"), "", f"{SERVER}r/nowhere"),
        (lambda page: page.to("compare", f"{A}...develop"), f"../../{PAIR}/index.html", None),
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
    """By the refs of names; without a file or a server, they are empty."""
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


def test_canonical_and_escaped_urls() -> None:
    """The one needs the URL of the site; the others have files with unescaped names."""
    base = "https://example.org/"
    assert address_of(site_links()).absolute("../r/x", "") == ""
    assert address_of(site_links(base_url=base)).absolute("../r/x", "") == f"{base}r/{A}/"
    links = SiteLinks(History([]))
    address = path_of("series", "a+b")
    links.add(address, page_file(address))
    assert links.link(address, "") == "series/a%2Bb/index.html"
    assert relative("r/x/index.html", "r/y/page-2.html") == "../y/page-2.html"
    assert relative("a.html", "b.html") == "b.html"


WEEKS = History(
    [
        a_revision("develop-2025-01-05", 5, "a"),
        a_revision("develop-2025-01-12", 12, "b"),
        a_revision("develop-2025-01-19", 19, "b"),
        a_revision("develop-2025-01-26", 26, "c"),
        a_revision("v1.0", 27, "c"),
    ]
)


@pytest.mark.parametrize(
    ("text", "roles"),
    [
        ("{ tags { name } }", {}),
        ("query($a: String!) { revision(ref: $a) { tag } }", {"a": Role.REVISION}),
        ("query($a: String) { revision(ref: $a) { tag } }", {"a": Role.REVISION}),
        ("query($n: String!) { x: series(name: $n) { name } }", {"n": Role.SERIES}),
        (
            "query($h: String!, $b: String!) { ...F } "
            "fragment F on Query { compare(base: $b, head: $h) { leftOut } }",
            {"h": Role.HEAD, "b": Role.BASE},
        ),
        ("query($n: Int! = 3) { revisions(first: $n) { totalCount } }", {}),
    ],
)
def test_roles_of_variables_follow_from_their_use(text: str, roles: dict[str, Role]) -> None:
    """They depend on their use, also in fragments, not on names; others keep their defaults."""
    (document,) = documents_of({"it": text})
    assert document.roles == roles


@pytest.mark.parametrize(
    ("id_", "text", "reason"),
    [
        ("../x", "{ tags { name } }", "cannot be the name of a folder"),
        (".x", "{ tags { name } }", "cannot be the name of a folder"),
        ("a", "{ tags { name }", "Syntax Error"),
        ("a", "{ tagz { name } }", "Cannot query field 'tagz'"),
        ("a", "query A { tags { name } } query B { tags { name } }", "one operation"),
        ("a", "query($h: String!) { hash(hash: $h) { hash } }", "$h has no default"),
        (
            "a",
            "query($a: String!) { compare(base: $a, head: $a) { leftOut } }",
            "$a has two meanings",
        ),
        (
            "a",
            'query($a: String!) { compare(base: "x", head: $a) { leftOut } }',
            "both base and head",
        ),
    ],
)
def test_unanswerable_documents_are_errors(id_: str, text: str, reason: str) -> None:
    """The error states the id of the document and the reason."""
    with pytest.raises(InvalidArgument) as error_info:
        documents_of({id_: text})
    assert error_info.value.name == "--documents"
    assert reason in error_info.value.reason


def test_queries_are_unique() -> None:
    """Revisions that share contents have their own; equal neighbours are no change."""
    variables_by_name = {
        own_document.name: [
            dict(request.variables) for request in own_document.requests(choose(WEEKS))
        ]
        for own_document in built_in_documents()
    }
    refs = [row["ref"] for row in variables_by_name["Revision"]]
    assert sorted(refs) == sorted(revision.ref for revision in WEEKS.revisions)
    pairs = [(row["base"], row["head"]) for row in variables_by_name["Comparison"]]
    assert len(pairs) == len({*pairs})
    assert {*pairs} == {
        (both.base.ref, both.head.ref)
        for name in WEEKS.series_names
        for both in WEEKS.neighbours(name)
        if both.base is not None and both.base.digest != both.head.digest
    }
    assert variables_by_name["Notes"] == variables_by_name["Comparison"]
    assert [row["name"] for row in variables_by_name["Series"]] == WEEKS.series_names
    assert variables_by_name["AllSeries"] == [{}]


def test_revisions_are_chosen() -> None:
    """By series, time and number, newest first."""
    dated = WEEKS.of_series("develop-DATE")
    assert list(choose(WEEKS, ["develop-DATE"], last=2).revisions.values()) == [dated[:2]]
    assert choose(WEEKS, since=dated[0].taken_at).revisions.keys() == set(WEEKS.series_names)
    (first, *_) = choose(WEEKS, ["develop-DATE"], since=dated[1].taken_at).revisions.values()
    assert first == dated[:2]
    assert choose(WEEKS, ["nothing"]).revisions == {}
