"""Rendering of pages: template filters, the environment, static assets, and responses."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from server.asgi.errors import RETRY_SECONDS
from server.asgi.responses import REVALIDATE, CacheKey, Headers, Response
from server.asgi.static_folder import STATIC as SHARED_STATIC
from server.asgi.static_folder import version_of
from server.pages import filters
from server.pages.addresses import Address
from server.pages.routes import Page
from snapshots import texts
from snapshots.changes.costs import BuildCost
from snapshots.changes.package_changes import PackageChangeKind
from snapshots.changes.vocabulary import PACKAGE_KINDS
from snapshots.recipes.commits import SpackChange, links_of
from snapshots.spack.names import ROOT_STACK
from snapshots.texts import is_plain, short_digest, visible

POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    b"connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'self'; "
    b"frame-ancestors 'none'"
)
"""Only scripts, styles and form targets of this server are allowed."""

_POLICY_HEADER = (b"content-security-policy", POLICY)
NO_STORE = b"no-store"
"""Cache-Control of responses that are valid for one request only."""

HTML = b"text/html; charset=utf-8"
_BUSY = 503


class PageResponse(Response):
    """A response with a page; ``code`` is the code of its error, if any."""

    def __init__(
        self,
        status: int,
        body: bytes,
        cache_control: bytes,
        *,
        content_type: bytes = HTML,
        code: str | None = None,
        more: Headers | None = None,
    ) -> None:
        headers = [_POLICY_HEADER, *(more or ())]
        if status == _BUSY and not any(name == b"retry-after" for name, _ in headers):
            headers.append((b"retry-after", str(RETRY_SECONDS).encode()))
        super().__init__(status, body, content_type, cache_control, more=headers)
        self.code = code
        self.key: CacheKey | None = None
        """The key in the cache, if it is cached."""


def redirect_to(link: str, *, status: int = 303) -> PageResponse:
    """Return a redirect: with status 303 from a form, with 308 permanently."""
    return PageResponse(status, b"", REVALIDATE, more=[(b"location", link.encode())])


UNKNOWN = texts.size(None)
MINUS = "\N{MINUS SIGN}"


def number(value: int | None) -> str:
    """Return a number with thousands separators."""
    return UNKNOWN if value is None else f"{value:,}"


def size(value: str | int | None) -> str:
    """Return a size in bytes in the largest suitable unit."""
    return texts.size(None if value is None else int(value))


def size_delta(value: str | int | None) -> str:
    """Return a difference of sizes with a sign."""
    if value is None:
        return UNKNOWN
    delta = int(value)
    sign = "+" if delta > 0 else MINUS if delta < 0 else ""  # the minus is as wide as the plus
    return f"{sign}{texts.size(abs(delta))}"


def moment(text: str) -> Markup:
    """Return the ``time`` element of a timestamp, which shows the day; a script adds its age."""
    at = datetime.fromisoformat(text)
    minute = texts.minute(at)
    day = minute.partition(" ")[0]
    return Markup(  # noqa: S704 - escaped
        f'<time datetime="{escape(text)}" title="{minute} UTC">{day}</time>'
    )


def words(name: str) -> str:
    """Return the name of an enum value in words: NEW_PACKAGE becomes "new package"."""
    return texts.in_words(name.lower())


def proven(revision: Mapping[str, Any]) -> str:
    """Return the result of verifying a revision's hashes, from ``numProven`` and ``unproven``."""
    unproven = [
        (counts["reason"].lower(), counts["numSpecs"]) for counts in revision["unproven"] or ()
    ]
    return texts.proven(revision["numProven"], unproven)


def href(link: str, fragment: str = "", **attributes: str) -> Markup:
    """Return the attribute ``href``, and other attributes that depend on it.

    Returns nothing if ``link`` is empty, as in an exported site; only the text is then shown.
    """
    if not link:
        return Markup()
    # Markup.format would take five times as long, and a page has hundreds of links.
    others = "".join(f' {name}="{escape(value)}"' for name, value in attributes.items())
    return Markup(f'{others} href="{escape(link)}{escape(fragment)}"')  # noqa: S704 - escaped


def package_kind(name: str) -> str:
    """Return the kind of a package change in words: VERSIONS_CHANGED becomes "other versions"."""
    return PACKAGE_KINDS[PackageChangeKind[name]]


def build_cost(counts: Mapping[str, Any]) -> str:
    """Return the build cost in words, from seconds, cost and costBasis; empty without costs."""
    if (basis := counts.get("costBasis")) is None:
        return ""
    numbers = basis["unit"], basis["numEstimated"], basis["numUnknown"]
    return str(BuildCost(counts["seconds"], counts["cost"], *numbers))


def capitalize_first(text: str) -> str:
    """Return a message with its first letter in upper case, and the rest unchanged."""
    return text[:1].upper() + text[1:]


_CELL = re.compile(r"<(tr|td|th)\b([^>]*)>")
_HEAD = re.compile(r"<th\b([^>]*)>(.*?)</th>", re.DOTALL)
_MARKUP = re.compile(r'<span aria-hidden="true">.*?</span>|<[^>]*>', re.DOTALL)
_SPAN = re.compile(r' colspan="(\d+)"')
_LABEL = re.compile(r' aria-label="([^"]*)"')
_INDENTED = re.compile(r"\n\s+")


