"""What a page is made of."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from server.pages.documents import Document, document

View = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""Makes of an answer's data what a template shows beside it: a matrix out of a list, say. Pure."""


def nothing_more(_data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return nothing: most templates show the answer as it is."""
    return {}


_MEDIA_TYPES = {"html": b"text/html; charset=utf-8", "md": b"text/markdown; charset=utf-8"}


class Page(NamedTuple):
    """A page: where it is, the document that it asks, and the template that shows the answer.

    ``path`` is a path of Starlette's routes, whose parameters are variables of the document. The
    template has the document's name unless ``template`` gives another. ``subject`` is what the
    answer must have, by the names of its fields with dots: without it the page is not found.
    ``table`` is the list that can be had whole, as lines of CSV or JSON, named in the same way.
    ``leads_to`` is the path of another page, ``/hash/{hash}`` say, that an address leads to whose
    query gives all names in it: so a form without a script opens a page by its own address.
    ``instead`` are variables, names with values, to ask with once more where a document's defaults
    lead to nothing: only those that the address does not give.
    A ``template`` that is no HTML is named with its suffix: ``notes.md``.
    """

    path: str
    query: str
    subject: str = ""
    view: View = nothing_more
    template: str = ""
    table: str = ""
    leads_to: str = ""
    instead: tuple[tuple[str, Any], ...] = ()

    @property
    def document(self) -> Document:
        """The document that it asks."""
        return document(self.query)

    @property
    def template_name(self) -> str:
        """The name of its template's file."""
        name = self.template or self.query
        return name if "." in name else f"{name}.html"

    @property
    def media_type(self) -> bytes:
        """What the page is sent as."""
        return _MEDIA_TYPES[self.template_name.rpartition(".")[2]]

    def has_subject(self, data: Mapping[str, Any]) -> bool:
        """Tell whether an answer has what the page is about; one that was refused has nothing."""
        found: Any = data or None
        for name in self.subject.split(".") if self.subject else ():
            found = found.get(name) if found else None
        return found is not None
