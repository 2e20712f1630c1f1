"""Annotations mean the same evaluated at once and, as by Python 3.14, when they are asked for."""

import ast
import builtins
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
FILES = [
    file for floor in ("snapshots", "schema", "server") for file in (ROOT / floor).rglob("*.py")
]


def bound_names(body: list[ast.stmt]) -> Iterator[str]:
    """Yield the names that statements bind in their own scope: definitions, imports, values."""
    for statement in body:
        match statement:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.ClassDef(name=name):
                yield name
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                yield from ((alias.asname or alias.name).partition(".")[0] for alias in names)
            case ast.Assign(targets=targets):
                yield from (target.id for target in targets if isinstance(target, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name), value=value) if value is not None:
                yield name


def annotations(body: list[ast.stmt]) -> Iterator[ast.expr]:
    """Yield what annotates the attributes and the methods of a class."""
    for statement in body:
        if isinstance(statement, ast.AnnAssign):
            yield statement.annotation
        elif isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            every = ast.walk(statement.args)
            yield from (it.annotation for it in every if isinstance(it, ast.arg) and it.annotation)
            if statement.returns is not None:
                yield statement.returns


def ambiguous(source: str) -> list[str]:
    """Return the names in annotations that a class binds as well as its module, or Python."""
    module = ast.parse(source)
    outside = {*bound_names(module.body), *vars(builtins)}
    classes = [node for node in ast.walk(module) if isinstance(node, ast.ClassDef)]
    return [
        f"line {name.lineno}: {name.id}"
        for node in classes
        for annotation in annotations(node.body)
        for name in ast.walk(annotation)
        if isinstance(name, ast.Name) and name.id in outside & {*bound_names(node.body)}
    ]


def test_what_is_ambiguous_is_found() -> None:
    """A field named as the module that annotates it is; a name of the class alone is not."""
    source = "from a import spans\nclass C:\n  kept: spans.Span\n  def spans(self) -> int: ...\n"
    assert ambiguous(source) == ["line 3: spans"]
    assert ambiguous("class C:\n  def list(self, a: list[int]): ...\n") == ["line 2: list"]
    assert ambiguous("class C:\n  class D: ...\n  d: D\n") == []


def test_no_annotation_is_ambiguous() -> None:
    """No annotation names what its class binds too: evaluated late, it would mean the class's."""
    names = {str(file.relative_to(ROOT)): ambiguous(file.read_text()) for file in FILES}
    assert {
        file: ambiguous_names for file, ambiguous_names in names.items() if ambiguous_names
    } == {}