def labelled(table: Markup) -> Markup:
    """Return a table with the heading of its column in each cell, as ``data-label``.

    The labels are shown on narrow screens, where rows are displayed as cards. Row headings get
    none. The indentation of rows is removed, so that the page does not become longer.
    """
    head, end, body = table.partition("</thead>")
    labels = []
    for attributes, content in _HEAD.findall(head):
        label = _LABEL.search(attributes)
        labels.append(label[1] if label else " ".join(_MARKUP.sub("", content).split()))
    column = 0

    def cell(match: re.Match[str]) -> str:
        nonlocal column
        name, attributes = match.groups()
        if name == "tr":
            column = 0
            return match[0]
        label = labels[column] if name == "td" and column < len(labels) else ""
        span = _SPAN.search(attributes)
        column += int(span[1]) if span else 1
        return f'<{name}{attributes} data-label="{label}">' if label else match[0]

    rows = _CELL.sub(cell, _INDENTED.sub("\n", body))
    return Markup(f"{head}{end}{rows}")  # noqa: S704 - of a template


FILTERS = {
    function.__name__: function
    for function in (
        *filters.FILTERS,
        *(labelled, number, size, size_delta, moment, words, proven, href),
        *(package_kind, build_cost, capitalize_first),
        *(texts.counted, texts.percent, texts.shares, texts.versioned),
        *(texts.short_hash, short_digest, texts.short_version),
    )
}
"""The functions that templates call by their names."""


STATIC = Path(__file__).with_name("static")
"""The folder of the pages' own scripts and styles."""

VENDOR = ("pico.css", "htmx.js", "uplot.js", "uplot.css")
"""Files that the build downloads; pages work without them."""


class Renderer:
    """Renders pages from their templates.

    ``public_url`` is the public URL of the server with a trailing slash, or empty if unknown. With
    ``has_graphiql``, pages link to GraphiQL with their documents, and with ``has_docs`` to the
    documentation. ``recipes_url`` is passed to ``links_of``, for links to comparisons of Spack's
    commits. Raises InvalidArgument for an invalid one.
    """

    def __init__(
        self,
        *,
        public_url: str = "",
        has_graphiql: bool = True,
        has_docs: bool = False,
        recipes_url: str = "",
    ) -> None:
        self._environment = _environment(
            has_graphiql=has_graphiql, has_docs=has_docs, recipes_url=recipes_url
        )
        self._public_url = public_url
        self._has_graphiql = has_graphiql

    def page(
        self,
        page: Page,
        address: Address,
        data: Mapping[str, Any],
        *,
        params: Mapping[str, str],
        variables: Mapping[str, Any],
        errors: list[dict[str, Any]],
    ) -> bytes:
        """Return the HTML of a page for an answer that has its subject."""
        graphiql_link = ""
        if self._has_graphiql:
            graphiql_link = address.to("graphql", **page.document.graphiql_parameters(variables))
        context = {
            **self._links(address),
            "params": params,
            "graphiql_link": graphiql_link,
            "errors": errors_by_part(errors),
        }
        template = self._environment.get_template(page.template_name)
        return template.render({**data, **context}).encode()

    def error(
        self,
        address: Address,
        status: int,
        title: str,
        error: Mapping[str, Any],
        nearest: Any,
    ) -> bytes:
        """Return the HTML of an error page, with links to the nearest matches."""
        template = self._environment.get_template("error.html")
        context = {"status": status, "title": title, "error": error, "nearest": nearest}
        return template.render({**self._links(address), **context}).encode()

    def _links(self, address: Address) -> Mapping[str, Any]:
        """Return the functions with which templates create links."""
        return {
            "address": address,
            "to": address.to,
            "here": address.here,
            "absolute": lambda link: link and address.absolute(link.strip(), self._public_url),
        }


@cache
def _environment(*, has_graphiql: bool, has_docs: bool, recipes_url: str) -> Environment:
    """Return the environment of these settings, cached because it compiles templates."""
    environment = Environment(
        loader=PackageLoader("server.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=with_visible_characters,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    links = links_of(recipes_url, "")
    environment.filters |= FILTERS
    environment.filters["spack_compare"] = lambda change: links.spack(
        SpackChange(change["before"], change["after"])
    )
    environment.globals.update(
        assets=assets(), has_graphiql=has_graphiql, has_docs=has_docs, ROOT_STACK=ROOT_STACK
    )
    return environment


def with_visible_characters(value: Any) -> Any:
    """Return a value to render; characters that hide or reorder text are written as escapes.

    Line breaks, which notes contain, are unchanged. The time is linear in the text's length.
    """
    if type(value) is not str or is_plain(value):
        return value
    shown = {ord(char): visible(char) for char in {*value} - {*"\n\r\t"}}
    return value.translate(shown)


def errors_by_part(errors: Iterable[dict[str, Any]]) -> Mapping[str, dict[str, Any] | None]:
    """Return the first error of each root field by its name; None for a field without errors."""
    by_part: defaultdict[str, dict[str, Any] | None] = defaultdict(lambda: None)
    for error in errors:
        if path := error.get("path"):
            by_part.setdefault(path[0], error)
    return by_part


def assets(static: Path = SHARED_STATIC) -> dict[str, str]:
    """Return the URLs of the files that pages load, relative to the root and with their versions.

    ``static`` is the folder that contains the files that the build downloads.
    """
    own = {
        file.name: f"static/pages/{file.name}?v={version_of(file)}"
        for file in sorted(STATIC.iterdir())
    }
    vendor = static / "vendor"
    brought = [name for name in VENDOR if (vendor / name).is_file()]
    return own | {name: f"static/vendor/{name}?v={version_of(vendor / name)}" for name in brought}
