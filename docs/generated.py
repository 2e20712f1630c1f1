"""The files that are derived from the code: ``python -m docs.generated`` writes them.

These are the tables of settings in the documentation, the GraphQL schema and the JSON schema of
rules.
"""

import ast
import inspect
import json
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path

import server.settings
from docs.rules_schema import json_schema
from schema import api
from server.settings import Settings, variable_of
from snapshots.changes.rules.rules import SCHEMA_FILE

_DOCS = Path(__file__).parent


def settings_document(text: str) -> str:
    """Return docs/settings.md with the rows of all settings.

    A section goes on until the setting that the next one begins with.
    """
    rows, defaults = {}, {}
    for name, about in _documented_settings():
        value = getattr(Settings(), name)
        rows[variable_of(name)] = about
        defaults[variable_of(name)] = "" if value == () else str(value)
    heads = re.findall(r"^\|---\|---\|---\|\n\| `(\w+)`", text, re.MULTILINE)
    variables = [*defaults]
    ends = [*(variables.index(it) for it in heads[1:]), len(variables)]

    def section(match: re.Match[str]) -> str:
        begin, end = variables.index(match[2]), ends[heads.index(match[2])]
        shown = (
            f"| `{it}` | {f'`{defaults[it]}`' if defaults[it] else ''} | {rows[it]} |\n"
            for it in variables[begin:end]
        )
        return match[1] + "".join(shown)

    return re.sub(r"(^\|---\|---\|---\|\n)\| `(\w+)`(?:.*\n)(?:\|.*\n)*", section, text, flags=re.M)


def _documented_settings() -> Iterator[tuple[str, str]]:
    """Yield each setting's name with the text that documents it in the source."""
    tree = ast.parse(inspect.getsource(server.settings))
    body = next(
        node.body
        for node in tree.body
        if isinstance(node, ast.ClassDef) and node.name == "Settings"
    )
    for field, text in pairwise(body):
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
            yield ast.unparse(field.target), ast.literal_eval(text.value).replace("``", "`")


def rules_schema(_text: str) -> str:
    """Return the JSON schema of rules, which ``cachelog gate --schema`` prints."""
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"


WRITERS: Mapping[Path, Callable[[str], str]] = {
    _DOCS / "settings.md": settings_document,
    api.SCHEMA_FILE: lambda _text: api.sdl(),
    SCHEMA_FILE: rules_schema,
}
"""By path, the function that returns a file's text from its current text."""

if __name__ == "__main__":
    for path, write in WRITERS.items():
        path.write_text(write(path.read_text("utf-8")), "utf-8")
