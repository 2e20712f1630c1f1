"""Rendering of pages: responses, the environment of templates, and static assets."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from server.asgi.errors import RETRY_SECONDS
from server.asgi.responses import REVALIDATE, Headers, Response
from server.asgi.static_folder import STATIC as SHARED_STATIC
from server.asgi.static_folder import version_of
from server.pages import filters
from server.pages.addresses import Address
from server.pages.routes import Page
from snapshots.recipes.commits import SpackChange, links_of
from snapshots.spack.names import ROOT_STACK
from snapshots.texts import is_plain, visible

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


def redirect_to(link: str, *, status: int = 303) -> PageResponse:
    """Return a redirect: with status 303 from a form, with 308 permanently."""
    return PageResponse(status, b"", REVALIDATE, more=[(b"location", link.encode())])


STATIC = Path(__file__).with_name("static")
"""The folder of the pages' own scripts and styles."""

VENDOR = ("pico.css", "htmx.js", "uplot.js", "uplot.css")
"""Files that the build downloads; pages work without them."""


class Renderer:
    """Renders pages from their templates.

    ``public_url`` is the public URL of the server with a trailing slash, or empty if unknown. With
    ``has_graphiql``, pages link to GraphiQL with their documents. ``recipes_url`` is passed to
    ``links_of``, for links to comparisons of Spack's commits. Raises InvalidArgument for an invalid
    one.
    """

    def __init__(
        self,
        *,
        public_url: str = "",
        has_graphiql: bool = True,
        recipes_url: str = "",
    ) -> None:
        self._environment = _environment(has_graphiql=has_graphiql, recipes_url=recipes_url)
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
        shown = {"params": params, "graphiql_link": graphiql_link, "errors": errors_by_part(errors)}
        return self.render(page.template_name, address, {**data, **shown})

    def render(self, template: str, address: Address, context: Mapping[str, Any]) -> bytes:
        """Return a template rendered with a context and the functions that create links."""
        links = {
            "address": address,
            "to": address.to,
            "here": address.here,
            "absolute": lambda link: link and address.absolute(link.strip(), self._public_url),
        }
        return self._environment.get_template(template).render({**context, **links}).encode()


@cache
def _environment(*, has_graphiql: bool, recipes_url: str) -> Environment:
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
    environment.filters |= filters.FILTERS
    environment.filters["spack_compare"] = lambda change: links.spack(
        SpackChange(change["before"], change["after"])
    )
    environment.globals.update(assets=assets(), has_graphiql=has_graphiql, ROOT_STACK=ROOT_STACK)
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
