"""The metrics that documents name are measured, and the alerts are well formed."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from server.metrics import INSTRUMENTS, Instrument, Kind
from tests.test_docs import DOCUMENTS


def sample_names(instrument: Instrument) -> list[str]:
    """Return the names that Prometheus stores the numbers of an instrument under."""
    if instrument.kind is Kind.COUNTER:
        return [f"{instrument.name}_total"]
    if instrument.kind is Kind.HISTOGRAM:
        return [f"{instrument.name}_{part}" for part in ("bucket", "count", "sum")]
    return [instrument.name]


METRICS = {name for instrument in INSTRUMENTS for name in sample_names(instrument)}
FAMILIES = {instrument.name for instrument in INSTRUMENTS}


def rules() -> list[dict[str, Any]]:
    """Return the alerts."""
    file = Path(__file__).parents[1] / "deploy" / "rules.yml"
    (group,) = yaml.safe_load(file.read_text("utf-8"))["groups"]
    listed: list[dict[str, Any]] = group["rules"]
    return listed


def test_each_metric_that_is_named_is_measured() -> None:
    """In queries by the names that Prometheus stores, in prose also by that of the whole."""
    text = "\n".join(DOCUMENTS.values())
    named = set(re.findall(r"\bcachelog_[a-z_]+", text)) - {"cachelog_client"}  # a package
    assert named
    assert named <= METRICS | FAMILIES
    for expression in re.findall(r"`([^`\n]*\w\([^`]*)`", text):
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
