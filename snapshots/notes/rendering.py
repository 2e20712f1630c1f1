"""A changelog as text that can be published, the same to the byte every time."""

from enum import Enum

from snapshots.notes import environments
from snapshots.notes.document import Changelog, to_json
from snapshots.notes.variables import variables


class NotesFormat(Enum):
    """How release notes are written: for people, or with the same facts for programs."""

    MARKDOWN = "markdown"
    HTML = "html"
    JSON = "json"


def render(log: Changelog, format_: NotesFormat) -> str:
    """Render release notes in a format."""
    return {NotesFormat.MARKDOWN: markdown, NotesFormat.HTML: html, NotesFormat.JSON: json}[
        format_
    ](log)


def markdown(log: Changelog) -> str:
    """Render release notes in Markdown."""
    environment = environments.shipped(html=False)
    return environment.get_template("notes.md.jinja").render(variables(log))


def html(log: Changelog) -> str:
    """Render release notes as a page of HTML that needs nothing else."""
    environment = environments.shipped(html=True)
    return environment.get_template("notes.html.jinja").render(variables(log))


def json(log: Changelog) -> str:
    """Render release notes as JSON, with every fact of the others."""
    return to_json(log).decode() + "\n"
