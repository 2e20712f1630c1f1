"""GraphiQL, the page in which people explore the API, with queries that fit the catalog."""

import tomllib
from base64 import b64encode
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import orjson
from jinja2 import Environment, PackageLoader, StrictUndefined

from server.asgi.exchanges import CDN
from server.asgi.static_folder import version_of
from server.feeds import FEEDS, path_of
from snapshots.history import History
from snapshots.refs import series

_VENDOR = Path(__file__).parents[1] / "vendor.toml"

ASSETS = ("react.js", "react-dom.js", "graphiql.js", "graphiql.css")
"""What the page needs, under ``static/vendor``; the build puts it there."""

EXAMPLES = ("explore", "search", "matching", "dependencies", "compare", "why", "history", "notes")
"""The queries that the page shows in tabs, in this order."""

_FEEDS = 50
"""Of how many series the page names the feeds."""

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
    """Return the page; its example queries name revisions that the catalog has."""
    environment = _environment()
    refs = _refs(history)
    examples = [
        {"name": name, "query": environment.get_template(f"{name}.graphql").render(refs)}
        for name in EXAMPLES
    ]
    page = environment.get_template("graphiql.html").render(
        assets={name: _asset(name, static) for name in ASSETS},
        icon=quote(_ICON),
        examples=json_in_script(examples),
        feeds=[(name, f"{FEEDS}/{path_of(name, None)}") for name in history.series_names[:_FEEDS]],
        script=_versioned(_SCRIPT, static),
        style=_versioned(_STYLE, static),
    )
    return page.encode()


def missing_assets(static: Path) -> list[str]:
    """Return what the page has to load from a CDN because the build could not include it."""
    return [name for name in ASSETS if not (static / "vendor" / name).is_file()]


def json_in_script(value: Any) -> str:
    """Return JSON that no HTML parser takes for the end of the script that it stands in."""
    return orjson.dumps(value).decode().replace("<", "\\u003c")


def _asset(name: str, static: Path) -> dict[str, str]:
    """Return where the page finds a file, and what its content must be."""
    pinned = _pinned()[name]
    digest = bytes.fromhex(pinned["sha256"])
    if (static / "vendor" / name).is_file():
        url = f"static/vendor/{name}?v={digest.hex()[:12]}"
    else:
        url = f"{CDN}/{pinned['package']}@{pinned['version']}/{pinned['path']}"
    return {"url": url, "integrity": f"sha256-{b64encode(digest).decode()}"}


def _refs(history: History) -> dict[str, str]:
    """Return refs of two revisions, the newest that has one before it in its series and that one.

    They are tags, which stay true while digests are replaced. Where every series has one revision
    alone, they are the oldest and the newest tag.
    """
    if not history.revisions:
        return {"base": "develop~1", "head": "develop", "series": "develop"}
    for tag in dict.fromkeys(revision.tag for revision in history.revisions):
        if history.previous(history.of_tag(tag)[0]) is not None:
            return {"base": f"{tag}~1", "head": tag, "series": series(tag)}
    base, head = history.revisions[-1].tag, history.revisions[0].tag
    return {"base": base, "head": head, "series": series(head)}


def _versioned(name: str, static: Path) -> str:
    """Return the address of a file of ours; another content has another address."""
    return f"static/{name}?v={version_of(static / name)}"


@cache
def _pinned() -> Mapping[str, Mapping[str, str]]:
    return tomllib.loads(_VENDOR.read_text("utf-8"))


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("server.graphiql.editor"),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701
    )
