"""The GraphQL documents of commands, which execute them in process; servers answer them too.

``NAME.graphql`` has one operation of this name, ``fragments/NAME.graphql`` one fragment.
"""

import re
from importlib.resources import files

_SPREAD = re.compile(r"\.\.\.(\w+)")
_FRAGMENT = re.compile(r"^fragment (\w+)", re.MULTILINE)


def document(name: str, folder: str = __name__) -> str:
    """Return the text of a document of a package.

    Fragments that it spreads but does not define are appended, with those that they spread.
    """
    text = _text(folder, f"{name}.graphql")
    while missing := {*_SPREAD.findall(text)} - {*_FRAGMENT.findall(text)}:
        fragments = (_text(folder, f"fragments/{one}.graphql") for one in sorted(missing))
        text = "\n".join([text, *fragments])
    return text


def _text(folder: str, file: str) -> str:
    return (files(folder) / file).read_text("utf-8")
