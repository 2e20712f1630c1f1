"""How templates are read and filled in: one environment a markup, and a sandbox for own ones."""

from functools import cache
from typing import Any

from jinja2 import BaseLoader, Environment, PackageLoader, StrictUndefined
from jinja2.sandbox import ImmutableSandboxedEnvironment
from markupsafe import Markup

from snapshots.escaping import visible
from snapshots.notes.filters import HTML, MARKDOWN


def is_html(name: str) -> bool:
    """Tell whether a template writes HTML, by its name: release.html, or release.html.jinja."""
    name = name.lower().removesuffix(".jinja").removesuffix(".j2")
    return name.endswith((".html", ".htm", ".xhtml", ".xml"))


@cache
def shipped(*, html: bool) -> Environment:
    """Return the environment of cachelog's own templates."""
    environment = Environment(  # noqa: S701 - Markdown is escaped by filters, HTML by itself
        loader=PackageLoader("snapshots.notes"), **_options(html)
    )
    return _prepared(environment, html)


def sandbox(loader: BaseLoader, *, html: bool) -> Environment:
    """Return an environment for templates that others wrote: they reach nothing that could do harm.

    It bounds neither memory nor time, which a single expression can use up.
    """
    return _prepared(ImmutableSandboxedEnvironment(loader=loader, **_options(html)), html)


def _options(html: bool) -> dict[str, Any]:
    return {
        "undefined": StrictUndefined,
        "trim_blocks": True,
        "lstrip_blocks": True,
        "keep_trailing_newline": True,
        "autoescape": html,
    }


def _prepared(environment: Environment, html: bool) -> Environment:
    environment.filters |= HTML if html else MARKDOWN
    if html:
        environment.finalize = _all_seen
    return environment


def _all_seen(value: Any) -> Any:
    """Return a value that is printed with what is not seen in it written out."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return visible(value)
    return value
