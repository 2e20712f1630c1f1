"""The definition of a page, and the list of pages that are one document each.

``check.py`` has those with forms of lock files.
"""

from typing import Any

import msgspec

from server.pages.documents import DocumentAnswer, PageDocument, document

_MEDIA_TYPES = {
    "html": b"text/html; charset=utf-8",
    "json": b"application/json",
    "md": b"text/markdown; charset=utf-8",
    "svg": b"image/svg+xml",
}


class Page(msgspec.Struct, frozen=True):
    """A page: its path, its GraphQL document, and the template that renders the answer.

    ``path`` is a path of a Starlette route, whose parameters are variables of the document.
    ``template`` is the name of the template if it differs from that of the document; a template
    that is not HTML is named with its suffix, such as ``notes.md``. ``subject`` is the dotted path
    of the field that the answer must have; without it, the page is not found. ``table`` is the
    dotted path of the list that can be exported as CSV: its document has the variable
    ``isPage`` and, if the list is a connection, ``first``, ``after``, ``last`` and ``before``, and
    selects the ref of each revision above the list, and of a comparison also ``baseStack`` and
    ``headStack``. ``leads_to`` is the path of another page,
    such as ``/specs/{base}...{head}``: a request whose query has all names in it is redirected
    there, so that forms work without scripts. ``decision`` is the name of a document whose field
    ``destination`` is the path of the page that a request is redirected to, unless it is null, or
    the query has other names than ``q``.
    """

    path: str
    document_name: str
    subject: str = ""
    template: str = ""
    table: str = ""
    leads_to: str = ""
    decision: str = ""

    @property
    def document(self) -> PageDocument:
        """The page's GraphQL document."""
        return document(self.document_name)

    @property
    def template_name(self) -> str:
        """The file name of the template."""
        name = self.template or self.document_name
        return name if "." in name else f"{name}.html"

    @property
    def media_type(self) -> bytes:
        """The Content-Type of the page."""
        return _MEDIA_TYPES[self.template_name.rpartition(".")[2]]

    def has_subject(self, answered: DocumentAnswer) -> bool:
        """Return whether an answer has the page's subject, and a part of it that is the table.

        A refused document has no data.
        """
        value: Any = answered.data or None
        for name in self.subject.split(".") if self.subject else ():
            value = value.get(name) if value else None
        table = self.table.split(".")
        is_needed = not self.subject or table[0] == self.subject.split(".")[0]
        failed = is_needed and any(error.get("path") == table for error in answered.errors)
        return value is not None and not failed


COMPARISON = "/compare/{base}...{head}"
SPEC_PAIR = "/specs/{base}...{head}"


def _comparison(
    tab: str, document_name: str, table: str = "", subject: str = "", template: str = ""
) -> Page:
    """Return a page of a comparison; table and subject are relative to the field ``compare``."""
    table, subject = (path and f"compare.{path}" for path in (table, subject))
    return Page(COMPARISON + tab, document_name, subject or "compare", template, table)


PAGES = (
    Page("/", "home"),
    Page("/series/{name}", "series", "series", table="series.revisions"),
    Page("/series/{name}/causes", "series_causes", "series.causes", table="series.causes"),
    Page("/search", "search", "revision", table="found.specs", decision="destination"),
    Page("/packages", "packages", "packages", table="packages"),
    Page("/packages/{name}", "catalog_package", "package", table="package.seriesPackage.entries"),
    Page("/packages/{name}/availability", "availability", "package"),
    Page("/r/{ref}", "revision", "revision", table="revision.packages"),
    Page("/r/{ref}/packages/{name}", "package", "revision.package", table="revision.package.specs"),
    Page("/r/{ref}/stacks/{name}", "stack", "revision.stack", table="revision.stack.packages"),
    Page("/r/{ref}/specs/{hash}", "spec", "revision.spec", table="neededBy.spec.dependents"),
    Page("/r/{ref}/holes", "holes", "revision", table="revision.holes"),
    Page("/r/{ref}/twins", "twins", "revision", table="revision.twins"),
    Page("/badge/{ref}/{name}.svg", "badge", "revision", template="badge.svg"),
    Page("/badge/{ref}/{name}.json", "badge", "revision", template="badge.json"),
    Page("/hash/{hash}", "hash", "hash"),
    Page("/specs", "spec_pair_form", leads_to=SPEC_PAIR),
    Page(SPEC_PAIR, "spec_pair", "compareSpecs"),
    Page("/commits/{oid}", "commit", "commit", table="commit.effects"),
    Page("/compare", "compare_pickers", leads_to=COMPARISON, table="revisions"),
    _comparison("", "compare", "causes"),
    _comparison("/causes/{cause}", "compare_cause", "cause.specs", "cause"),
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

UNEXPLAINED = _comparison("", "compare_explaining")
"""The page in place of any of a comparison that is still being explained."""

TABS = tuple(
    page.path.removeprefix(COMPARISON)
    for page in PAGES
    if page.path.startswith(COMPARISON) and page.path.count("{") == COMPARISON.count("{")
)
"""The suffixes of a comparison's path: empty for its causes, ``/packages``, and so on."""
