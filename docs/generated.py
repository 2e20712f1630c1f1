"""The files that are derived from the code: ``python -m docs.generated`` writes them.

These are the tables of settings and columns in the documentation, the GraphQL schema and the JSON
schema of rules.
"""

import ast
import inspect
import json
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path

import pyarrow as pa

import server.settings
from docs.rules_schema import json_schema
from schema import api
from server.settings import Settings, variable_of
from snapshots.changes.rules.rules import SCHEMA_FILE
from snapshots.tables import CHANGES, COMMITS, COMPARISONS, HASHES, RECIPES, REVISIONS, SPECS

_DOCS = Path(__file__).parent

TABLES = {
    "revisions": REVISIONS,
    "specs": SPECS,
    "comparisons": COMPARISONS,
    "changes": CHANGES,
    "hashes": HASHES,
    "recipes": RECIPES,
    "commits": COMMITS,
}


_TABLE = re.compile(r"^\| Column .*\n(?:\|.*\n)+", re.MULTILINE)


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


def tables_document(text: str) -> str:
    """Return docs/tables.md with the columns of all tables."""
    for name, schema in TABLES.items():
        before, head, after = text.partition(f"## The table `{name}`\n")
        shown = "".join(_columns(schema))
        text = before + head + _TABLE.sub(shown.replace("\\", r"\\"), after, count=1)
    return text


def _columns(schema: pa.Schema) -> Iterator[str]:
    yield "| Column | Type | What it holds |\n"
    yield "| --- | --- | --- |\n"
    for field in schema:
        about = field.metadata[b"comment"].decode()
        yield f"| `{field.name}` | {_type_name(field.type)} | {about} |\n"


def _type_name(column_type: pa.DataType) -> str:
    if pa.types.is_list(column_type):
        return f"list of {_type_name(column_type.value_type)}"
    if pa.types.is_struct(column_type):
        return "(" + ", ".join(f"{it.name}: {_type_name(it.type)}" for it in column_type) + ")"
    if pa.types.is_timestamp(column_type):
        return "timestamp in UTC"
    return {"string": "text", "int64": "whole number", "bool": "boolean", "double": "number"}[
        str(column_type)
    ]


def rules_schema(_text: str) -> str:
    """Return the JSON schema of rules, which ``cachelog gate --schema`` prints."""
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"


WRITERS: Mapping[Path, Callable[[str], str]] = {
    _DOCS / "settings.md": settings_document,
    _DOCS / "tables.md": tables_document,
    api.SCHEMA_FILE: lambda _text: api.sdl(),
    SCHEMA_FILE: rules_schema,
}
"""By path, the function that returns a file's text from its current text."""

if __name__ == "__main__":
    for path, write in WRITERS.items():
        path.write_text(write(path.read_text("utf-8")), "utf-8")
