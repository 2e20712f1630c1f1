"""Pages as HTML: filters, templates and the files that they load, and the responses."""

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
"""Scripts and styles are files of this server alone, and forms lead to it."""

_POLICY_HEADER = (b"content-security-policy", POLICY)
NO_STORE = b"no-store"
"""Cache-Control of what is true of one request alone."""

HTML = b"text/html; charset=utf-8"
_BUSY = 503


class PageResponse(Response):
    """A page; ``code`` says why it is one that tells of an error."""

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
        """What it is kept under, if it is."""


def led_to(link: str, *, status: int = 303) -> PageResponse:
    """Return what leads a browser to another address: 303 from a form, 308 for good."""
    return PageResponse(status, b"", REVALIDATE, more=[(b"location", link.encode())])


UNKNOWN = texts.size(None)
MINUS = "\N{MINUS SIGN}"


def number(value: int | None) -> str:
    """Return a number with its thousands apart."""
    return UNKNOWN if value is None else f"{value:,}"


def size(value: str | int | None) -> str:
    """Return a size in its largest unit."""
    return texts.size(None if value is None else int(value))


def size_delta(value: str | int | None) -> str:
    """Return a difference of sizes with its sign."""
    if value is None:
        return UNKNOWN
    delta = int(value)
    sign = "+" if delta > 0 else MINUS if delta < 0 else ""  # the minus is as wide as the plus
    return f"{sign}{texts.size(abs(delta))}"


def moment(text: str) -> Markup:
    """Return a moment as its day; a script adds how long ago that was."""
    at = datetime.fromisoformat(text)
    minute = texts.minute(at)
    day = minute.partition(" ")[0]
    return Markup(  # noqa: S704 - escaped
        f'<time datetime="{escape(text)}" title="{minute} UTC">{day}</time>'
    )


def words(name: str) -> str:
    """Return the name of an enum's value in words: NEW_PACKAGE, new package."""
    return texts.in_words(name.lower())


def proven(revision: Mapping[str, Any]) -> str:
    """Return what the hashes of a revision were found to be, of its numProven and unproven."""
    unproven = [
        (counts["reason"].lower(), counts["numSpecs"]) for counts in revision["unproven"] or ()
    ]
    return texts.proven(revision["numProven"], unproven)


def href(link: str, fragment: str = "", **attributes: str) -> Markup:
    """Return the attribute of a link, and those that no element has without one.

    Nothing where ``link`` leads nowhere, as in an exported site: its text then stays alone.
    """
    if not link:
        return Markup()
    # Not by Markup.format, which takes five times as long: a page has hundreds of links.
    others = "".join(f' {name}="{escape(value)}"' for name, value in attributes.items())
    return Markup(f'{others} href="{escape(link)}{escape(fragment)}"')  # noqa: S704 - escaped


def package_kind(name: str) -> str:
    """Return what happened to a package in words: VERSIONS_CHANGED, other versions."""
    return PACKAGE_KINDS[PackageChangeKind[name]]


def build_cost(counts: Mapping[str, Any]) -> str:
    """Return what building takes, of seconds, cost and costBasis; empty without costs."""
    if (basis := counts.get("costBasis")) is None:
        return ""
    numbers = basis["unit"], basis["numEstimated"], basis["numUnknown"]
    return str(BuildCost(counts["seconds"], counts["cost"], *numbers))


def capitalize_first(text: str) -> str:
    """Return a message as a sentence begins, the rest of it as it stands."""
    return text[:1].upper() + text[1:]


_CELL = re.compile(r"<(tr|td|th)\b([^>]*)>")
_HEAD = re.compile(r"<th\b([^>]*)>(.*?)</th>", re.DOTALL)
_MARKUP = re.compile(r'<span aria-hidden="true">.*?</span>|<[^>]*>', re.DOTALL)
_SPAN = re.compile(r' colspan="(\d+)"')
_LABEL = re.compile(r' aria-label="([^"]*)"')
_INDENTED = re.compile(r"\n\s+")


def labelled(table: Markup) -> Markup:
    """Return the rows of a table with the head of its column in each cell, as ``data-label``.

    So a cell can say what it is where rows are shown as cards. Heads of rows say it themselves.
    Without what indents the rows, so that the page is no longer than before.
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


FILTERS = {function.__name__: function for function in filters.FILTERS} | {
    "labelled": labelled,
    "number": number,
    "size": size,
    "size_delta": size_delta,
    "moment": moment,
    "words": words,
    "proven": proven,
    "package_kind": package_kind,
    "href": href,
    "build_cost": build_cost,
    "capitalize_first": capitalize_first,
    "counted": texts.counted,
    "percent": texts.percent,
    "shares": texts.shares,
    "versioned": texts.versioned,
    "short_hash": texts.short_hash,
    "short_digest": short_digest,
    "short_version": texts.short_version,
}


STATIC = Path(__file__).with_name("static")
"""The folder of the pages' own scripts and styles."""

VENDOR = ("pico.css", "htmx.js", "uplot.js", "uplot.css")
"""What the build brings; a page that lacks one of them works without."""


class Renderer:
    """Makes pages from their templates.

    ``public_url`` is where people reach the server, with a slash at its end; empty where nobody
    said so. With ``has_graphiql`` pages lead to the question that they ask, with ``has_docs`` to
    the documentation. ``recipes_url`` is as for ``links_of``: it says where two commits of Spack
    are compared. Raises InvalidArgument.
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
        """Return a page as HTML, for an answer that has its subject."""
        question = page.document.question(variables) if self._has_graphiql else None
        context = {
            **self._links(address),
            "params": params,
            "question": "" if question is None else address.to("graphql", **question),
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
        """Return the page that says what went wrong, and leads on."""
        template = self._environment.get_template("error.html")
        context = {"status": status, "title": title, "error": error, "nearest": nearest}
        return template.render({**self._links(address), **context}).encode()

    def _links(self, address: Address) -> Mapping[str, Any]:
        """Return what templates make links with."""
        return {
            "address": address,
            "to": address.to,
            "here": address.here,
            "absolute": lambda link: link and address.absolute(link.strip(), self._public_url),
        }


@cache
def _environment(*, has_graphiql: bool, has_docs: bool, recipes_url: str) -> Environment:
    """Return the environment that renderers with these settings share: it compiles templates."""
    environment = Environment(
        loader=PackageLoader("server.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=seen,
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


def seen(value: Any) -> Any:
    """Return what a template shows, with marks written out that turn or hide what stands there.

    Line breaks stay, which notes have. It takes no longer for a text of nothing but such marks.
    """
    if type(value) is not str or is_plain(value):
        return value
    shown = {ord(char): visible(char) for char in {*value} - {*"\n\r\t"}}
    return value.translate(shown)


def errors_by_part(errors: Iterable[dict[str, Any]]) -> Mapping[str, dict[str, Any] | None]:
    """Return the first error of each field of the root, by its name; None for one without."""
    by_part: defaultdict[str, dict[str, Any] | None] = defaultdict(lambda: None)
    for error in errors:
        if path := error.get("path"):
            by_part.setdefault(path[0], error)
    return by_part


def assets(static: Path = SHARED_STATIC) -> dict[str, str]:
    """Return the files that pages load: below the root of the server, with what tells contents.

    ``static`` is the folder with those that the build brought.
    """
    own = {
        file.name: f"static/pages/{file.name}?v={version_of(file)}"
        for file in sorted(STATIC.iterdir())
    }
    vendor = static / "vendor"
    brought = [name for name in VENDOR if (vendor / name).is_file()]
    return own | {name: f"static/vendor/{name}?v={version_of(vendor / name)}" for name in brought}
