"""docs/operating.md: what it names is there, and what it shows is well formed."""

import ast
import inspect
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from graphql import OperationType
from msgspec.structs import fields

import server.settings
from server.metrics import INSTRUMENTS, sample_names
from server.settings import PREFIX, Settings, environ_of, variable_of
from tests.schema.usual import api

TEXT = (Path(__file__).parents[1] / "docs" / "operating.md").read_text("utf-8")
METRICS = {name for instrument in INSTRUMENTS for name in sample_names(instrument)}
FAMILIES = {instrument.name for instrument in INSTRUMENTS}


def rules() -> list[dict[str, Any]]:
    """Return the alerts."""
    file = Path(__file__).parents[1] / "deploy" / "rules.yml"
    (group,) = yaml.safe_load(file.read_text("utf-8"))["groups"]
    found: list[dict[str, Any]] = group["rules"]
    return found


def test_each_metric_that_is_named_is_measured() -> None:
    """In queries by the names that Prometheus stores, in prose also by that of the whole."""
    named = set(re.findall(r"\bcachelog_\w+", TEXT))
    assert named
    assert named <= METRICS | FAMILIES
    for expression in re.findall(r"`([^`\n]*\w\([^`]*)`", TEXT):
        assert set(re.findall(r"\bcachelog_\w+", expression)) <= METRICS


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule["alert"])
def test_each_alert_is_well_formed(rule: dict[str, Any]) -> None:
    """A name, a query with balanced brackets over numbers that there are, and what it means."""
    assert set(rule) <= {"alert", "expr", "for", "annotations"}
    expression = rule["expr"]
    for opening, closing in ("()", "[]", "{}"):
        assert expression.count(opening) == expression.count(closing) > -1
    assert set(re.findall(r"\bcachelog_\w+", expression)) <= METRICS
    assert re.search(r"(==|[<>]) ", expression)
    assert rule["annotations"]["summary"].endswith((".", "?"))


def test_to_prune_raises_no_alert() -> None:
    """The number of revisions falls whenever somebody prunes; no alert looks at it."""
    assert "cachelog_revisions" not in " ".join(rule["expr"] for rule in rules())
    (idle,) = [it for it in rules() if it["alert"] == "CachelogImportsNothing"]
    assert "cachelog_last_import_timestamp_seconds" in idle["expr"]


def test_each_variable_that_is_named_is_a_setting() -> None:
    """A misspelt one would keep the server from starting."""
    named = set(re.findall(r"`(CACHELOG_[A-Z0-9_]*[A-Z])", TEXT))
    assert named <= {variable_of(field.name) for field in fields(Settings)}


def test_defaults_of_connections_are_told_as_they_are() -> None:
    """The table has the numbers of the settings."""
    section = TEXT.split("\n## Connections\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `CACHELOG_(\w+)` +\| +([\d,]+)(?: s)? \|", section, re.MULTILINE)
    assert len(rows) == 6
    for name, number in rows:
        assert getattr(Settings(), name.lower()) == float(number.replace(",", "")), name


def test_subscriptions_that_are_shown_are_valid() -> None:
    """Those in blocks of their own, and those in commands."""
    section = TEXT.split("\n## Subscriptions\n")[1].split("\n## ")[0]
    shown = re.findall(r"```graphql\n(.*?)```", section, re.DOTALL)
    shown += re.findall(r"'query=(.*?)'", section)
    assert len(shown) == 2
    for text in shown:
        assert api.document(text).errors == ()
        assert api.document(text).operation_type(None) is OperationType.SUBSCRIPTION


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
    """The table has each setting with its variable, its default and what its docstring says."""
    documented = dict(documented_settings())
    defaults = environ_of(Settings())
    rows = [
        f"| `{variable}` | {f'`{default}`' if default else ''} | {text.replace('``', '`')} |"
        for variable, default in defaults.items()
        for text in (documented[variable.removeprefix(PREFIX).lower()],)
    ]
    table = "\n".join(["| Variable | Default | Meaning |", "|---|---|---|", *rows, ""])
    assert table in TEXT, f"the table should be\n{table}"
