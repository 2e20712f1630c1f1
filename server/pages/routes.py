"""Pages: what each is made of, and all of them in one list."""

from collections.abc import Mapping
from typing import Any

import msgspec

from server.pages.documents import PageDocument, document

_MEDIA_TYPES = {
    "html": b"text/html; charset=utf-8",
    "json": b"application/json",
    "md": b"text/markdown; charset=utf-8",
    "svg": b"image/svg+xml",
}


class Page(msgspec.Struct, frozen=True):
    """A page: where it is, the document that it asks, and the template that shows the answer.

    ``path`` is a path of Starlette's routes, whose parameters are variables of the document. The
    template has the document's name unless ``template`` gives another. ``subject`` is what the
    answer must have, by the names of its fields with dots: without it the page is not found.
    ``table`` is the list that can be had whole, as lines of CSV or JSON, named in the same way.
    ``leads_to`` is the path of another page, ``/hash/{hash}`` say, that an address leads to whose
    query gives all names in it: so a form without a script opens a page by its own address.
    A ``template`` that is not HTML is named with its suffix: ``notes.md``.
    """

    path: str
    query: str
    subject: str = ""
    template: str = ""
    table: str = ""
    leads_to: str = ""

    @property
    def document(self) -> PageDocument:
        """The document that it asks."""
        return document(self.query)

    @property
    def template_name(self) -> str:
        """The name of its template's file."""
        name = self.template or self.query
        return name if "." in name else f"{name}.html"

    @property
    def media_type(self) -> bytes:
        """What the page is sent as."""
        return _MEDIA_TYPES[self.template_name.rpartition(".")[2]]

    def has_subject(self, data: Mapping[str, Any]) -> bool:
        """Tell whether an answer has what the page is about; one that was refused has nothing."""
        value: Any = data or None
        for name in self.subject.split(".") if self.subject else ():
            value = value.get(name) if value else None
        return value is not None


COMPARISON = "/compare/{base}...{head}"
SPEC_PAIR = "/specs/{base}...{head}"


def _comparison(tab: str, query: str, table: str = "", template: str = "") -> Page:
    """Return a page of a comparison, with the table of this name."""
    table = table and f"compare.{table}"
    return Page(COMPARISON + tab, query, "compare", template, table)


PAGES = (
    Page("/", "home"),
    Page(
        "/series/{name}",
        "series",
        subject="series",
        table="series.revisions",
    ),
    Page(
        "/series/{name}/causes",
        "series_causes",
        subject="series.causes",
        table="series.causes",
    ),
    Page(
        "/search",
        "search",
        subject="revision",
        table="found.specs",
    ),
    Page("/packages", "packages", subject="packages", table="packages"),
    Page(
        "/packages/{name}",
        "catalog_package",
        subject="package",
        table="package.history.entries",
    ),
    Page("/packages/{name}/availability", "availability", subject="package"),
    Page("/r/{ref}", "revision", subject="revision", table="revision.packages"),
    Page(
        "/r/{ref}/packages/{name}",
        "package",
        subject="revision.package",
        table="revision.package.specs",
    ),
    Page(
        "/r/{ref}/stacks/{name}",
        "stack",
        subject="revision.stack",
        table="revision.stack.packages",
    ),
    Page(
        "/r/{ref}/specs/{hash}",
        "spec",
        subject="revision.spec",
        table="neededBy.spec.dependents",
    ),
    Page("/r/{ref}/holes", "holes", subject="revision", table="revision.holes"),
    Page(
        "/r/{ref}/twins",
        "twins",
        subject="revision",
        table="revision.twins",
    ),
    Page("/badge/{ref}/{name}.svg", "badge", subject="revision", template="badge.svg"),
    Page("/badge/{ref}/{name}.json", "badge", subject="revision", template="badge.json"),
    Page("/hash", "hash_form", leads_to="/hash/{hash}"),
    Page("/hash/{hash}", "hash", subject="hash"),
    Page("/specs", "spec_pair_form", leads_to=SPEC_PAIR),
    Page(SPEC_PAIR, "spec_pair", subject="compareSpecs"),
    Page("/commits/{oid}", "commit", subject="commit", table="commit.effects"),
    Page("/compare", "compare_pickers", leads_to=COMPARISON, table="revisions"),
    _comparison("", "compare", "causes"),
    Page(
        f"{COMPARISON}/causes/{{cause}}",
        "compare_cause",
        subject="compare.cause",
        table="compare.cause.specs",
    ),
    _comparison("/packages", "compare_packages", "packages"),
    _comparison("/specs", "compare_specs", "specs"),
    _comparison("/stacks", "compare_stacks", "stacks"),
    _comparison("/coverage", "compare_coverage", "coverage"),
    _comparison("/commits", "compare_commits", "commits"),
    _comparison("/packages/{packages}/commits", "compare_rebuilt", "specs"),
    _comparison("/specs/{hashPrefix}/commits", "compare_rebuilt", "specs"),
    _comparison("/notes", "compare_notes"),
    _comparison("/notes.md", "compare_notes_markdown", template="compare_notes.md"),
)

TABS = tuple(
    tab
    for tab in (
        page.path.removeprefix(COMPARISON) for page in PAGES if page.path.startswith(COMPARISON)
    )
    if "{" not in tab
)
"""What stands behind the address of a comparison: nothing for its causes, ``/packages``, others."""
