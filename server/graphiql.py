"""GraphiQL, the page in which people explore the API, with queries that fit the catalog."""

from functools import cache
from pathlib import Path

import orjson
from jinja2 import Environment, PackageLoader, StrictUndefined

from snapshots.history import History

ASSETS = ("react.js", "react-dom.js", "graphiql.js", "graphiql.css")
"""What the page needs, under ``static/vendor``; the build puts it there."""

_CDN = {
    "react.js": "https://unpkg.com/react@18.3.1/umd/react.production.min.js",
    "react-dom.js": "https://unpkg.com/react-dom@18.3.1/umd/react-dom.production.min.js",
    "graphiql.js": "https://unpkg.com/graphiql@4.1.2/graphiql.min.js",
    "graphiql.css": "https://unpkg.com/graphiql@4.1.2/graphiql.min.css",
}


def graphiql_page(history: History, static: Path) -> bytes:
    """Return the page; its example queries name revisions that the catalog has."""
    assets = {
        name: f"/static/vendor/{name}" if (static / "vendor" / name).is_file() else _CDN[name]
        for name in ASSETS
    }
    tabs = [
        {"query": _environment().get_template(f"{name}.graphql").render(**_refs(history))}
        for name in ("explore", "search", "compare")
    ]
    page = (
        _environment()
        .get_template("graphiql.html")
        .render(assets=assets, tabs=orjson.dumps(tabs).decode(), revisions=len(history.revisions))
    )
    return page.encode()


def _refs(history: History) -> dict[str, str]:
    """Return the newest revision and one before it: in its series, or else the next older one."""
    if not history.revisions:
        return {"base": "develop~1", "head": "develop"}
    for head in history.revisions:
        if (base := history.previous(head)) is not None:
            return {"base": base.digest[:12], "head": head.digest[:12]}
    newest, oldest = history.revisions[0], history.revisions[-1]
    return {"base": oldest.tag, "head": newest.tag}


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("server"),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701
    )
