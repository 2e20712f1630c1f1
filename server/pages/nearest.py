"""What comes near to what was looked for and is not there, as links that lead on."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from server.asgi.errors import BadRequest
from server.pages.addresses import Address, path_filled, query_string
from server.pages.asking import Answered, Asker
from server.pages.documents import document
from server.pages.page import Page
from snapshots.wording import nearest_names

_MOST = 8
_SOUGHT = {
    "package": "nearest_packages",
    "stack": "nearest_stacks",
    "series": "nearest_series",
    "spec": "",
}
"""The kinds of things that pages are about, and the documents that tell names like theirs."""

_HASH, _CAUSE = "hash", "cause"


class Nearest(NamedTuple):
    """What was looked for, a package named so, say; and what is near to it: names with links.

    ``ref`` is the revision that it was looked for in, if that is there.
    """

    kind: str = ""
    name: str = ""
    links: Sequence[tuple[str, str]] = ()
    ref: str = ""

    @property
    def sentence(self) -> str:
        """What is not there, in a sentence."""
        if not self.kind:
            return "There is nothing under this address."
        if self.kind == _HASH:
            return "No revision of this catalog had a hash that begins so."
        if self.kind == _CAUSE:
            return "There is no such cause in this comparison."
        where = "" if self.kind == "series" else " in this revision"
        return f"There is no such {self.kind}{where}."


async def nearest_to(
    page: Page,
    address: Address,
    params: Mapping[str, str],
    answered: Answered,
    asker: Asker,
    scope: Any,
) -> Nearest:
    """Return what is near to what an address names and the answer lacks."""
    if page.subject == _HASH:
        return Nearest(_HASH, params[_HASH])
    if (error := answered.error_of(page.subject)) is not None:
        return _of_error(page, address, params, error)
    kind = page.subject.rpartition(".")[2]
    if kind == _CAUSE:
        all_causes = address.to("compare", f"{params['base']}...{params['head']}")
        return Nearest(kind, params["package"], [("all causes of the comparison", all_causes)])
    if kind not in _SOUGHT or not params:
        return Nearest()
    parameter, name = [*params.items()][-1]
    names = await _names_like(name, _SOUGHT[kind], params, asker, scope)
    links = [(it, link_with(page, address, params, parameter, it)) for it in names]
    return Nearest(kind, name, links, params.get("ref", ""))


def _of_error(
    page: Page, address: Address, params: Mapping[str, str], error: Mapping[str, Any]
) -> Nearest:
    """Return the names that an error says are nearest, in the place of the one that it is about."""
    extensions = error.get("extensions", {})
    sought = extensions.get("sought")
    given = {name: values[-1] for name, values in address.query.items()} | dict(params)
    for parameter, value in given.items():
        if value == sought:
            links = [
                (it, link_with(page, address, params, parameter, it))
                for it in extensions.get("nearest", ())
            ]
            return Nearest("", value, links)
    return Nearest()


async def _names_like(
    name: str, query: str, params: Mapping[str, str], asker: Asker, scope: Any
) -> list[str]:
    if not query:
        return []
    asked = document(query)
    known = asked.known({it: [value] for it, value in params.items()})
    try:
        answered = await asker.ask(asked, asked.variables(known), scope)
    except BadRequest:  # there is no room, or the client may not ask for more: it has a page still
        return []
    spelt = [
        it for error in answered.errors for it in error.get("extensions", {}).get("nearest", ())
    ]
    named = [*_names_in(answered.data)]
    if query != "nearest_packages":  # all of them
        named = nearest_names(name, named)
    return [*dict.fromkeys([*spelt, *named])][:_MOST]


def _names_in(data: Any) -> Iterable[str]:
    """Yield every name that stands in an answer."""
    if isinstance(data, list):
        for it in data:
            yield from _names_in(it)
    elif isinstance(data, dict):
        for key, value in data.items():
            if key == "name":
                yield value
            else:
                yield from _names_in(value)


def link_with(
    page: Page, address: Address, params: Mapping[str, str], parameter: str, value: str
) -> str:
    """Return the link to the page with another value of a parameter, in its path or its query."""
    if parameter not in params:
        return address.here(**{parameter: value})
    names = dict(params) | {parameter: value}
    path = path_filled(page.path, {name: [text] for name, text in names.items()})
    return address.root + (path or "").removeprefix("/") + query_string(address.query)
