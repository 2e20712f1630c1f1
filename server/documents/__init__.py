"""The GraphQL documents of commands, which execute them in process; servers answer them too.

``NAME.graphql`` has one operation of this name, ``fragments/NAME.graphql`` one fragment. Documents
in other folders use these fragments, too.
"""

import re
from importlib.resources import files

_SPREAD = re.compile(r"\.\.\.(\w+)")
_FRAGMENT = re.compile(r"^fragment (\w+)", re.MULTILINE)


def document(name: str, folder: str = __name__) -> str:
    """Return the text of a document, by its path in the folder of a package.

    Fragments that it spreads but does not define are appended, with those that they spread.
    """
    text = (files(folder) / f"{name}.graphql").read_text("utf-8")
    while missing := {*_SPREAD.findall(text)} - {*_FRAGMENT.findall(text)}:
        text = "\n".join([text, *(_fragment(one, folder) for one in sorted(missing))])
    return text


def _fragment(name: str, folder: str) -> str:
    """Return a fragment of a folder; one that it lacks is that of commands."""
    own, shared = (files(one) / "fragments" / f"{name}.graphql" for one in (folder, __name__))
    return (own if own.is_file() else shared).read_text("utf-8")
