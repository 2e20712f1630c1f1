"""docs/settings.md: every setting, its default, and what its docstring says."""

import ast
import inspect
import re
from collections.abc import Iterator
from itertools import pairwise

import pytest
from msgspec.structs import fields

import server.settings
from server.settings import PREFIX, Settings, environ_of, variable_of
from tests.test_docs import DOCUMENTS


def documented_settings() -> Iterator[tuple[str, str]]:
    """Yield each setting's name with the text that documents it in the source."""
    tree = ast.parse(inspect.getsource(server.settings))
    body = next(
        node.body
        for node in tree.body
        if isinstance(node, ast.ClassDef) and node.name == "Settings"
    )
    for field, text in pairwise(body):
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
            yield ast.unparse(field.target), ast.literal_eval(text.value)


def test_settings() -> None:
    """The tables have each setting once, with its variable, default and meaning."""
    documented = dict(documented_settings())
    expected = [
        f"| `{variable}` | {f'`{default}`' if default else ''} | {text.replace('``', '`')} |"
        for variable, default in environ_of(Settings()).items()
        for text in (documented[variable.removeprefix(PREFIX).lower()],)
    ]
    rows = re.findall(r"^\| `CACHELOG_.*$", DOCUMENTS["settings.md"], re.MULTILINE)
    assert rows == expected, "the rows should be\n" + "\n".join(expected)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_each_variable_that_is_named_is_a_setting(document: str) -> None:
    """A misspelt one would keep the server from starting."""
    named = set(re.findall(r"`(CACHELOG_[A-Z0-9_]*[A-Z])", DOCUMENTS[document]))
    tests_and_builds = {it for it in named if it.startswith(("CACHELOG_TEST_", "CACHELOG_BUILD_"))}
    assert named - tests_and_builds <= {variable_of(field.name) for field in fields(Settings)}
