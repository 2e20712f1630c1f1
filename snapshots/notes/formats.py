"""The formats of release notes; fast to import, because the command line lists them."""

from enum import Enum


class NotesFormat(Enum):
    """How release notes are written.

    - MARKDOWN: For people.
    - HTML: For people: a page that needs nothing else.
    - JSON: For programs: the same facts. docs/notes.md describes them.
    """

    MARKDOWN = "markdown"
    HTML = "html"
    JSON = "json"
