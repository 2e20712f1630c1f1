"""A changelog as text that can be published, the same to the byte every time."""

from collections.abc import Callable, Iterable
from enum import Enum

from snapshots.notes import environments
from snapshots.notes.document import Changelog, to_json
from snapshots.notes.variables import variables

Watch = Callable[[Iterable[str]], Iterable[str]]
"""Passes on the pieces of a text as they are made; it may raise, and so end the work."""


class NotesFormat(Enum):
    """How release notes are written: for people, or with the same facts for programs."""

    MARKDOWN = "markdown"
    HTML = "html"
    JSON = "json"


def render(log: Changelog, format_: NotesFormat, watch: Watch = iter) -> str:
    """Render release notes in a format."""
    match format_:
        case NotesFormat.MARKDOWN:
            return markdown(log, watch)
        case NotesFormat.HTML:
            return html(log, watch)
        case NotesFormat.JSON:
            return json(log)


def markdown(log: Changelog, watch: Watch = iter) -> str:
    """Render release notes in Markdown."""
    template = environments.shipped(html=False).get_template("notes.md.jinja")
    return "".join(watch(template.generate(variables(log))))


def html(log: Changelog, watch: Watch = iter) -> str:
    """Render release notes as a page of HTML that needs nothing else."""
    template = environments.shipped(html=True).get_template("notes.html.jinja")
    return "".join(watch(template.generate(variables(log))))


def json(log: Changelog) -> str:
    """Render release notes as JSON, with every fact of the others."""
    return to_json(log).decode() + "\n"
