"""Makes pages of answers: the templates, with the files that they load."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from server.asgi.static_folder import STATIC as SHARED_STATIC
from server.asgi.static_folder import version_of
from server.pages.addresses import Address
from server.pages.filters import FILTERS
from server.pages.page import Page
from snapshots.spack.names import ROOT_STACK
from snapshots.wording import is_plain, visible

STATIC = Path(__file__).with_name("static")
"""The folder of the pages' own scripts and styles."""

OWN = (
    "look.css",
    "pages.css",
    "plain.css",
    "pages.js",
    "charts.js",
    "icon.svg",
    "notes.js",
    "unfolding.js",
    "lockfile.js",
)

VENDOR = ("pico.css", "htmx.js", "uplot.js", "uplot.css")
"""What the build brings; a page that lacks one of them works without."""


class Renderer:
    """Makes pages from their templates.

    ``public_url`` is where people reach the server, with a slash at its end; empty where nobody
    said so. With ``has_graphiql`` pages lead to the question that they ask.
    """

    def __init__(self, *, public_url: str = "", has_graphiql: bool = True) -> None:
        self._environment = Environment(
            loader=PackageLoader("server.pages"),
            autoescape=True,
            undefined=StrictUndefined,
            finalize=seen,
            auto_reload=False,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.filters.update(FILTERS)
        self._environment.globals.update(
            assets=assets(), has_graphiql=has_graphiql, ROOT_STACK=ROOT_STACK
        )
        self._public_url = public_url

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
        context = {
            **self._links(address),
            "params": params,
            "question": address.to("graphql", **page.document.question(variables)),
            "errors": errors_by_part(errors),
        }
        template = self._environment.get_template(page.template_name)
        return template.render({**data, **page.view(data), **context}).encode()

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
            "absolute": self._absolute(address),
        }

    def _absolute(self, address: Address) -> Callable[[str], str]:
        """Return what makes a link of a page one that holds anywhere, where that is known."""

        def absolute(link: str) -> str:
            url = self._public_url
            return url + link.strip().removeprefix(address.root) if url else link.strip()

        return absolute


class _Seen(dict[int, str]):
    """How characters are shown, by their code points: each is looked at once."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        self[code] = shown = char if char in "\n\r\t" else visible(char)
        return shown


def seen(value: Any) -> Any:
    """Return what a template shows, with marks written out that turn or hide what stands there.

    Line breaks stay, which notes have. It takes no longer for a text of nothing but such marks.
    """
    if type(value) is not str or is_plain(value):
        return value
    return value.translate(_Seen())


def errors_by_part(errors: Iterable[dict[str, Any]]) -> Mapping[str, dict[str, Any] | None]:
    """Return the first error of each field of the root, by its name; None for one without."""
    found: defaultdict[str, dict[str, Any] | None] = defaultdict(lambda: None)
    for error in errors:
        if path := error.get("path"):
            found.setdefault(path[0], error)
    return found


def assets(static: Path = SHARED_STATIC) -> dict[str, str]:
    """Return the files that pages load: below the root of the server, with what tells contents.

    ``static`` is the folder with those that the build brought.
    """
    own = {name: f"static/pages/{name}?v={version_of(STATIC / name)}" for name in OWN}
    vendor = static / "vendor"
    brought = [name for name in VENDOR if (vendor / name).is_file()]
    return own | {name: f"static/vendor/{name}?v={version_of(vendor / name)}" for name in brought}
