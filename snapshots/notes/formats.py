"""The formats of release notes; light to import, as the command line offers them."""

from enum import Enum


class NotesFormat(Enum):
    """How release notes are written: for people, or with the same facts for programs."""

    MARKDOWN = "markdown"
    HTML = "html"
    JSON = "json"
