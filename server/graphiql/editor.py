"""The GraphiQL page for exploring the API, with example queries that match the catalog."""

from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import orjson
from jinja2 import Environment, PackageLoader, StrictUndefined

from server.asgi.static_folder import version_of
from server.feeds import FEEDS
from snapshots.history import History
from snapshots.notes.atom import path_of
from snapshots.refs import series

ASSETS = ("react.js", "react-dom.js", "graphiql.js", "graphiql.css")
"""The files of the page in ``static/vendor``, which the build downloads."""

EXAMPLES = ("explore", "search", "matching", "dependencies", "compare", "why", "history", "notes")
"""The example queries in the order of their tabs."""

_FEEDS = 50
"""Maximum number of series whose feeds the page links to."""

_SCRIPT = "page.js"
_STYLE = "page.css"

_ICON = """
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">
<rect width="32" height="32" rx="7" fill="#3f2a8c"/>
<g fill="none" stroke="#fff" stroke-width="3" stroke-linecap="round">
<path d="M8 10h10M8 16h16M8 22h12"/></g>
<circle cx="23" cy="10" r="2.5" fill="#ffb54c"/>
</svg>
"""


def graphiql_page(history: History, static: Path) -> bytes:
    """Return the page, with example queries for revisions in the catalog."""
    environment = _environment()
    refs = _refs(history)
    examples = [
        {"name": name, "query": environment.get_template(f"{name}.graphql").render(refs)}
        for name in EXAMPLES
    ]
    page = environment.get_template("graphiql.html").render(
        assets={name: _versioned(f"vendor/{name}", static) for name in ASSETS},
        icon=quote(_ICON),
        examples=json_in_script(examples),
        feeds=[(name, f"{FEEDS}/{path_of(name, None)}") for name in history.series_names[:_FEEDS]],
        script=_versioned(_SCRIPT, static),
        style=_versioned(_STYLE, static),
    )
    return page.encode()


def json_in_script(value: Any) -> str:
    """Return JSON that can be embedded in a script element: it cannot end the element."""
    return orjson.dumps(value).decode().replace("<", "\\u003c")


def _refs(history: History) -> dict[str, str]:
    """Return refs of two revisions: the newest with a predecessor in its series, and that one.

    They are tags, which remain valid when contents are replaced. If each series has only one
    revision, they are the oldest and the newest tag.
    """
    if not history.revisions:
        return {"base": "develop~1", "head": "develop", "series": "develop"}
    for tag in dict.fromkeys(revision.tag for revision in history.revisions):
        if history.previous(history.of_tag(tag)[0]) is not None:
            return {"base": f"{tag}~1", "head": tag, "series": series(tag)}
    base, head = history.revisions[-1].tag, history.revisions[0].tag
    return {"base": base, "head": head, "series": series(head)}


def _versioned(name: str, static: Path) -> str:
    """Return the URL of a file, including the version of its content, if the build has it."""
    file = static / name
    return f"static/{name}" + (f"?v={version_of(file)}" if file.is_file() else "")


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("server.graphiql.editor"),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701
    )
