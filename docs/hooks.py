"""The documentation site: pages generated from the code, and documents from outside this folder.

mkdocs calls the functions ``on_...``. Commands are generated from click, the API from its schema,
JSON from the records that are written, rules from the keys that are read.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from inspect import cleandoc
from pathlib import Path, PurePosixPath
from posixpath import relpath
from shutil import rmtree
from typing import Any

import click
import graphql
import pyarrow as pa
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from schema import api
from server.cli import cachelog
from snapshots.changes.rules.rules import KEYS_OF, KINDS
from snapshots.tables import CHANGES, COMMITS, COMPARISONS, HASHES, RECIPES, REVISIONS, SPECS

ROOT = Path(__file__).parents[1]

ELSEWHERE = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "vulnerabilities.md",
    "clients/example/README.md": "example.md",
    "clients/python/README.md": "python.md",
    "clients/typescript/README.md": "typescript.md",
    "deploy/README.md": "deploying.md",
    "deploy/spack-cachelog/README.md": "spack.md",
    "tests/data/README.md": "real-data.md",
}
"""Documents outside docs/, and the pages that show them."""

TABLES = {
    "revisions": REVISIONS,
    "specs": SPECS,
    "comparisons": COMPARISONS,
    "changes": CHANGES,
    "hashes": HASHES,
    "recipes": RECIPES,
    "commits": COMMITS,
}
"""The tables of a catalog; their columns follow the headings of docs/tables.md."""

_LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)\s#]+)(#[^)\s]*)?(?=\))")
_HEADING = re.compile(r"^## The table `(\w+)`\n\n", re.MULTILINE)
_CODE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Link each page's foot to the repository, if the environment names it.

    The theme's own ``repo_url`` would ask a server of GitHub for its stars.
    """
    if url := os.environ.get("CACHELOG_BUILD_REPOSITORY"):
        icon = "fontawesome/brands/git-alt"
        config.extra["social"] = [{"icon": icon, "link": url, "name": "Source code"}]
    return config


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the generated pages, the documents of other folders, and the files that they link to."""
    for path, text in generated().items():
        files.append(File.generated(config, path, content=text))
    for source, page in ELSEWHERE.items():
        text = (ROOT / source).read_text("utf-8")
        files.append(File.generated(config, page, content=_relinked(text, source, page)))
    for name in linked_files():
        files.append(File.generated(config, f"files/{name}", abs_src_path=str(ROOT / name)))
    return files


def linked_files() -> list[str]:
    """Return the files that documents link to and that are none: rules, a schema, others."""
    documents = [*ELSEWHERE, *(f"docs/{it.name}" for it in (ROOT / "docs").glob("*.md"))]
    files = {
        str(target.relative_to(ROOT))
        for source in documents
        for target in _targets(source)
        if target.is_file() and not target.is_relative_to(ROOT / "docs")
    }
    return sorted(files - ELSEWHERE.keys())


def on_page_markdown(markdown: str, *, page: Page, **_: Any) -> str:
    """Link to pages instead of documents of other folders, and add the columns of tables."""
    path = page.file.src_uri
    if path == "tables.md":
        markdown = _HEADING.sub(lambda match: match[0] + columns(TABLES[match[1]]), markdown)
    return markdown if page.file.generated_by else _relinked(markdown, f"docs/{path}", path)


def on_post_build(*, config: MkDocsConfig) -> None:
    """Remove what no reader loads: source maps, and what searches need in other languages."""
    scripts = Path(config.site_dir, "assets", "javascripts")
    rmtree(scripts / "lunr", ignore_errors=True)
    for file in Path(config.site_dir).rglob("*.min.*.map"):
        file.unlink()


def _targets(source: str) -> Iterator[Path]:
    """Yield the files that a document links to."""
    text = _CODE.sub("", (ROOT / source).read_text("utf-8"))
    for match in _LINK.finditer(text):
        yield (ROOT / source).parent.joinpath(match[1]).resolve()


def _relinked(text: str, source: str, page: str) -> str:
    """Return a document with its links as seen from the page that shows it."""

    def link(match: re.Match[str]) -> str:
        target = (ROOT / source).parent.joinpath(match[1]).resolve().relative_to(ROOT)
        inside = PurePosixPath(target)
        readme = str(inside / "README.md")
        shown = ELSEWHERE.get(str(inside)) or ELSEWHERE.get(readme) or f"files/{inside}"
        if inside.parts[0] == "docs":
            shown = str(inside.relative_to("docs"))
        return relpath(shown, str(PurePosixPath(page).parent)) + (match[2] or "")

    return "".join(
        part if part.startswith("```") else _LINK.sub(link, part) for part in _CODE.split(text)
    )


def generated() -> Mapping[str, str]:
    """Return the pages that follow from the code, by their paths."""
    schema = graphql.build_schema(api.sdl())
    return {
        "reference/commands.md": _page("Commands", _commands(cachelog, "cachelog")),
        "reference/queries.md": _page("Queries", _types(schema, _is_root)),
        "reference/objects.md": _page("Objects and interfaces", _types(schema, _is_object)),
        "reference/inputs.md": _page("Inputs", _types(schema, graphql.is_input_object_type)),
        "reference/enums.md": _page("Enums and scalars", _types(schema, graphql.is_leaf_type)),
        "reference/rules.md": _page("Rules", _rules()),
    }


def _page(title: str, lines: Iterable[str]) -> str:
    return "\n".join([f"# {title}", "", *lines, ""])


# -- tables


def columns(schema: pa.Schema) -> str:
    """Return the columns of a table of a catalog, with their types and comments, in Markdown."""
    rows = [
        (f"`{field.name}`", _type_name(field.type), field.metadata[b"comment"].decode())
        for field in schema
    ]
    return "\n".join([*_table(("Column", "Type", "Meaning"), rows), ""])


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


# -- commands


def _commands(command: click.Command, path: str) -> Iterator[str]:
    """Yield what the help of a command says, then that of those below it."""
    context = click.Context(command, info_name=path, **cachelog.context_settings)
    yield from (f"## {path}", "", *_paragraphs(command.help or ""))
    yield from ("```text", command.get_usage(context).removeprefix("Usage: "), "```", "")
    rows = [it for it in map(_parameter, command.get_params(context)) if it[0]]
    yield from _table(("Argument or option", "Meaning"), rows)
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from _commands(inner, f"{path} {name}")


def _parameter(parameter: click.Parameter) -> tuple[str, str]:
    metavar = parameter.metavar or ""
    text = getattr(parameter, "help", None) or ""
    if isinstance(parameter, click.Argument):
        return f"`{metavar or (parameter.name or '').upper()}`", text
    if "--help" in parameter.opts:
        return "", ""
    if isinstance(parameter.type, click.Choice):
        metavar = "|".join(parameter.type.choices)
    names = [*parameter.opts, *parameter.secondary_opts]
    suffix = f" {metavar}" if metavar else ""
    return ", ".join(f"`{name}{suffix}`" for name in names), text


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in cleandoc(text).split("\n\n"):
        yield from (paragraph.removeprefix("\b\n"), "")


# -- the API


def _is_root(type_: Any) -> bool:
    return type_.name == "Query"


def _is_object(type_: Any) -> bool:
    is_composite = graphql.is_composite_type(type_)
    return is_composite and not _is_root(type_) and not type_.name.endswith(("Connection", "Edge"))


def _types(schema: graphql.GraphQLSchema, is_shown: Any) -> Iterator[str]:
    """Yield the types of a kind: each with its fields, or its values."""
    for name, type_ in sorted(schema.type_map.items()):
        if name.startswith("__") or not is_shown(type_):
            continue
        yield from (f"## {name}", "", type_.description or "", "")
        if graphql.is_enum_type(type_):
            rows = [(f"`{it}`", value.description or "") for it, value in type_.values.items()]
            yield from _table(("Value", "Meaning"), rows)
        elif hasattr(type_, "fields"):
            rows = [(_signature(it, field), _about(field)) for it, field in type_.fields.items()]
            yield from _table(("Field", "Meaning"), rows)


def _signature(name: str, field: Any) -> str:
    return f"`{name}: {field.type}`"


def _about(field: Any) -> str:
    """Return what a field means, and each of its arguments."""
    text = field.description or ""
    for name, argument in getattr(field, "args", {}).items():
        text += f"\n\n- `{name}: {argument.type}` {argument.description or ''}"
    return text


# -- rules


def _rules() -> Iterator[str]:
    """Yield the keys of each kind of rule."""
    yield from ("[Gates](../gates.md) defines what rules mean. The keys of each kind:", "")
    for key, kind in KINDS.items():
        yield from (f"## {key}", "", (kind.__doc__ or "").partition("\n\n")[0], "")
        rows = [
            (f"`{it.name}`", "required" if it.is_required else "", it.about)
            for it in KEYS_OF[key].values()
        ]
        yield from _table(("Key", "", "Meaning"), rows)


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """Yield a table in Markdown, or nothing if it has no rows."""
    rows = [tuple(map(_cell, row)) for row in rows]
    if rows:
        yield f"| {' | '.join(head)} |"
        yield "|" + "---|" * len(head)
        yield from (f"| {' | '.join(row)} |" for row in rows)
        yield ""


def _cell(text: str) -> str:
    """Return a text in one line, in which nothing ends the cell or begins HTML."""
    parts = re.split(r"(`[^`]*`)", text.strip().replace("``", "`"))
    escaped = "".join(it if it.startswith("`") else it.replace("<", "&lt;") for it in parts)
    return escaped.replace("|", "\\|").replace("\n\n", "<br>").replace("\n", " ")
