"""The formats of release notes; fast to import, because the command line lists them."""

from enum import Enum


class NotesFormat(Enum):
    """The format of release notes.

    - MARKDOWN: Text in Markdown.
    - HTML: A self-contained page.
    """

    MARKDOWN = "markdown"
    HTML = "html"
